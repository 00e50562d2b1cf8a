//! Parameters. Sections are those of the draft named in `mod.rs`.

#[cfg(feature = "serde")]
use self::mvfst_values as other_defaults;
use crate::{Range, params};
use units::{Bytes, Duration, Rate};

params! {
    also OverMvfst;
    /// Pacing gain in Startup. BBRStartupPacingGain, draft section 2.6: 2.77 = 4 ln 2, which
    /// doubles the rate each round; mvfst: 5.77 = 2 * 2.885 (Bbr2.cpp:24, 31).
    startup_pacing_gain: f64 = 2.77 => Range::FACTOR,
    /// Window gain in Startup and Drain. BBRStartupCwndGain, draft section 2.6: 2; mvfst: 2.885
    /// (Bbr2.cpp:24, 31).
    startup_cwnd_gain: f64 = 2.0 => Range::FACTOR,
    /// Pacing gain in Drain. Draft section 4.3.2: 1 / BBRStartupCwndGain.
    drain_pacing_gain: f64 = 0.5 => Range::FACTOR,
    /// Pacing gain in ProbeBW_DOWN. Draft section 4.3.3.1.
    probe_down_pacing_gain: f64 = 0.9 => Range::FACTOR,
    /// Pacing gain in ProbeBW_CRUISE. Draft section 4.3.3.2.
    probe_cruise_pacing_gain: f64 = 1.0 => Range::FACTOR,
    /// Pacing gain in ProbeBW_REFILL. Draft section 4.3.3.3.
    probe_refill_pacing_gain: f64 = 1.0 => Range::FACTOR,
    /// Pacing gain in ProbeBW_UP. Draft section 4.3.3.4.
    probe_up_pacing_gain: f64 = 1.25 => Range::FACTOR,
    /// Pacing gain in ProbeRTT. Draft section 4.3.4.
    probe_rtt_pacing_gain: f64 = 1.0 => Range::FACTOR,
    /// Window gain in ProbeBW. Draft section 4.6.1.
    probe_bw_cwnd_gain: f64 = 2.0 => Range::FACTOR,
    /// Window gain in ProbeBW_UP, or `"auto"`: as in ProbeBW. mvfst, draft-ietf-ccwg-bbr: 2.25.
    #[serde(with = "units::or_auto")]
    probe_up_cwnd_gain: Option<f64> = None => Range::FACTOR,
    /// Window gain in ProbeRTT. BBRProbeRTTCwndGain, draft section 4.6.4.5.
    probe_rtt_cwnd_gain: f64 = 0.5 => Range::FACTOR,
    /// Condition that ends ProbeBW_UP besides loss: enough `inflight` (draft section 4.3.3.6), or a
    /// `plateau` of the bandwidth as in Startup (mvfst).
    probe_up_exit: UpExit = UpExit::Inflight,
    /// Inflight that ends ProbeBW_UP, in BDP. With `plateau`, the bound below which the rounds of a
    /// fully used window do not count. Draft section 4.3.3.6.
    probe_up_inflight_gain: f64 = 1.25 => Range::FACTOR,
    /// Share of the window in flight from which the window counts as limiting the sender in UP, or
    /// `"auto"`: all of it. mvfst: 0.9.
    #[serde(with = "units::or_auto")]
    cwnd_limited_share: Option<f64> = None => Range::PART,
    /// Share by which pacing stays below the computed rate, 0..1. BBRPacingMarginPercent, draft
    /// section 4.6.2: 1 %; mvfst: 0.
    pacing_margin: f64 = 0.01 => Range::from(0.0).below(1.0),
    /// Initial window, packets, or `"auto"`: RFC 9002 section 7.2. Linux and mvfst: 10.
    #[serde(with = "units::or_auto")]
    initial_window: Option<u64> = None => Range::PACKETS,
    /// Number of packets sent unpaced at the start. mvfst: its initial window; draft: 0.
    unpaced_packets: u64 = 0 => Range::from(0.0).to(1e6),
    /// Assumed RTT for the pacing rate before the first sample. Draft section 4.6.2.
    initial_rtt: Duration = Duration::from_millis(1),
    /// Loss rate in a round above which the loss is excessive, 0..1. BBRLossThresh, draft section
    /// 2.8.
    loss_thresh: f64 = 0.02 => Range::from(0.0).below(1.0),
    /// Losses compared with `loss-thresh`: per `packet`, those between its sending and its own loss
    /// (draft section 4.5.6.2), or per loss `round` (mvfst; marks do not count).
    inflight_too_high: TooHigh = TooHigh::Packet,
    /// Factor by which a bound is multiplied after loss, 0..1. BBRBeta, draft section 2.8.
    beta: f64 = 0.7 => Range::above(0.0).to(1.0),
    /// Share of `inflight_hi` kept free in CRUISE and ProbeRTT, 0..1. BBRHeadroom; the draft's
    /// pseudocode subtracts 0.85, although its text and Linux keep 15 % free.
    headroom: f64 = 0.15 => Range::from(0.0).below(1.0),
    /// Time at which losses may end Startup: after a round in `recovery` (draft section 4.3.1.3),
    /// or after any `round` with excessive loss (mvfst).
    startup_loss_exit: StartupLossExit = StartupLossExit::Recovery,
    /// Number of non-contiguous ranges lost in a round that end Startup. BBRStartupFullLossCnt,
    /// draft section 4.3.1.3: 3; Linux: 8; mvfst: 6.
    startup_full_loss_cnt: u64 = 3 => Range::COUNT,
    /// Growth factor of `max_bw` below which a round is flat. Draft section 4.3.1.2.
    full_bw_growth: f64 = 1.25 => Range::from(1.0),
    /// Number of flat rounds that end Startup. Draft section 4.3.1.2.
    full_bw_rounds: u64 = 3 => Range::COUNT,
    /// Smallest window outside of recovery, packets. BBRMinPipeCwnd, draft section 4.6.4.
    min_pipe_cwnd: u64 = 4 => Range::PACKETS,
    /// Length of the bandwidth filter, ProbeBW cycles. MaxBwFilterLen, draft section 4.5.2.
    max_bw_filter_len: u64 = 2 => Range::COUNT,
    /// Time at which a cycle of `max-bw-filter-len` ends: with the last `feedback` of a probe
    /// (draft section 4.5.2), or when `down` begins (mvfst).
    max_bw_advance: Advance = Advance::Feedback,
    /// Bandwidth sample of an ACK: the sample of its `newest` packet, or the `best` sample of its
    /// packets with the ACK delay subtracted (mvfst).
    bandwidth_sample: BandwidthSample = BandwidthSample::Newest,
    /// Whether the window includes ACK aggregation before the pipe has been full. mvfst: no.
    extra_acked_in_startup: bool = true,
    /// Length of the ACK aggregation filter, round trips. ExtraAckedFilterLen, draft section 2.12.
    extra_acked_filter_len: u64 = 10 => Range::COUNT,
    /// Length of the RTT filter. MinRTTFilterLen, draft section 4.5.3: 10 s; mvfst: 10.2 s
    /// (Bbr2.cpp:18-20).
    min_rtt_filter_len: Duration = Duration::from_secs(10),
    /// Time without a lower RTT after which ProbeRTT begins. ProbeRTTInterval, draft section 4.3.4:
    /// 5 s; mvfst: 10 s (Bbr2.cpp:18-20).
    probe_rtt_interval: Duration = Duration::from_secs(5),
    /// Minimum time in ProbeRTT with little in flight. ProbeRTTDuration, draft section 2.14.2.
    probe_rtt_duration: Duration = Duration::from_millis(200),
    /// Shortest time from DOWN to REFILL. Draft section 4.3.3.5.3.
    probe_wait_base: Duration = Duration::from_secs(2),
    /// Largest random addition to `probe-wait-base`. Draft section 4.3.3.5.3.
    probe_wait_spread: Duration = Duration::from_secs(1),
    /// Whether a number of rounds also ends the wait for a probe, for coexistence with Reno. Draft
    /// section 4.3.3.5.1; mvfst: no.
    reno_coexistence: bool = true,
    /// Maximum number of rounds from DOWN to REFILL; fewer if the BDP has fewer packets. Draft
    /// section 4.3.3.5.3.
    probe_max_rounds: u64 = 63 => Range::COUNT,
    /// Largest random reduction of `probe-max-rounds`. Draft section 4.3.3.5.3.
    probe_rounds_spread: u64 = 1 => Range::from(0.0),
    /// Maximum number of doublings of the growth in UP. Draft section 4.3.3.6.
    probe_up_max_rounds: u64 = 30 => Range::from(0.0),
    /// Packets added to the window in UP, so that a very small BDP can be probed. Draft section
    /// 4.6.4.2.
    probe_up_extra: u64 = 2 => Range::from(0.0).to(1e6),
    /// Duration of one send quantum at the pacing rate. Draft section 4.6.3: 1 ms; mvfst: 200 us
    /// (Bbr2.cpp:58-66).
    send_quantum_time: Duration = Duration::from_millis(1),
    /// Largest send quantum. Draft section 4.6.3: 64 KBytes.
    send_quantum_max: Bytes = Bytes(65_536),
    /// Pacing rate below which `send-quantum-low-packets` applies. Draft section 4.6.3.
    send_quantum_low_rate: Rate = Rate(1_200_000),
    /// Smallest send quantum below `send-quantum-low-rate`, packets. Draft section 4.6.3: 1; mvfst:
    /// 2.
    send_quantum_low_packets: u64 = 1 => Range::PACKETS,
    /// Smallest send quantum from `send-quantum-low-rate` on, packets. Draft section 4.6.3.
    send_quantum_packets: u64 = 2 => Range::PACKETS,
    /// Minimum number of send quanta that the window allows. Draft section 4.5.4.
    offload_quanta: u64 = 3 => Range::from(0.0).to(1e6),
    /// Packets that the pacer may release at once, regardless of the send quantum. mvfst's pacer:
    /// 5; draft: 0.
    pacing_burst: u64 = 0 => Range::from(0.0).to(1e6),
    /// Effect of recovery on the window: one `event` per period with a round of conservation (draft
    /// section 4.6.4.4), or a separate `window` after every loss (mvfst, BBRv1).
    recovery: Recovery = Recovery::Event,
    /// Whether to undo the response to a spurious loss. Linux: yes; mvfst: no; not in the draft.
    undo: bool = true,
    /// Whether a CE mark counts as a loss. The draft defines no response, but RFC 9002 section 7.1
    /// requires one; mvfst: no.
    ecn: bool = true,
}

/// Condition that ends ProbeBW_UP besides loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum UpExit {
    /// Enough bytes in flight to build a queue.
    Inflight,
    /// Rounds without growth of the bandwidth.
    Plateau,
}

/// Losses that are compared with the inflight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum TooHigh {
    /// Losses since the packet was sent.
    Packet,
    /// Losses of the loss round.
    Round,
}

/// Time at which losses may end Startup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum StartupLossExit {
    /// After a round in recovery.
    Recovery,
    /// After any round.
    Round,
}

/// Time at which a cycle of the bandwidth filter ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Advance {
    /// A round after ProbeBW_DOWN begins.
    Feedback,
    /// At the start of ProbeBW_DOWN.
    Down,
}

/// Packets of an ACK that give the bandwidth sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum BandwidthSample {
    /// The newest packet, as measured by the sender.
    Newest,
    /// The packet with the highest rate.
    Best,
}

/// Effect of recovery on the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Recovery {
    /// Reduces the window once per recovery period.
    Event,
    /// Limits it by a separate recovery window.
    Window,
}

/// Returns mvfst's values for the options.
pub(super) fn mvfst_values() -> Params {
    Params {
        startup_pacing_gain: 5.77,
        startup_cwnd_gain: 2.885,
        probe_up_cwnd_gain: Some(2.25),
        probe_up_exit: UpExit::Plateau,
        cwnd_limited_share: Some(0.9),
        pacing_margin: 0.0,
        initial_window: Some(10),
        unpaced_packets: 10,
        inflight_too_high: TooHigh::Round,
        startup_loss_exit: StartupLossExit::Round,
        startup_full_loss_cnt: 6,
        max_bw_advance: Advance::Down,
        bandwidth_sample: BandwidthSample::Best,
        extra_acked_in_startup: false,
        min_rtt_filter_len: Duration::from_millis(10_200),
        probe_rtt_interval: Duration::from_secs(10),
        reno_coexistence: false,
        send_quantum_time: Duration::from_micros(200),
        send_quantum_low_packets: 2,
        pacing_burst: 5,
        recovery: Recovery::Window,
        undo: false,
        ecn: false,
        ..Params::default()
    }
}

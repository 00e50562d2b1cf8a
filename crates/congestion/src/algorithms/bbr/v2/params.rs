//! The parameters; sections are those of the draft in the header of `mod.rs`.

#[cfg(feature = "serde")]
use self::mvfst_values as other_defaults;
use crate::{Range, params};
use units::{Bytes, Duration, Rate};

params! {
    also OverMvfst;
    /// Pacing gain in Startup. BBRStartupPacingGain, section 2.6: 4 ln 2, doubles each round.
    startup_pacing_gain: f64 = 2.77 => Range::FACTOR,
    /// Window gain in Startup and Drain. BBRStartupCwndGain, section 2.6.
    startup_cwnd_gain: f64 = 2.0 => Range::FACTOR,
    /// Pacing gain in Drain. Section 4.3.2: 1 / BBRStartupCwndGain.
    drain_pacing_gain: f64 = 0.5 => Range::FACTOR,
    /// Pacing gain in ProbeBW_DOWN. Section 4.3.3.1.
    probe_down_pacing_gain: f64 = 0.9 => Range::FACTOR,
    /// Pacing gain in ProbeBW_CRUISE. Section 4.3.3.2.
    probe_cruise_pacing_gain: f64 = 1.0 => Range::FACTOR,
    /// Pacing gain in ProbeBW_REFILL. Section 4.3.3.3.
    probe_refill_pacing_gain: f64 = 1.0 => Range::FACTOR,
    /// Pacing gain in ProbeBW_UP. Section 4.3.3.4.
    probe_up_pacing_gain: f64 = 1.25 => Range::FACTOR,
    /// Pacing gain in ProbeRTT. Section 4.3.4.
    probe_rtt_pacing_gain: f64 = 1.0 => Range::FACTOR,
    /// Window gain in ProbeBW. Section 4.6.1.
    probe_bw_cwnd_gain: f64 = 2.0 => Range::FACTOR,
    /// Window gain in ProbeBW_UP, or `"auto"`: that of ProbeBW. mvfst, draft-ietf-ccwg-bbr: 2.25.
    #[serde(with = "units::or_auto")]
    probe_up_cwnd_gain: Option<f64> = None => Range::FACTOR,
    /// Window gain in ProbeRTT. BBRProbeRTTCwndGain, section 4.6.4.5.
    probe_rtt_cwnd_gain: f64 = 0.5 => Range::FACTOR,
    /// What ends ProbeBW_UP besides loss: so much `inflight` (section 4.3.3.6), or a `plateau` of the bandwidth as in Startup (mvfst).
    probe_up_exit: UpExit = UpExit::Inflight,
    /// Inflight that ends ProbeBW_UP, in BDP; with `plateau` the bound below which a window that is used has no plateau. Section 4.3.3.6.
    probe_up_inflight_gain: f64 = 1.25 => Range::FACTOR,
    /// In flight at a departure from which the window limits the sender in UP, a share of it, or `"auto"`: all of it. mvfst: 0.9.
    #[serde(with = "units::or_auto")]
    cwnd_limited_share: Option<f64> = None => Range::PART,
    /// Share of the computed rate that is not paced, 0..1. BBRPacingMarginPercent, section 4.6.2: 1 %.
    pacing_margin: f64 = 0.01 => Range::from(0.0).below(1.0),
    /// Initial window, packets, or `"auto"`: RFC 9002 section 7.2. Linux: 10.
    #[serde(with = "units::or_auto")]
    initial_window: Option<u64> = None => Range::PACKETS,
    /// Packets at the start that leave unpaced. mvfst: its initial window; draft: 0.
    unpaced_packets: u64 = 0 => Range::from(0.0).to(1e6),
    /// RTT behind the pacing rate before the first sample. Section 4.6.2.
    initial_rtt: Duration = Duration::from_millis(1),
    /// Loss rate of a round that is too much, 0..1. BBRLossThresh, section 2.8.
    loss_thresh: f64 = 0.02 => Range::from(0.0).below(1.0),
    /// What is held against it: the losses since each `packet` left, up to itself (section 4.5.6.2), or those of the loss `round` (mvfst; marks do not count).
    inflight_too_high: TooHigh = TooHigh::Packet,
    /// What is left of a bound after loss, 0..1. BBRBeta, section 2.8.
    beta: f64 = 0.7 => Range::above(0.0).to(1.0),
    /// Share of `inflight_hi` left free in CRUISE and ProbeRTT, 0..1. BBRHeadroom as meant (deviation 1).
    headroom: f64 = 0.15 => Range::from(0.0).below(1.0),
    /// When losses may end Startup: after a round in `recovery` (section 4.3.1.3), or after any `round` that lost too much (mvfst).
    startup_loss_exit: StartupLossExit = StartupLossExit::Recovery,
    /// Discontiguous ranges lost in a round that end Startup. BBRStartupFullLossCnt, section 4.3.1.3: 3; Linux 8.
    startup_full_loss_cnt: u64 = 3 => Range::COUNT,
    /// Growth of `max_bw` in a round below which the round is flat. Section 4.3.1.2.
    full_bw_growth: f64 = 1.25 => Range::from(1.0),
    /// Flat rounds that end Startup. Section 4.3.1.2.
    full_bw_rounds: u64 = 3 => Range::COUNT,
    /// Smallest window outside of recovery, packets. BBRMinPipeCwnd, section 4.6.4.
    min_pipe_cwnd: u64 = 4 => Range::PACKETS,
    /// Window of the bandwidth filter, ProbeBW cycles. MaxBwFilterLen, section 4.5.2.
    max_bw_filter_len: u64 = 2 => Range::COUNT,
    /// When a cycle of that filter ends: with the last `feedback` of a probe (section 4.5.2), or when `down` begins (mvfst).
    max_bw_advance: Advance = Advance::Feedback,
    /// Bandwidth sample of an ACK: of its `newest` packet, or the `best` of its packets, the delay of the ACK taken off (mvfst).
    bandwidth_sample: BandwidthSample = BandwidthSample::Newest,
    /// Whether ACK aggregation makes room in the window before the pipe was full. mvfst: no.
    extra_acked_in_startup: bool = true,
    /// Window of the ACK aggregation filter, round trips. ExtraAckedFilterLen, section 2.12.
    extra_acked_filter_len: u64 = 10 => Range::COUNT,
    /// Window of the RTT filter. MinRTTFilterLen, section 4.5.3.
    min_rtt_filter_len: Duration = Duration::from_secs(10),
    /// Time without a lower RTT after which ProbeRTT begins. ProbeRTTInterval, section 4.3.4.
    probe_rtt_interval: Duration = Duration::from_secs(5),
    /// Least time with little in flight. ProbeRTTDuration, section 2.14.2.
    probe_rtt_duration: Duration = Duration::from_millis(200),
    /// Shortest time from DOWN to REFILL. Section 4.3.3.5.3.
    probe_wait_base: Duration = Duration::from_secs(2),
    /// What a random draw adds to it at most. Section 4.3.3.5.3.
    probe_wait_spread: Duration = Duration::from_secs(1),
    /// Whether rounds too end the wait for a probe, as Reno flows want. Section 4.3.3.5.1; mvfst: no.
    reno_coexistence: bool = true,
    /// Most rounds from DOWN to REFILL; fewer when the BDP has fewer packets. Section 4.3.3.5.3.
    probe_max_rounds: u64 = 63 => Range::COUNT,
    /// What a random draw takes from those rounds at most. Section 4.3.3.5.3.
    probe_rounds_spread: u64 = 1 => Range::from(0.0),
    /// Most doublings of UP's growth. Section 4.3.3.6.
    probe_up_max_rounds: u64 = 30 => Range::from(0.0),
    /// Packets added to the window in UP, so that a tiny pipe can be probed. Section 4.6.4.2.
    probe_up_extra: u64 = 2 => Range::from(0.0).to(1e6),
    /// Time at the pacing rate that one send quantum lasts. Section 4.6.3.
    send_quantum_time: Duration = Duration::from_millis(1),
    /// Largest send quantum. Section 4.6.3: 64 KBytes.
    send_quantum_max: Bytes = Bytes(65_536),
    /// Pacing rate below which the smaller floor holds. Section 4.6.3.
    send_quantum_low_rate: Rate = Rate(1_200_000),
    /// Smallest send quantum below that rate, packets. Section 4.6.3.
    send_quantum_low_packets: u64 = 1 => Range::PACKETS,
    /// Smallest send quantum above it, packets. Section 4.6.3.
    send_quantum_packets: u64 = 2 => Range::PACKETS,
    /// Send quanta that the window has room for at least. Section 4.5.4.
    offload_quanta: u64 = 3 => Range::from(0.0).to(1e6),
    /// Packets that the pacer may release at once, whatever the quantum. mvfst's pacer: 5; draft: 0.
    pacing_burst: u64 = 0 => Range::from(0.0).to(1e6),
    /// What recovery does to the window: one `event` per period with a round of conservation (section 4.6.4.4), or a `window` of its own after every loss (mvfst, BBRv1).
    recovery: Recovery = Recovery::Event,
    /// Whether a spurious loss is undone (deviation 6). mvfst: no.
    undo: bool = true,
    /// Whether a CE mark counts as a loss (deviation 4). RFC 9002 section 7.1.
    ecn: bool = true,
}

/// What ends ProbeBW_UP besides loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum UpExit {
    /// Enough in flight for a queue.
    Inflight,
    /// Rounds without more bandwidth.
    Plateau,
}

/// Which losses are held against the inflight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum TooHigh {
    /// Those since the packet left.
    Packet,
    /// Those of the loss round.
    Round,
}

/// When losses may end Startup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum StartupLossExit {
    /// After a round in recovery.
    Recovery,
    /// After any round.
    Round,
}

/// When a cycle of the bandwidth filter ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Advance {
    /// A round after ProbeBW_DOWN has begun.
    Feedback,
    /// When it begins.
    Down,
}

/// Which packets of an ACK give the bandwidth sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum BandwidthSample {
    /// The newest, as the sender measures it.
    Newest,
    /// The one with the highest rate.
    Best,
}

/// What recovery does to the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Recovery {
    /// Cuts it once per recovery period.
    Event,
    /// Bounds it by one of its own.
    Window,
}

/// What mvfst has where the draft has something else.
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

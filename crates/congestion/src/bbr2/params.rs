//! The parameters; sections are those of the draft in the header of `mod.rs`.

use crate::params::{Range, params};
use crate::{Bytes, Duration, Rate};

params! {
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
    /// Window gain in ProbeRTT. BBRProbeRTTCwndGain, section 4.6.4.5.
    probe_rtt_cwnd_gain: f64 = 0.5 => Range::FACTOR,
    /// Inflight that ends ProbeBW_UP, in BDP. Section 4.3.3.6.
    probe_up_inflight_gain: f64 = 1.25 => Range::FACTOR,
    /// Share of the computed rate that is not paced, 0..1. BBRPacingMarginPercent, section 4.6.2: 1 %.
    pacing_margin: f64 = 0.01 => Range::from(0.0).below(1.0),
    /// Initial window, packets, or `"auto"`: RFC 9002 section 7.2. Linux: 10.
    #[serde(serialize_with = "crate::units::serialize_or_auto", deserialize_with = "crate::units::deserialize_or_auto")]
    initial_window: Option<u64> = None => Range::PACKETS,
    /// RTT behind the pacing rate before the first sample. Section 4.6.2.
    initial_rtt: Duration = Duration::from_millis(1),
    /// Loss rate of a round that is too much, 0..1. BBRLossThresh, section 2.8.
    loss_thresh: f64 = 0.02 => Range::from(0.0).below(1.0),
    /// What is left of a bound after loss, 0..1. BBRBeta, section 2.8.
    beta: f64 = 0.7 => Range::above(0.0).to(1.0),
    /// Share of `inflight_hi` left free in CRUISE and ProbeRTT, 0..1. BBRHeadroom as meant (deviation 1).
    headroom: f64 = 0.15 => Range::from(0.0).below(1.0),
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
    /// What the dice add to it at most. Section 4.3.3.5.3.
    probe_wait_spread: Duration = Duration::from_secs(1),
    /// Most rounds from DOWN to REFILL; fewer when the BDP has fewer packets. Section 4.3.3.5.3.
    probe_max_rounds: u64 = 63 => Range::COUNT,
    /// What the dice take from those rounds at most. Section 4.3.3.5.3.
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
    /// Whether a CE mark counts as a loss (deviation 4). RFC 9002 section 7.1.
    ecn: bool = true,
}

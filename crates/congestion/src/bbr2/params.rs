//! The parameters; sections are those of the draft in the header of `mod.rs`.

use crate::params::params;
use crate::{Bytes, Duration, Rate};

params! {
    /// Pacing gain in Startup. BBRStartupPacingGain, section 2.6: 4 ln 2, doubles each round.
    startup_pacing_gain: f64 = 2.77,
    /// Window gain in Startup and Drain. BBRStartupCwndGain, section 2.6.
    startup_cwnd_gain: f64 = 2.0,
    /// Pacing gain in Drain. Section 4.3.2: 1 / BBRStartupCwndGain.
    drain_pacing_gain: f64 = 0.5,
    /// Pacing gain in ProbeBW_DOWN. Section 4.3.3.1.
    probe_down_pacing_gain: f64 = 0.9,
    /// Pacing gain in ProbeBW_CRUISE. Section 4.3.3.2.
    probe_cruise_pacing_gain: f64 = 1.0,
    /// Pacing gain in ProbeBW_REFILL. Section 4.3.3.3.
    probe_refill_pacing_gain: f64 = 1.0,
    /// Pacing gain in ProbeBW_UP. Section 4.3.3.4.
    probe_up_pacing_gain: f64 = 1.25,
    /// Pacing gain in ProbeRTT. Section 4.3.4.
    probe_rtt_pacing_gain: f64 = 1.0,
    /// Window gain in ProbeBW. Section 4.6.1.
    probe_bw_cwnd_gain: f64 = 2.0,
    /// Window gain in ProbeRTT. BBRProbeRTTCwndGain, section 4.6.4.5.
    probe_rtt_cwnd_gain: f64 = 0.5,
    /// Inflight that ends ProbeBW_UP, in BDP. Section 4.3.3.6.
    probe_up_inflight_gain: f64 = 1.25,
    /// Share of the computed rate that is not paced, 0..1. BBRPacingMarginPercent, section 4.6.2: 1 %.
    pacing_margin: f64 = 0.01,
    /// Initial window, packets of at most 1472 bytes, but two whole ones at least. RFC 9002 section 7.2.
    initial_window: u64 = 10,
    /// RTT behind the pacing rate before the first sample. Section 4.6.2.
    initial_rtt: Duration = Duration::from_millis(1),
    /// Loss rate of a round that is too much, 0..1. BBRLossThresh, section 2.8.
    loss_thresh: f64 = 0.02,
    /// What is left of a bound after loss, 0..1. BBRBeta, section 2.8.
    beta: f64 = 0.7,
    /// Share of `inflight_hi` left free in CRUISE and ProbeRTT, 0..1. BBRHeadroom as meant (deviation 1).
    headroom: f64 = 0.15,
    /// Discontiguous ranges lost in a round that end Startup. BBRStartupFullLossCnt, section 4.3.1.3: 3; Linux 8.
    startup_full_loss_cnt: u64 = 3,
    /// Growth of `max_bw` in a round below which the round is flat. Section 4.3.1.2.
    full_bw_growth: f64 = 1.25,
    /// Flat rounds that end Startup. Section 4.3.1.2.
    full_bw_rounds: u64 = 3,
    /// Smallest window outside of recovery, packets. BBRMinPipeCwnd, section 4.6.4.
    min_pipe_cwnd: u64 = 4,
    /// Window of the bandwidth filter, ProbeBW cycles. MaxBwFilterLen, section 4.5.2.
    max_bw_filter_len: u64 = 2,
    /// Window of the ACK aggregation filter, round trips. ExtraAckedFilterLen, section 2.12.
    extra_acked_filter_len: u64 = 10,
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
    probe_max_rounds: u64 = 63,
    /// What the dice take from those rounds at most. Section 4.3.3.5.3.
    probe_rounds_spread: u64 = 1,
    /// Most doublings of UP's growth. Section 4.3.3.6.
    probe_up_max_rounds: u64 = 30,
    /// Packets added to the window in UP, so that a tiny pipe can be probed. Section 4.6.4.2.
    probe_up_extra: u64 = 2,
    /// Time at the pacing rate that one send quantum lasts. Section 4.6.3.
    send_quantum_time: Duration = Duration::from_millis(1),
    /// Largest send quantum. Section 4.6.3: 64 KBytes.
    send_quantum_max: Bytes = Bytes(65_536),
    /// Pacing rate below which the smaller floor holds. Section 4.6.3.
    send_quantum_low_rate: Rate = Rate(1_200_000),
    /// Smallest send quantum below that rate, packets. Section 4.6.3.
    send_quantum_low_packets: u64 = 1,
    /// Smallest send quantum above it, packets. Section 4.6.3.
    send_quantum_packets: u64 = 2,
    /// Send quanta that the window has room for at least. Section 4.5.4.
    offload_quanta: u64 = 3,
    /// Whether a CE mark counts as a loss (deviation 4). RFC 9002 section 7.1.
    ecn: bool = true,
}

//! The parameters; sections are those of the draft in the header of `mod.rs`.

use crate::params::params;
use crate::{Bytes, Duration};

params! {
    /// Pacing gain in Startup. StartupPacingGain, section 2: 4 ln 2, doubles each round.
    startup_pacing_gain: f64 = 2.77,
    /// Pacing gain in Drain. DrainPacingGain, section 2; 0.35 up to draft -04.
    drain_pacing_gain: f64 = 0.5,
    /// Pacing gain in ProbeBW_DOWN. Section 5.3.3.1; Linux 0.91.
    probe_down_pacing_gain: f64 = 0.9,
    /// Pacing gain in ProbeBW_CRUISE. Section 5.3.3.2.
    probe_cruise_pacing_gain: f64 = 1.0,
    /// Pacing gain in ProbeBW_REFILL. Section 5.3.3.3.
    probe_refill_pacing_gain: f64 = 1.0,
    /// Pacing gain in ProbeBW_UP. Section 5.3.3.5.
    probe_up_pacing_gain: f64 = 1.25,
    /// Pacing gain in ProbeRTT. Section 5.3.4.
    probe_rtt_pacing_gain: f64 = 1.0,
    /// Window gain outside of ProbeBW_UP and ProbeRTT. DefaultCwndGain, section 2.
    default_cwnd_gain: f64 = 2.0,
    /// Window gain in ProbeBW_UP. Section 5.3.3.5.
    probe_up_cwnd_gain: f64 = 2.25,
    /// Window gain in ProbeRTT. ProbeRTTCwndGain, section 2.
    probe_rtt_cwnd_gain: f64 = 0.5,
    /// Share of the computed rate that is not paced, 0..1. PacingMarginPercent, section 2: 1 %.
    pacing_margin: f64 = 0.01,
    /// Initial window, packets of at most 1472 bytes, but two whole ones at least. RFC 9002 section 7.2.
    initial_window: u64 = 10,
    /// RTT behind the pacing rate before the first sample. Section 5.6.2.
    initial_rtt: Duration = Duration::from_millis(1),
    /// Loss rate of a round that is too much, 0..1. LossThresh, section 2.
    loss_thresh: f64 = 0.02,
    /// What is left of a bound after loss, 0..1. Beta, section 2.
    beta: f64 = 0.7,
    /// Share of `inflight_longterm` left free in CRUISE and ProbeRTT, 0..1. Headroom, section 2.
    headroom: f64 = 0.15,
    /// Discontiguous ranges lost in a round that end Startup. StartupFullLossCnt, section 5.3.1.3.
    startup_full_loss_cnt: u64 = 6,
    /// Growth of the delivery rate in a round below which the round is flat. Section 5.3.1.2.
    full_bw_growth: f64 = 1.25,
    /// Flat rounds that end Startup and ProbeBW_UP. Section 5.3.1.2.
    full_bw_rounds: u64 = 3,
    /// Drain ends when more rounds than this have passed. Section 5.3.2.
    drain_max_rounds: u64 = 3,
    /// Smallest window, packets. MinPipeCwnd, section 2.
    min_pipe_cwnd: u64 = 4,
    /// Window of the bandwidth filter, ProbeBW cycles. MaxBwFilterLen, section 2.
    max_bw_filter_len: u64 = 2,
    /// Window of the ACK aggregation filter, round trips. ExtraAckedFilterLen, section 2.
    extra_acked_filter_len: u64 = 10,
    /// The same until the pipe has been full. Section 5.5.9.
    startup_extra_acked_filter_len: u64 = 1,
    /// Window of the RTT filter. MinRTTFilterLen, section 2.
    min_rtt_filter_len: Duration = Duration::from_secs(10),
    /// Time between ProbeRTTs. ProbeRTTInterval, section 2.
    probe_rtt_interval: Duration = Duration::from_secs(5),
    /// Least time with little in flight. ProbeRTTDuration, section 2.
    probe_rtt_duration: Duration = Duration::from_millis(200),
    /// Shortest time from DOWN to REFILL. Section 5.3.3.8.
    probe_wait_base: Duration = Duration::from_secs(2),
    /// What the dice add to it at most. Section 5.3.3.8.
    probe_wait_spread: Duration = Duration::from_secs(1),
    /// Most rounds from DOWN to REFILL; fewer when the BDP has fewer packets. Section 5.3.3.8.
    probe_max_rounds: u64 = 63,
    /// What the dice take from those rounds at most. Section 5.3.3.8.
    probe_rounds_spread: u64 = 1,
    /// Most doublings of UP's growth. Section 5.3.3.5.
    probe_up_max_rounds: u64 = 30,
    /// Packets added to the window in UP, so that a tiny pipe can be probed. Section 5.6.4.2.
    probe_up_extra: u64 = 2,
    /// Time at the pacing rate that one send quantum lasts. Section 5.6.3.
    send_quantum_time: Duration = Duration::from_millis(1),
    /// Largest send quantum. Section 5.6.3: 64 KBytes.
    send_quantum_max: Bytes = Bytes(65_536),
    /// Smallest send quantum, packets. Section 5.6.3.
    send_quantum_packets: u64 = 2,
    /// Send quanta that the window has room for at least. Section 5.5.8: QUIC 1; TCP, and all up to draft -04, 3.
    offload_quanta: u64 = 1,
    /// Whether a lost packet that the application limited cuts `inflight_longterm` (deviation 4).
    cut_when_app_limited: bool = false,
    /// Whether a CE mark counts as a loss (deviation 1). RFC 9002 section 7.1.
    ecn: bool = true,
}

//! Parameters. Sections are those of the draft named in `mod.rs`.

use crate::{Range, params};
use units::{Bytes, Duration};

params! {
    /// Pacing gain in Startup. StartupPacingGain, draft section 2: 2.77 = 4 ln 2, which doubles the
    /// rate each round.
    startup_pacing_gain: f64 = 2.77 => Range::FACTOR,
    /// Pacing gain in Drain. DrainPacingGain, draft section 2; 0.35 up to draft -04.
    drain_pacing_gain: f64 = 0.5 => Range::FACTOR,
    /// Pacing gain in ProbeBW_DOWN. Draft section 5.3.3.1; Linux 0.91.
    probe_down_pacing_gain: f64 = 0.9 => Range::FACTOR,
    /// Pacing gain in ProbeBW_CRUISE. Draft section 5.3.3.2.
    probe_cruise_pacing_gain: f64 = 1.0 => Range::FACTOR,
    /// Pacing gain in ProbeBW_REFILL. Draft section 5.3.3.3.
    probe_refill_pacing_gain: f64 = 1.0 => Range::FACTOR,
    /// Pacing gain in ProbeBW_UP. Draft section 5.3.3.5.
    probe_up_pacing_gain: f64 = 1.25 => Range::FACTOR,
    /// Pacing gain in ProbeRTT. Draft section 5.3.4.
    probe_rtt_pacing_gain: f64 = 1.0 => Range::FACTOR,
    /// Window gain outside of ProbeBW_UP and ProbeRTT. DefaultCwndGain, draft section 2.
    default_cwnd_gain: f64 = 2.0 => Range::FACTOR,
    /// Window gain in ProbeBW_UP. Draft section 5.3.3.5.
    probe_up_cwnd_gain: f64 = 2.25 => Range::FACTOR,
    /// Window gain in ProbeRTT. ProbeRTTCwndGain, draft section 2.
    probe_rtt_cwnd_gain: f64 = 0.5 => Range::FACTOR,
    /// Inflight that ends ProbeBW_UP once it has lasted a min_rtt, in BDP, or `"off"`: a bandwidth
    /// plateau ends it. draft-cardwell-iccrg-bbr-congestion-control-02, section 4.3.3.6, and
    /// Linux's BBRv2 (`bbr2_update_cycle_phase`): 1.25, without a plateau test.
    #[serde(with = "units::or_off")]
    probe_up_inflight_gain: Option<f64> = None => Range::FACTOR,
    /// Share by which pacing stays below the computed rate, 0..1. PacingMarginPercent, draft
    /// section 2: 1 %.
    pacing_margin: f64 = 0.01 => Range::from(0.0).below(1.0),
    /// Initial window, packets, or `"auto"`: RFC 9002 section 7.2. Linux: 10.
    #[serde(with = "units::or_auto")]
    initial_window: Option<u64> = None => Range::PACKETS,
    /// Assumed RTT for the pacing rate before the first sample. Draft section 5.6.2.
    initial_rtt: Duration = Duration::from_millis(1),
    /// Loss rate in a round above which the loss is excessive, 0..1. LossThresh, draft section 2.
    loss_thresh: f64 = 0.02 => Range::from(0.0).below(1.0),
    /// Factor by which a bound is multiplied after loss, 0..1. Beta, draft section 2.
    beta: f64 = 0.7 => Range::above(0.0).to(1.0),
    /// Share of `inflight_longterm` kept free in CRUISE and ProbeRTT, 0..1. Headroom, draft section
    /// 2.
    headroom: f64 = 0.15 => Range::from(0.0).below(1.0),
    /// Number of non-contiguous ranges lost in a round that end Startup. StartupFullLossCnt, draft
    /// section 5.3.1.3.
    startup_full_loss_cnt: u64 = 6 => Range::COUNT,
    /// Growth factor of the delivery rate below which a round is flat. Draft section 5.3.1.2.
    full_bw_growth: f64 = 1.25 => Range::from(1.0),
    /// Number of flat rounds that end Startup and ProbeBW_UP. Draft section 5.3.1.2.
    full_bw_rounds: u64 = 3 => Range::COUNT,
    /// Number of rounds after which Drain ends, even if the queue is not empty. Draft section
    /// 5.3.2.
    drain_max_rounds: u64 = 3 => Range::from(0.0),
    /// Smallest window, packets. MinPipeCwnd, draft section 2.
    min_pipe_cwnd: u64 = 4 => Range::PACKETS,
    /// Length of the bandwidth filter, ProbeBW cycles. MaxBwFilterLen, draft section 2.
    max_bw_filter_len: u64 = 2 => Range::COUNT,
    /// Length of the ACK aggregation filter, round trips. ExtraAckedFilterLen, draft section 2.
    extra_acked_filter_len: u64 = 10 => Range::COUNT,
    /// Length of the ACK aggregation filter until the pipe has been full, round trips. Draft
    /// section 5.5.9.
    startup_extra_acked_filter_len: u64 = 1 => Range::COUNT,
    /// Length of the RTT filter. MinRTTFilterLen, draft section 2.
    min_rtt_filter_len: Duration = Duration::from_secs(10),
    /// Time between ProbeRTTs. ProbeRTTInterval, draft section 2.
    probe_rtt_interval: Duration = Duration::from_secs(5),
    /// Minimum time in ProbeRTT with little in flight. ProbeRTTDuration, draft section 2.
    probe_rtt_duration: Duration = Duration::from_millis(200),
    /// Shortest time from DOWN to REFILL. Draft section 5.3.3.8.
    probe_wait_base: Duration = Duration::from_secs(2),
    /// Largest random addition to `probe-wait-base`. Draft section 5.3.3.8.
    probe_wait_spread: Duration = Duration::from_secs(1),
    /// Maximum number of rounds from DOWN to REFILL; fewer if the BDP has fewer packets. Draft
    /// section 5.3.3.8.
    probe_max_rounds: u64 = 63 => Range::COUNT,
    /// Largest random reduction of `probe-max-rounds`. Draft section 5.3.3.8.
    probe_rounds_spread: u64 = 1 => Range::from(0.0),
    /// Maximum number of doublings of the growth in UP. Draft section 5.3.3.5.
    probe_up_max_rounds: u64 = 30 => Range::from(0.0),
    /// Packets added to the window in UP, so that a very small BDP can be probed. Draft section
    /// 5.6.4.2.
    probe_up_extra: u64 = 2 => Range::from(0.0).to(1e6),
    /// Duration of one send quantum at the pacing rate. Draft section 5.6.3.
    send_quantum_time: Duration = Duration::from_millis(1),
    /// Largest send quantum. Draft section 5.6.3: 64 KBytes.
    send_quantum_max: Bytes = Bytes(65_536),
    /// Smallest send quantum, packets. Draft section 5.6.3.
    send_quantum_packets: u64 = 2 => Range::PACKETS,
    /// Minimum number of send quanta that the window allows. Draft section 5.5.8: 1 for QUIC, 3 for
    /// TCP; up to draft -04: 3.
    offload_quanta: u64 = 1 => Range::from(0.0).to(1e6),
    /// Whether the loss of an application-limited packet cuts `inflight_longterm`. Draft section
    /// 5.5.10.2: no; the test of UP in the draft's appendix requires the cut.
    cut_when_app_limited: bool = false,
    /// Whether a CE mark counts as a loss. The draft defines no response, but RFC 9002 section 7.1
    /// requires one.
    ecn: bool = true,
}

//! Parameters. Names in capitals are picoquic's constants.

use crate::{Range, params};
use units::{Bytes, Duration, Rate};

params! {
    /// Pacing and window gain in Startup. Drain's pacing gain is its reciprocal. BBR_HIGH_GAIN: 2 /
    /// ln 2.
    high_gain: f64 = 2.885_390_081_777_9 => Range::FACTOR,
    /// Pacing gains of ProbeBW's phases. `bbr_pacing_gain_cycle`.
    pacing_gain_cycle: [f64; 8] = [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.25, 0.75] => Range::FACTOR,
    /// Window gain in ProbeBW. `BBREnterProbeBW`.
    cwnd_gain: f64 = 2.0 => Range::FACTOR,
    /// Phase of the cycle after which ProbeBW is entered. `BBREnterProbeBW`.
    cycle_entry: u64 = 2 => Range::from(0.0).to(7.0),
    /// Latest phase at which the cycle may continue. BBR_GAIN_CYCLE_MAX_START.
    cycle_max_start: u64 = 5 => Range::from(0.0).to(7.0),
    /// RTT above which ProbeBW is entered at a later phase. PICOQUIC_TARGET_RENO_RTT.
    target_rtt: Duration = Duration::from_millis(100),
    /// RTT above which the entry phase no longer moves. PICOQUIC_TARGET_SATELLITE_RTT.
    satellite_rtt: Duration = Duration::from_millis(610),
    /// Length of the bandwidth filter, round trips. BBR_BTL_BW_FILTER_LENGTH.
    bw_filter_len: u64 = 10 => Range::COUNT.to(1e3),
    /// Shortest time between two ACKs whose rate may count as the peak.
    /// PICOQUIC_MAX_BANDWIDTH_TIME_INTERVAL_MIN.
    peak_interval: Duration = Duration::from_millis(1),
    /// Share of the peak that Startup uses as minimum bandwidth. `BBRUpdateBtlBw`.
    peak_share: f64 = 0.5 => Range::PART,
    /// Age at which the minimum RTT expires and ProbeRTT is due. BBR_PROBE_RTT_INTERVAL.
    probe_rtt_interval: Duration = Duration::from_secs(10),
    /// Age at which the minimum RTT expires, in multiples of itself; both ages must be reached.
    /// `BBRUpdateRTprop`.
    probe_rtt_rtts: f64 = 20.0 => Range::from(0.0),
    /// Share by which a sample may exceed the minimum RTT and still renew its age.
    /// `BBRUpdateRTprop`: 1/20.
    rtt_slack: f64 = 0.05 => Range::PART,
    /// Minimum time in ProbeRTT with very little in flight. BBR_PROBE_RTT_DURATION.
    probe_rtt_duration: Duration = Duration::from_millis(200),
    /// Growth factor of the bandwidth below which a round is flat. `BBRCheckFullPipe`.
    full_bw_growth: f64 = 1.25 => Range::from(1.0),
    /// Number of flat rounds that end Startup. `BBRCheckFullPipe`.
    full_bw_rounds: u64 = 3 => Range::COUNT,
    /// Smallest window after an ACK, also the window of ProbeRTT, packets. BBR_MIN_PIPE_CWND.
    min_pipe_cwnd: u64 = 4 => Range::PACKETS,
    /// Initial window. PICOQUIC_CWIN_INITIAL: 10 * 1536 bytes.
    initial_window: Bytes = Bytes(15_360),
    /// Smallest window after a congestion event. PICOQUIC_CWIN_MINIMUM: 2 * 1536 bytes.
    min_window: Bytes = Bytes(3_072),
    /// Assumed RTT for the pacing rate before the first sample. Draft-00 section 4.2.1; not in
    /// picoquic.
    initial_rtt: Duration = Duration::from_millis(1),
    /// Pacing rate below which a send quantum is one packet. BBR_PACING_RATE_LOW.
    send_quantum_low_rate: Rate = Rate(1_200_000),
    /// Pacing rate below which a send quantum is two packets. BBR_PACING_RATE_MEDIUM.
    send_quantum_medium_rate: Rate = Rate(24_000_000),
    /// Duration of a send quantum at higher pacing rates. `BBRSetSendQuantum`.
    send_quantum_time: Duration = Duration::from_millis(1),
    /// Largest send quantum. `BBRSetSendQuantum`.
    send_quantum_max: Bytes = Bytes(65_536),
    /// Number of send quanta that the window allows in addition to the BDP. `BBRInflight`.
    offload_quanta: u64 = 3 => Range::from(0.0).to(1e6),
    /// Smoothed loss rate above which a loss is a congestion event.
    /// PICOQUIC_SMOOTHED_LOSS_THRESHOLD.
    loss_threshold: f64 = 0.2 => Range::PART,
    /// Weight of one packet in the smoothed loss rate. PICOQUIC_SMOOTHED_LOSS_FACTOR: 1/16.
    loss_gain: f64 = 0.0625 => Range::SHARE,
    /// Largest distance in packet numbers between two losses that counts.
    /// PICOQUIC_SMOOTHED_LOSS_SCOPE.
    loss_scope: u64 = 32 => Range::COUNT,
    /// Whether to respond to CE marks; `false` is the baseline that ignores them.
    /// `picoquic_bbr_notify`: yes.
    ecn: bool = true,
}

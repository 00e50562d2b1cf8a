//! Parameters. "Draft" is draft-cardwell-iccrg-bbr-congestion-control-00, "Linux" is tcp_bbr.c of
//! version 6.

use crate::{Range, params};
use units::{Bytes, Duration, Rate};

params! {
    /// Pacing and window gain in Startup. Draft section 4.3.2.1: 2 / ln 2, which doubles the rate
    /// each round.
    high_gain: f64 = 2.885 => Range::FACTOR,
    /// Pacing gain in Drain. Draft section 4.3.3: 1 / high_gain, which drains Startup's queue in
    /// one round.
    drain_gain: f64 = 1.0 / 2.885 => Range::FACTOR,
    /// Pacing gains of ProbeBW's phases, each about one min_rtt long. Draft section 4.3.4.
    pacing_gain_cycle: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0] => Range::FACTOR,
    /// Window gain in ProbeBW. Draft section 4.3.4.
    cwnd_gain: f64 = 2.0 => Range::FACTOR,
    /// Length of the bandwidth filter, round trips. BtlBwFilterLen, draft section 4.1.1.5; Linux:
    /// the cycle plus 2.
    bw_filter_len: u64 = 10 => Range::COUNT,
    /// Length of the RTT filter. A ProbeRTT is due when it ends. RTpropFilterLen, draft section
    /// 4.1.2.3.
    min_rtt_filter_len: Duration = Duration::from_secs(10),
    /// Share by which a sample may exceed the minimum RTT and still renew its age, or `"off"`: only
    /// a lower sample does (Linux since 5.10). 0: an equal sample does too (draft section 4.1.2.3,
    /// Linux up to 5.9).
    #[serde(with = "units::or_off")]
    min_rtt_slack: Option<f64> = None => Range::PART,
    /// Whether to use ProbeRTT. If not, the first sample after `min-rtt-filter-len` replaces the
    /// minimum. Linux: `bbr_probe_rtt_mode_ms` > 0.
    probe_rtt: bool = true,
    /// Minimum time in ProbeRTT with very little in flight. ProbeRTTDuration, draft section 4.3.5.
    probe_rtt_duration: Duration = Duration::from_millis(200),
    /// Growth factor of the bandwidth below which a round is flat. Draft section 4.3.2.2.
    full_bw_growth: f64 = 1.25 => Range::from(1.0),
    /// Number of flat rounds that end Startup. Draft section 4.3.2.2.
    full_bw_rounds: u64 = 3 => Range::COUNT,
    /// Smallest window, also the window of ProbeRTT, packets. BBRMinPipeCwnd, draft section
    /// 4.2.3.3.
    min_pipe_cwnd: u64 = 4 => Range::PACKETS,
    /// Initial window, packets, or `"auto"`: RFC 9002 section 7.2. Linux: 10.
    #[serde(with = "units::or_auto")]
    initial_window: Option<u64> = None => Range::PACKETS,
    /// Assumed RTT for the pacing rate before the first sample. Draft section 4.2.1.
    initial_rtt: Duration = Duration::from_millis(1),
    /// Duration of one send quantum at the pacing rate. Linux: 1/1024 s (`sk_pacing_shift`); draft
    /// section 4.2.2: 1 ms.
    send_quantum_time: Duration = Duration(976_563),
    /// Number of packets sent unpaced at the start. Linux's TCP: 10 (`tcp_update_skb_after_send`);
    /// draft: 0.
    unpaced_packets: u64 = 0 => Range::from(0.0).to(1e6),
    /// Largest send quantum. Draft section 4.2.2: 64 KBytes.
    send_quantum_max: Bytes = Bytes(65_536),
    /// Pacing rate below which a send quantum may be one packet. Draft section 4.2.2, Linux
    /// `bbr_min_tso_rate`.
    send_quantum_low_rate: Rate = Rate(1_200_000),
    /// Smallest send quantum from `send-quantum-low-rate` on, packets. Draft section 4.2.2, Linux
    /// `bbr_min_tso_segs`.
    send_quantum_packets: u64 = 2 => Range::PACKETS,
    /// Number of send quanta that the window allows in addition to the BDP. Draft section 4.2.3.2.
    offload_quanta: u64 = 3 => Range::from(0.0).to(1e6),
    /// Multiple of packets to which the target window is rounded up, for receivers that acknowledge
    /// every other packet. Linux: 2; draft: 1.
    round_up_packets: u64 = 2 => Range::PACKETS,
    /// Packets added to the target window in a probing phase, so that a very small BDP can be
    /// probed. Linux: 2; draft: 0.
    probe_up_extra: u64 = 2 => Range::from(0.0).to(1e6),
    /// Share by which pacing stays below the computed rate, 0..1. Linux: 1 %; draft: 0.
    pacing_margin: f64 = 0.01 => Range::from(0.0).below(1.0),
    /// Factor for the ACK aggregation that is added to the window once the pipe has been full.
    /// Linux: 1; draft: 0.
    extra_acked_gain: f64 = 1.0 => Range::from(0.0).to(1e6),
    /// Length of one window of the ACK aggregation filter, round trips. Linux: 5.
    extra_acked_win_rtts: u64 = 5 => Range::COUNT,
    /// Number of windows that the ACK aggregation filter keeps. Linux: 2.
    extra_acked_windows: u64 = 2 => Range::COUNT,
    /// Largest ACK aggregation that is added to the window, as time at the estimated bandwidth.
    /// Linux: 100 ms.
    extra_acked_max: Duration = Duration::from_millis(100),
    /// Whether to detect token-bucket policers. Linux: yes; draft: no.
    policer: bool = true,
    /// Shortest policer sampling interval, round trips. Linux: 4.
    lt_intvl_min_rtts: u64 = 4 => Range::COUNT,
    /// Longest policer sampling interval, round trips. Linux: 4 times the shortest.
    lt_intvl_max_rtts: u64 = 16 => Range::COUNT,
    /// Ratio of lost to delivered bytes above which an interval may show a policer. Linux: 50 /
    /// 256, about 20 %.
    lt_loss_thresh: f64 = 50.0 / 256.0 => Range::from(0.0),
    /// Relative difference below which two intervals count as the same rate. Linux: 1 / 8.
    lt_bw_ratio: f64 = 0.125 => Range::from(0.0),
    /// Absolute difference below which two intervals count as the same rate. Linux: 4 kbit/s.
    lt_bw_diff: Rate = Rate(4_000),
    /// Number of ProbeBW rounds for which a policed rate is used. Linux: 48.
    lt_bw_max_rtts: u64 = 48 => Range::COUNT,
}

//! Parameters. Their sources are those named in `mod.rs`.

use crate::{Range, params};
use units::{Duration, Rate};

params! {
    /// Packets sent within this time form a group. Draft table 1.
    burst_time: Duration = Duration::from_millis(5),
    /// Longest group of packets that arrive in a burst. WebRTC inter_arrival.cc; the draft has
    /// none.
    max_burst: Duration = Duration::from_millis(100),
    /// State noise, ms^2. Draft table 1.
    q: f64 = 1e-3 => Range::from(0.0),
    /// e(0), error covariance at the start, ms^2. Draft table 1.
    e: f64 = 0.1 => Range::from(0.0),
    /// Weight of the newest sample in the variance at 30 groups a second, 0..1. Draft table 1:
    /// 0.001 to 0.1.
    chi: f64 = 0.01 => Range::PART,
    /// var_v(0), variance of the measurement at the start, ms^2. WebRTC bwe_defines.h; the draft
    /// has none.
    var_v: f64 = 50.0 => Range::from(0.0),
    /// K, number of groups over which f_max is taken. WebRTC overuse_estimator.cc; the draft gives
    /// no number.
    memory: usize = 60 => Range::COUNT,
    /// Largest factor by which m is multiplied before the comparison with the threshold. WebRTC
    /// overuse_detector.cc; draft: 1.
    deltas: u64 = 60 => Range::COUNT,
    /// del_var_th(0), threshold at the start. Draft table 1.
    del_var_th: Duration = Duration::from_micros(12_500),
    /// Smallest threshold. Draft section 5.4.
    del_var_th_min: Duration = Duration::from_millis(6) => Range::from(0.0).up_to("del_var_th_max"),
    /// Largest threshold. Draft section 5.4.
    del_var_th_max: Duration = Duration::from_millis(600),
    /// Excess of the estimate over the threshold beyond which the threshold is not adapted. Draft
    /// section 5.4.
    spike: Duration = Duration::from_millis(15),
    /// Largest time step of the threshold's update. WebRTC overuse_detector.cc; the draft has none.
    max_step: Duration = Duration::from_millis(100),
    /// Time above the threshold until over-use is signaled. Draft table 1.
    overuse_time_th: Duration = Duration::from_millis(10),
    /// K_u, gain of the threshold upwards, per ms. Draft table 1.
    k_u: f64 = 0.01 => Range::from(0.0),
    /// K_d, gain of the threshold downwards, per ms. Draft table 1.
    k_d: f64 = 0.00018 => Range::from(0.0),
    /// Interval between updates of the rate. Draft section 3: 30 to 100 ms.
    interval: Duration = Duration::from_millis(100),
    /// T, window of the receive rate. Draft table 1: 0.5 to 1 s.
    rate_window: Duration = Duration::from_millis(500),
    /// Factor by which the receive rate is multiplied in Decrease, 0..1. Draft section 5.5.
    beta: f64 = 0.85 => Range::SHARE,
    /// Growth factor per second in multiplicative increase. Draft section 5.5.
    eta: f64 = 1.08 => Range::FACTOR,
    /// Largest A_hat, as a multiple of the receive rate. Draft section 5.5.
    headroom: f64 = 1.5 => Range::FACTOR,
    /// Reaction time of the detector, which is added to the RTT to give the response time. Draft
    /// section 5.5.
    reaction_time: Duration = Duration::from_millis(100),
    /// Smallest additive increase per update. Draft section 5.5.
    min_step: Rate = Rate(1000),
    /// Frames per second, for the expected packet size. Draft section 5.5.
    fps: f64 = 30.0 => Range::above(0.0),
    /// Largest packet, bytes, for the expected packet size. Draft section 5.5.
    packet: u64 = 1200 => Range::COUNT,
    /// Weight of the past in mean and variance of the receive rate at a Decrease, 0..1. Draft
    /// section 5.5.
    smoothing: f64 = 0.95 => Range::from(0.0).below(1.0),
    /// Smallest variance over mean, kbit/s. WebRTC link_capacity_estimator.cc; the draft has none.
    variance_min: f64 = 0.4 => Range::from(0.0).up_to("variance_max"),
    /// Largest variance over mean, kbit/s. WebRTC link_capacity_estimator.cc; the draft has none.
    variance_max: f64 = 2.5 => Range::from(0.0),
    /// Loss ratio below which As_hat grows, 0..1. Draft section 6.
    loss_low: f64 = 0.02 => Range::PART.up_to("loss_high"),
    /// Loss ratio above which As_hat falls, 0..1. Draft section 6.
    loss_high: f64 = 0.1 => Range::PART,
    /// Growth factor of As_hat per update. Draft section 6.
    loss_increase: f64 = 1.05 => Range::FACTOR,
    /// Initial rate. WebRTC's; the draft has none.
    initial_rate: Rate = Rate(300_000),
    /// Smallest rate. Not in the draft.
    min_rate: Rate = Rate(10_000) => Range::from(0.0).up_to("max_rate"),
    /// Largest rate, normally that of the application, or `"off"`. Not in the draft.
    #[serde(with = "units::or_off")]
    max_rate: Option<Rate> = None,
    /// Window, in multiples of the bytes sent in an RTT and an interval. Large enough not to limit
    /// the rate. Not in the draft.
    window: f64 = 2.0 => Range::PACKETS,
    /// Smallest window, packets. Not in the draft.
    min_window: u64 = 10 => Range::PACKETS,
}

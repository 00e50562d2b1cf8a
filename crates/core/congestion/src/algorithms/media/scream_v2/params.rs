//! Parameters under the draft's names, with its values and sections.

use crate::{Range, params};
use units::{Bytes, Duration, Rate};

params! {
    /// TARGET_BITRATE_MIN, smallest target bitrate. Section 4.4; the draft has no value.
    target_bitrate_min: Rate = Rate(150_000) => Range::from(0.0).up_to("target_bitrate_max"),
    /// TARGET_BITRATE_MAX, largest target bitrate. Section 4.4; the draft has no value.
    target_bitrate_max: Rate = Rate(50_000_000),
    /// Whether marks are those of L4S, IS_L4S. Section 4.2.2.
    is_l4s: bool = false,
    /// QDELAY_TARGET_LO, smallest target of the queue delay. Section 4.2.2.
    qdelay_target_lo: Duration = Duration::from_millis(60) => Range::from(0.0).up_to("qdelay_target_hi"),
    /// QDELAY_TARGET_HI, largest target of the queue delay. Section 4.2.2.
    qdelay_target_hi: Duration = Duration::from_millis(400),
    /// MIN_REF_WND, smallest and first reference window. Section 4.2.2.
    min_ref_wnd: Bytes = Bytes(3000),
    /// BYTES_IN_FLIGHT_HEAD_ROOM, largest window in multiples of the bytes in flight. Section
    /// 4.2.2.
    bytes_in_flight_head_room: f64 = 1.5 => Range::FACTOR,
    /// BETA_LOSS, factor on the window after a loss, 0..1. Section 4.2.2.
    beta_loss: f64 = 0.7 => Range::SHARE,
    /// BETA_ECN, factor on the window after a mark of classic ECN, 0..1. Section 4.2.2.
    beta_ecn: f64 = 0.8 => Range::SHARE,
    /// POST_CONGESTION_DELAY_RTT, number of RTTs with cautious growth after congestion. Section
    /// 4.2.2.
    post_congestion_delay_rtts: f64 = 100.0 => Range::above(0.0),
    /// MUL_INCREASE_FACTOR, growth per RTT as a share of the window. Section 4.2.2.
    mul_increase_factor: f64 = 0.02 => Range::from(0.0),
    /// VIRTUAL_RTT. Section 4.2.2; EricssonResearch/scream has 30 ms between two reductions.
    virtual_rtt: Duration = Duration::from_millis(25),
    /// L4S_AVG_G_UP, weight of a larger share of marks, 0..1. Section 4.2.1.3.
    l4s_avg_g_up: f64 = 1.0 / 8.0 => Range::SHARE,
    /// L4S_AVG_G_DOWN, decay of the share of marks, 0..1. Section 4.2.1.3.
    l4s_avg_g_down: f64 = 1.0 / 128.0 => Range::SHARE,
    /// QDELAY_AVG_G, weight of a larger queue delay, 0..1. Section 4.2.1.4.
    qdelay_avg_g: f64 = 1.0 / 4.0 => Range::SHARE,
    /// Whether to grow less and to send less at once while the delay varies, REDUCE_JITTER. Section
    /// 4.2.1.4, optional.
    reduce_jitter: bool = false,
    /// QDELAY_DEV_THRESHOLD, variation of the delay without growth. Section 4.2.1.4.
    qdelay_dev_threshold: Duration = Duration::from_millis(10),
    /// REF_WND_OVERHEAD_MIN, bytes in flight allowed with a varying delay, in windows. Section
    /// 4.3.1.
    ref_wnd_overhead_min: f64 = 1.5 => Range::FACTOR.up_to("ref_wnd_overhead_max"),
    /// REF_WND_OVERHEAD_MAX, bytes in flight allowed otherwise, in windows. Section 4.3.1.
    ref_wnd_overhead_max: f64 = 3.0 => Range::FACTOR,
    /// PACKET_PACING_HEADROOM, pacing rate in multiples of the target bitrate. Section 4.3.2 has
    /// 1.5, for an application that limits its own rate.
    pacing_headroom: f64 = 1.0 => Range::FACTOR,
    /// PACKET_OVERHEAD, bytes of a packet that are no media. Section 4.4.
    packet_overhead: Bytes = Bytes(20),
    /// Divisor of the target bitrate that avoids a queue before the sender. Section 4.4.
    rate_margin: f64 = 1.2 => Range::FACTOR,
    /// LOSS_RATE_THRESHOLD, loss rate up to which losses without a queue do not count, or `"off"`.
    /// Section 4.5.2 has 0.01, optional.
    #[serde(with = "units::or_off")]
    loss_rate_threshold: Option<f64> = None => Range::SHARE,
    /// Whether to raise the target of the queue delay beside loss-based flows. Section 4.5.4,
    /// optional.
    competing_flows: bool = true,
    /// Whether to measure the base delay anew, at half of the rate, when the queue delay stays
    /// long. Section 4.5.1, optional.
    clock_drift: bool = true,
    /// Smallest time between two updates of the window without congestion. EricssonResearch/scream.
    update_interval: Duration = Duration::from_millis(10),
    /// Window of the smallest one-way delay. RFC 6817 section 2.4.2: ten minutes.
    base_window: Duration = Duration::from_secs(600),
}

//! Parameters.

use crate::{Range, params};
use units::Duration;

params! {
    /// TARGET, the queuing delay to add. Section 4.5.
    target: Duration = Duration::from_millis(60),
    /// Largest divisor of the gain. Section 4.2.
    max_divisor: f64 = 16.0 => Range::from(1.0).to(1e6),
    /// Constant of the multiplicative decrease. Section 4.3.
    decrease: f64 = 1.0 => Range::FACTOR,
    /// Part of TARGET at which the first slow start ends, 0..1. Section 4.1.
    slow_start_exit: f64 = 0.75 => Range::FACTOR,
    /// Whether the gain also slows the ramp that ends a slowdown. Apple tcp_ledbat.c.
    gain_in_ramp: bool = true,
    /// Number of round trips from the end of the first slow start to the first slowdown, and of a
    /// slowdown's freeze. Section 4.4.
    freeze_rounds: f64 = 2.0 => Range::FACTOR,
    /// Time between slowdowns as a multiple of a slowdown's duration, or `"off"`: no slowdowns.
    /// Section 4.4.
    #[serde(with = "units::or_off")]
    slowdown_period: Option<f64> = Some(9.0) => Range::FACTOR,
    /// Number of minima kept for the base delay. RFC 6817 section 2.5.
    base_history: usize = 10 => Range::COUNT,
    /// Interval of each minimum of `base-history`. RFC 6817 section 2.4.2.
    base_interval: Duration = Duration::from_secs(60),
    /// Number of RTTs in the last round trip whose minimum is the current delay. RFC 6817 section
    /// 2.5.
    current_filter: usize = 4 => Range::COUNT,
    /// Initial window, packets. Section 4.1.
    initial_window: u64 = 2 => Range::PACKETS,
    /// Smallest window, packets. Section 4.4.
    min_window: u64 = 2 => Range::PACKETS,
    /// Factor by which the window is multiplied after a loss or a mark, 0..1. RFC 6817 section
    /// 2.4.2.
    reduction: f64 = 0.5 => Range::SHARE,
}

//! Parameters. Their sources are those named in `mod.rs`.

use crate::{Range, params};
use units::Duration;

params! {
    /// g, weight of the newest share of marks in alpha, 0..1. Section 2.4.2.
    g: f64 = 1.0 / 16.0 => Range::SHARE,
    /// First value of alpha, 0..1. Linux; udp_prague has 0.
    alpha_on_init: f64 = 1.0 => Range::PART,
    /// Smallest virtual RTT. Section 2.4.4.
    rtt_virt: Duration = Duration::from_millis(25),
    /// Number of round trips after slow start in which the virtual RTT has no effect yet. Section
    /// 2.4.4 and Linux; udp_prague has 0.
    rtt_transition: u64 = 500 => Range::from(0.0),
    /// Whether to respond like a classic flow to the marks of a classic ECN queue. Linux
    /// `prague_ecn_fallback`.
    ecn_fallback: bool = false,
    /// Largest time at the pacing rate for which packets leave at once. Linux has 1/4096 s,
    /// udp_prague 250 us.
    burst: Duration = Duration::from_micros(250),
    /// Smallest window, packets. Linux and udp_prague.
    min_window: u64 = 2 => Range::PACKETS,
    /// Initial window, packets, or `"auto"`: RFC 9002 section 7.2.
    #[serde(with = "units::or_auto")]
    initial_window: Option<u64> = None => Range::PACKETS,
    /// L, largest growth per ACK in slow start, packets, or `"off"`. RFC 3465 section 2.2 has 2;
    /// Linux none.
    #[serde(with = "units::or_off")]
    abc_limit: Option<u64> = None => Range::COUNT,
    #[doc = crate::components::slow_start::values!()]
    slow_start: crate::components::slow_start::Kind = crate::components::slow_start::Kind::Standard,
}

//! Parameters.

use crate::components::count::Count;
use crate::{Range, params};
use units::Duration;

params! {
    /// Arithmetic and growth: `linux` or `draft`. Linux tcp_htcp.c; draft-leith-tcp-htcp-06.
    rules: Rules = Rules::Linux,
    /// Delta_L, time after an event during which growth is that of Reno. Draft section 3.
    delta_l: Duration = Duration::from_secs(1),
    /// q, packets per round trip and second squared. Linux tcp_htcp.c; 0.5 in equation 1 of the
    /// draft.
    quadratic: f64 = 0.25 => Range::from(0.0).to(1e6),
    /// Whether growth is proportional to the smallest RTT. Linux use_rtt_scaling; optional in draft
    /// section 5.
    rtt_scaling: bool = true,
    /// Whether a change of bandwidth sets beta to its smallest value. Linux use_bandwidth_switch.
    bandwidth_switch: bool = true,
    /// Smallest beta, factor by which an event multiplies the window, 0..1. Linux tcp_htcp.c.
    beta_min: f64 = 0.5 => Range::SHARE,
    /// Largest beta, 0..1. Linux tcp_htcp.c; 0.5 turns adaptive backoff off, as in the draft.
    beta_max: f64 = 102.0 / 128.0 => Range::SHARE,
    /// Smallest window, packets. Linux tcp_htcp.c.
    min_window: u64 = 2 => Range::PACKETS,
    /// Initial window, packets, or `"auto"`: RFC 9002 section 7.2.
    #[serde(with = "units::or_auto")]
    initial_window: Option<u64> = Some(10) => Range::PACKETS,
    /// Quantity that grows the window: `packets` acknowledged (Linux), `bytes`,
    #[doc = crate::components::count::others!()]
    count: Count = Count::Packets,
    /// L, largest growth per ACK in slow start, packets, or `"off"`. RFC 3465 section 2.2 has 2;
    /// Linux none.
    #[serde(with = "units::or_off")]
    abc_limit: Option<u64> = None => Range::COUNT,
    #[doc = crate::components::slow_start::values!()]
    slow_start: crate::components::slow_start::Kind = crate::components::slow_start::Kind::Standard,
}

/// Arithmetic and growth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Rules {
    /// Whole packets and Linux's fractions.
    Linux,
    /// Real numbers.
    Draft,
}

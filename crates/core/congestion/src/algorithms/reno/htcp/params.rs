//! Parameters.

use crate::Range;
use crate::components::window_rule::window_params;
use units::Duration;

window_params! {
    initial_window = Some(10), count = Packets;
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
    beta_min: f64 = 0.5 => Range::SHARE.up_to("beta_max"),
    /// Largest beta, 0..1. Linux tcp_htcp.c; 0.5 turns adaptive backoff off, as in the draft.
    beta_max: f64 = 102.0 / 128.0 => Range::SHARE,
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

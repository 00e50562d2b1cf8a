//! Parameters.

use crate::{Range, params};
use units::Duration;

params! {
    /// delta in the default mode, and the largest one in the competitive mode. Section 2.2; mvfst
    /// 0.05.
    delta: f64 = 0.5 => Range::FACTOR,
    /// Whether to compete with flows that fill the buffer. Section 2.2; mvfst never does.
    competitive_mode: bool = true,
    /// RTT whose excess over RTTmin is the queuing delay: `standing` (section 2.1; genericCC) or
    /// `latest` (mvfst).
    delay: Delay = Delay::Standing,
    /// Window of RTTstanding, as part of the smoothed RTT. Section 2.1.
    standing_window: f64 = 0.5 => Range::FACTOR,
    /// Window of RTTmin. Section 2.1; genericCC uses 20 RTTmin if that is longer.
    min_rtt_window: Duration = Duration::from_secs(10),
    /// Number of round trips in the same direction from which the velocity doubles. Section 2.1;
    /// genericCC 1.
    velocity_rounds: u64 = 3 => Range::COUNT,
    /// Whether a step against the direction resets the velocity at once, not at the end of the
    /// round trip. mvfst; not in section 2.1.
    reset_at_turn: bool = true,
    /// Largest step per acknowledged packet, packets, or `"off"`: section 2.1, mvfst. genericCC
    /// halves the velocity above 1.
    #[serde(with = "units::or_off")]
    max_step: Option<f64> = Some(1.0) => Range::above(0.0).to(1.0),
    /// Part of the range of the RTT below which the queue is nearly empty, 0..1. Section 2.2.
    nearly_empty: f64 = 0.1 => Range::PART,
    /// Queuing delay that is nearly empty in any case. Not in the paper.
    empty_margin: Duration = Duration::ZERO,
    /// Number of round trips in which the queue must have been nearly empty. Section 2.2; genericCC
    /// 4.
    empty_rounds: f64 = 5.0 => Range::FACTOR,
    /// Number of round trips over which RTTmax is measured. Section 2.2.
    max_rtt_rounds: f64 = 4.0 => Range::FACTOR,
    /// Gain of the pacing rate. Section 2.1.
    pacing_gain: f64 = 2.0 => Range::FACTOR,
    /// Smallest window, packets. genericCC.
    min_window: u64 = 2 => Range::PACKETS,
    /// Initial window, packets, or `"auto"`: RFC 9002 section 7.2.
    #[serde(with = "units::or_auto")]
    initial_window: Option<u64> = None => Range::PACKETS,
}

/// The RTT that contains the queuing delay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Delay {
    /// RTTstanding.
    Standing,
    /// Latest sample.
    Latest,
}

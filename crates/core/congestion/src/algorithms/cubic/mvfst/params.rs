//! Parameters. Constants are mvfst's.

use crate::components::slow_start::Kind;
use crate::{Range, params};

params! {
    /// C, which determines how fast the window returns, packets per second cubed.
    /// kTimeScalingFactor, mvfst QuicConstants.h:524-531.
    c: f64 = 0.4 => Range::FACTOR,
    /// Factor by which the window is multiplied after a loss, 0..1. kDefaultCubicReductionFactor,
    /// mvfst QuicConstants.h:524-531.
    beta: f64 = 0.7 => Range::SHARE,
    /// Factor for W_max if the window had not returned to its maximum, 0..1.
    /// kDefaultLastMaxReductionFactor, mvfst QuicConstants.h:524-531.
    last_max_reduction: f64 = 0.85 => Range::above(0.0).to(1.0),
    /// Initial window, packets, or `"auto"`: RFC 9002 section 7.2. kInitCwndInMss, mvfst
    /// QuicConstants.h:495.
    #[serde(with = "units::or_auto")]
    initial_window: Option<u64> = Some(10) => Range::PACKETS,
    /// Smallest window, packets. kMinCwndInMss, mvfst QuicConstants.h:496.
    min_window: u64 = 2 => Range::PACKETS,
    /// Pacing rate in slow start, windows per smoothed RTT. kCubicHystartPacingGain, mvfst
    /// QuicCubic.h:18.
    pacing_gain_hystart: f64 = 2.0 => Range::FACTOR,
    /// Pacing rate in recovery, windows per smoothed RTT. kCubicRecoveryPacingGain, mvfst
    /// QuicCubic.h:19.
    pacing_gain_recovery: f64 = 1.25 => Range::FACTOR,
    /// Pacing rate in congestion avoidance, windows per smoothed RTT. mvfst QuicCubic.cpp:417-428.
    pacing_gain_steady: f64 = 1.0 => Range::FACTOR,
    /// Most packets that the pacer releases at once. kDefaultMinBurstPackets, mvfst
    /// QuicConstants.h:451.
    pacing_burst: u64 = 5 => Range::PACKETS,
    #[doc = crate::components::slow_start::values!()]
    slow_start: Kind = Kind::HystartMvfst,
}

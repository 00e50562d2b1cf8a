//! Sensitivity and thresholds: flows with a high rate yield first. "Handling of congestion
//! signals".

use units::Duration;

/// Rates in bytes/s and the sensitivity there.
const CURVE: [(f64, f64); 3] = [(50_000.0, 0.0), (1_000_000.0, 0.92), (10_000_000.0, 1.0)];

/// The thresholds of a flow with this rate in bytes/s and this nominal max RTT in seconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Thresholds {
    pub(super) rate: f64,
    pub(super) max_rtt: f64,
}

impl Thresholds {
    /// Returns the sensitivity, 0..1.
    pub(super) fn sensitivity(self) -> f64 {
        let [low, middle, high] = CURVE;
        let (from, to) = if self.rate < middle.0 { (low, middle) } else { (middle, high) };
        let share = (self.rate - from.0) / (to.0 - from.0);
        from.1 + share.clamp(0.0, 1.0) * (to.1 - from.1)
    }

    /// Returns the RTT above `max_rtt` that is no signal yet, in seconds.
    pub(super) fn delay(self, limit: Duration) -> f64 {
        let fraction = (1.0 + 3.0 * (1.0 - self.sensitivity())) / 16.0;
        limit.as_secs_f64().min(fraction * self.max_rtt)
    }

    /// Returns the loss rate that is no signal yet, 0..1.
    pub(super) fn loss(self) -> f64 {
        0.02 + 0.5 * (1.0 - self.sensitivity())
    }

    /// Returns the share of marks that is no signal yet, 0..1. picoquic c4_ecn_threshold.
    pub(super) fn marks(self) -> f64 {
        (192.0 - 96.0 * self.sensitivity()) / 1024.0
    }
}

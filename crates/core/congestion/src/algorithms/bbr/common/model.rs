//! The path model of versions 2 and 3: round trips, bandwidth, minimum RTT, ACK aggregation, and
//! the bounds.

use super::aggregation::{Aggregation, Arrival};
use super::filters::{MinRtt, WindowedMax};
use super::newly_acked;
use super::rounds::Rounds;
use super::signals::Signals;
use crate::{Ack, RateSample};
use units::Rate;

/// Value of a bound that is not set.
pub(crate) const INFINITE: u64 = u64::MAX;

/// Bounds derived from losses. Kept in one struct, because a spurious loss restores all of them.
#[derive(Clone, Debug)]
pub(crate) struct Bounds {
    /// Short-term bound from the losses of this probing cycle, in bits per second.
    pub(crate) bw_lo: u64,
    /// Short-term bound from the losses of this probing cycle, in bytes.
    pub(crate) inflight_lo: u64,
    /// Long-term bound from the last probe, in bytes.
    pub(crate) inflight_hi: u64,
}

impl Bounds {
    pub(crate) const NONE: Self = Self { bw_lo: INFINITE, inflight_lo: INFINITE, inflight_hi: INFINITE };

    /// Implements `ResetLowerBounds`.
    pub(crate) fn reset_lower(&mut self) {
        self.bw_lo = INFINITE;
        self.inflight_lo = INFINITE;
    }

    /// `AdaptLowerBoundsFromCongestion` after a round with a loss: lowers the bounds to what the
    /// round delivered.
    ///
    /// The reduction goes at most to `beta` times the bound. A bound that is not set starts at the
    /// estimate or the window.
    pub(crate) fn adapt_lower(&mut self, latest: &Signals, beta: f64, max_bw: Rate, cwnd: u64) {
        let kept = |bound: u64, start: u64, latest: u64| {
            let bound = if bound == INFINITE { start } else { bound };
            latest.max((beta * bound as f64) as u64)
        };
        self.bw_lo = kept(self.bw_lo, max_bw.0, latest.bw_latest);
        self.inflight_lo = kept(self.inflight_lo, cwnd, latest.inflight_latest);
    }

    /// `InflightWithHeadroom`: leaves room for arriving flows, at least `mds`. The result is at
    /// least `least`.
    pub(crate) fn inflight_with_headroom(&self, headroom: f64, mds: u64, least: u64) -> u64 {
        if self.inflight_hi == INFINITE {
            return INFINITE;
        }
        let headroom = ((self.inflight_hi as f64 * headroom) as u64).max(mds);
        self.inflight_hi.saturating_sub(headroom).max(least)
    }

    /// Takes the looser value of each bound.
    pub(crate) fn loosen(&mut self, other: &Self) {
        self.bw_lo = self.bw_lo.max(other.bw_lo);
        self.inflight_lo = self.inflight_lo.max(other.inflight_lo);
        self.inflight_hi = self.inflight_hi.max(other.inflight_hi);
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Model {
    pub(crate) rounds: Rounds,
    max_bw_filter: WindowedMax,
    /// Clock of `max_bw_filter`: ProbeBW cycles.
    pub(crate) cycle_count: u64,
    /// Bandwidth for pacing: `min(max_bw, bw_lo)`.
    pub(crate) bw: Rate,
    pub(crate) min_rtt: MinRtt,
    pub(crate) aggregation: Aggregation,
    pub(crate) bounds: Bounds,
}

impl Model {
    /// Creates a model with filters over a number of ProbeBW cycles and a number of rounds.
    pub(crate) fn new(max_bw_filter_len: u64, extra_acked_filter_len: u64) -> Self {
        Self {
            rounds: Rounds::default(),
            max_bw_filter: WindowedMax::new(max_bw_filter_len),
            cycle_count: 0,
            bw: Rate(0),
            min_rtt: MinRtt::new(),
            aggregation: Aggregation::new(extra_acked_filter_len),
            bounds: Bounds::NONE,
        }
    }

    pub(crate) fn max_bw(&self) -> Rate {
        Rate(self.max_bw_filter.max())
    }

    /// `UpdateMaxBw`. An application-limited sample reflects the application, not the path. It
    /// counts only if it is a new maximum.
    pub(crate) fn update_max_bw(&mut self, rs: &RateSample) {
        if let Some(rate) = rs.delivery_rate.filter(|&r| r >= self.max_bw() || !rs.app_limited) {
            self.max_bw_filter.update(self.cycle_count, rate.0);
        }
    }

    /// Implements `UpdateACKAggregation`.
    pub(crate) fn update_ack_aggregation(&mut self, ack: &Ack, cwnd: u64) {
        let (now, acked, bw, tick) = (ack.now, newly_acked(ack), self.bw, self.rounds.count);
        self.aggregation.update(&Arrival { now, acked, bw, cwnd, tick });
    }

    /// Implements `BoundBWForModel`.
    pub(crate) fn bound_bw(&mut self) {
        self.bw = Rate(self.max_bw().0.min(self.bounds.bw_lo));
    }
}

#[cfg(test)]
mod tests {
    use super::super::rounds::NO_SAMPLE;
    use super::*;

    fn model() -> Model {
        Model::new(2, 10)
    }

    fn rate(mbit: u64, app_limited: bool) -> RateSample {
        RateSample { delivery_rate: Some(Rate(mbit * 1_000_000)), app_limited, ..NO_SAMPLE }
    }

    #[test]
    fn application_limited_samples_never_lower_the_filter() {
        let mut m = model();
        for (mbit, app_limited, expected) in [(10, false, 10), (4, true, 10), (12, true, 12), (11, true, 12)]
        {
            m.update_max_bw(&rate(mbit, app_limited));
            assert_eq!(m.max_bw(), Rate(expected * 1_000_000));
        }
        m.cycle_count += 5;
        m.update_max_bw(&rate(4, true));
        assert_eq!(m.max_bw(), Rate(12_000_000), "nor does time alone");
    }

    /// Maximum of the last two cycles: a lower rate takes effect after the second advance.
    #[test]
    fn bandwidth_is_forgotten_after_two_cycles() {
        let mut m = model();
        m.update_max_bw(&rate(10, false));
        m.cycle_count += 1;
        m.update_max_bw(&rate(1, false));
        assert_eq!(m.max_bw(), Rate(10_000_000));
        m.cycle_count += 1;
        m.update_max_bw(&rate(1, false));
        assert_eq!(m.max_bw(), Rate(1_000_000));
    }

    #[test]
    fn bandwidth_is_bounded_by_recent_loss() {
        let mut m = model();
        m.update_max_bw(&rate(10, false));
        m.bounds.bw_lo = 7_000_000;
        m.bound_bw();
        assert_eq!(m.bw, Rate(7_000_000));
        m.bounds.reset_lower();
        m.bound_bw();
        assert_eq!(m.bw, Rate(10_000_000));
    }
}

//! Rates that each hold for a while, and repeat.

use units::{Rate, Time};

use crate::segment::Segment;

/// Rates over one period.
#[derive(Debug, PartialEq)]
pub(crate) struct Rates {
    /// Start in ns and rate in bit/s, in order of time. The first starts at 0.
    steps: Vec<(u64, u64)>,
    /// Period in ns, above the last start.
    period: u64,
}

impl Rates {
    /// Creates rates from their starts, in order from 0, and the period, above the last start.
    pub(super) fn new(steps: Vec<(u64, u64)>, period: u64) -> Self {
        Self { steps, period }
    }

    pub(super) fn constant(Rate(rate): Rate) -> Self {
        Self { steps: vec![(0, rate)], period: u64::MAX }
    }

    /// Returns the period in ns.
    pub(super) fn period(&self) -> u64 {
        self.period
    }

    pub(super) fn mean(&self) -> Rate {
        let ends = self.steps.iter().skip(1).map(|step| step.0).chain([self.period]);
        let work = self
            .steps
            .iter()
            .zip(ends)
            .map(|(&(start, rate), end)| u128::from(rate) * u128::from(end - start));
        Rate((work.sum::<u128>() / u128::from(self.period)) as u64)
    }

    /// Returns the segment that contains this time. `phase` is the position at time zero.
    pub(crate) fn segment(&self, at: Time, phase: u64) -> Segment {
        let position = at.0.saturating_add(phase);
        let within = position % self.period;
        let next = self.steps.partition_point(|step| step.0 <= within).max(1);
        let end = self.steps.get(next).map_or(self.period, |step| step.0);
        let until = position.checked_add(end - within).map_or(Time::NEVER, |end| Time(end - phase));
        Segment::constant(Rate(self.steps[next - 1].1), until)
    }
}

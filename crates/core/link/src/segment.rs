//! Interval of time with a constant rate.

use units::{Duration, Rate, Time};

/// Interval of time with a constant rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Segment {
    /// Rate in bit/s.
    pub(crate) rate: u64,
    /// Start of the next segment, or [`Time::NEVER`] for the last one.
    pub(crate) until: Time,
    /// One-way delay in addition to that of the link.
    pub(crate) extra_delay: Duration,
    /// Time until which arriving packets are lost.
    pub(crate) outage_until: Time,
}

impl Segment {
    pub(crate) fn constant(Rate(rate): Rate, until: Time) -> Self {
        Self { rate, until, extra_delay: Duration::ZERO, outage_until: Time::ZERO }
    }

    /// Returns the work that can be done between two times of this segment.
    #[inline]
    pub(crate) fn work(&self, from: Time, to: Time) -> u128 {
        u128::from(self.rate) * u128::from((to - from).0)
    }
}

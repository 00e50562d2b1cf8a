//! A stretch of time with one rate.

use units::{Duration, Rate, Time};

/// A stretch of time with one rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Segment {
    /// bit/s.
    pub(crate) rate: u64,
    /// Where the next one begins; [`Time::NEVER`]: this is the last.
    pub(crate) until: Time,
    /// One-way delay on top of the link's.
    pub(crate) extra_delay: Duration,
    /// Up to when arriving packets are lost.
    pub(crate) outage_until: Time,
}

impl Segment {
    pub(crate) fn of_rate(Rate(rate): Rate, until: Time) -> Self {
        Self { rate, until, extra_delay: Duration::ZERO, outage_until: Time::ZERO }
    }

    /// Work that can be done between two times of this segment.
    #[inline]
    pub(crate) fn work(&self, from: Time, to: Time) -> u128 {
        u128::from(self.rate) * u128::from((to - from).0)
    }
}

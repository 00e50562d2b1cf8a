//! A mean of times, exact up to a total of 104 days (2^53 ns), then to ten digits.

use units::Duration;

/// Number of durations, and their sum.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Mean {
    count: u64,
    /// Sum in nanoseconds.
    sum: f64,
}

impl Mean {
    /// Adds a duration.
    #[inline]
    pub fn add(&mut self, time: Duration) {
        self.count += 1;
        self.sum += time.0 as f64;
    }

    /// Returns the mean in milliseconds; NaN if there are no durations.
    pub fn ms(&self) -> f64 {
        self.sum * 1e-6 / self.count as f64
    }
}

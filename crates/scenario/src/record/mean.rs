//! A mean of times: exact up to 104 days of them together (2^53 ns), then to ten digits.

use units::Duration;

/// How many times there were, and their sum.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Mean {
    count: u64,
    /// Nanoseconds.
    sum: f64,
}

impl Mean {
    /// One more.
    #[inline]
    pub fn add(&mut self, time: Duration) {
        self.count += 1;
        self.sum += time.0 as f64;
    }

    /// Milliseconds; NaN of none.
    pub fn ms(&self) -> f64 {
        self.sum * 1e-6 / self.count as f64
    }
}

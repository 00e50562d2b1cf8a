//! A mean of times, exact.

use congestion::Duration;

/// How many times there were, and their sum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mean {
    count: u64,
    sum: u128,
}

impl Mean {
    /// One more.
    #[inline]
    pub fn add(&mut self, time: Duration) {
        self.count += 1;
        self.sum += u128::from(time.0);
    }

    /// Milliseconds; NaN of none.
    pub fn ms(&self) -> f64 {
        self.sum as f64 * 1e-6 / self.count as f64
    }
}

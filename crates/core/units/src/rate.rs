//! Data rates in bits per second.

use crate::Duration;

/// A data rate in bits per second. In files: `"10 Mbit/s"`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rate(pub u64);

impl Rate {
    /// Converts from bytes per second. Negative values and NaN become zero; too large values
    /// saturate.
    #[inline]
    pub fn from_bytes_per_sec(bytes: f64) -> Self {
        Self((bytes * 8.0 + 0.5) as u64)
    }
    /// Returns the rate at which `bytes` were sent in `span`. Returns zero if `span` is zero.
    #[inline]
    pub fn from_delivery(bytes: u64, span: Duration) -> Self {
        if span == Duration::ZERO {
            Self(0)
        } else {
            Self::from_bytes_per_sec(bytes as f64 / span.as_secs_f64())
        }
    }
    /// Returns the rate in bytes per second.
    #[inline]
    pub fn bytes_per_sec(self) -> f64 {
        self.0 as f64 / 8.0
    }
    /// Returns the rate in megabits (10^6 bits) per second.
    #[inline]
    pub fn mbit_s(self) -> f64 {
        self.0 as f64 * 1e-6
    }
    /// Returns the time that `bytes` take at this rate, rounded to the nanosecond. Returns
    /// [`Duration::MAX`] if the rate is zero.
    #[inline]
    pub fn time_for(self, bytes: u64) -> Duration {
        if self.0 == 0 {
            return Duration::MAX;
        }
        match bytes.checked_mul(8_000_000_000) {
            Some(n) => Duration(n.saturating_add(self.0 / 2) / self.0),
            None => Duration(
                u64::try_from(u128::from(bytes) * 8_000_000_000 / u128::from(self.0)).unwrap_or(u64::MAX),
            ),
        }
    }
    /// Returns the number of bytes sent in `span` at this rate, rounded down.
    #[inline]
    pub fn bytes_in(self, span: Duration) -> u64 {
        u64::try_from(u128::from(self.0) * u128::from(span.0) / 8_000_000_000).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transmission_time() {
        assert_eq!(Rate(10_000_000).time_for(1500), Duration::from_micros(1200));
        assert_eq!(Rate(0).time_for(1), Duration::MAX);
        assert_eq!(Rate(10_000_000).bytes_in(Duration::from_millis(50)), 62_500);
    }
}

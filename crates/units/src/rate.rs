//! Bits per second.

use crate::Duration;

/// Bits per second. In files: `"10 Mbit/s"`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rate(pub u64);

impl Rate {
    /// From bytes per second; NaN and negative become zero, too large saturates.
    #[inline]
    pub fn from_bytes_per_sec(bytes: f64) -> Self {
        Self((bytes * 8.0 + 0.5) as u64)
    }
    /// From bytes sent in a span; zero for an empty span.
    #[inline]
    pub fn from_delivery(bytes: u64, span: Duration) -> Self {
        if span == Duration::ZERO {
            Self(0)
        } else {
            Self::from_bytes_per_sec(bytes as f64 / span.as_secs_f64())
        }
    }
    /// Bytes per second.
    #[inline]
    pub fn bytes_per_sec(self) -> f64 {
        self.0 as f64 / 8.0
    }
    /// Megabits (10^6 bits) per second.
    #[inline]
    pub fn mbit_s(self) -> f64 {
        self.0 as f64 * 1e-6
    }
    /// How long these bytes take at this rate, rounded to the nanosecond; [`Duration::MAX`] at rate zero.
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
    /// Bytes that pass in a span at this rate, rounded down.
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

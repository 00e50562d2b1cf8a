//! Points in time and durations, in nanoseconds.
//!
//! This crate contains no clock: the caller passes the current time.

use core::fmt;
use core::ops::{Add, AddAssign, Sub};

/// A point in time: nanoseconds since the start of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(pub u64);

/// A length of time in nanoseconds, never negative. In files: a string with a unit, `"25 ms"`.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Duration(pub u64);

impl Time {
    /// The start of the run.
    pub const ZERO: Self = Self(0);
    /// A time later than every event.
    pub const NEVER: Self = Self(u64::MAX);

    /// Returns the time `ms` milliseconds after the start of the run.
    #[inline]
    pub const fn from_millis(ms: u64) -> Self {
        Self(ms * 1_000_000)
    }

    /// Returns the seconds since the start of the run.
    #[inline]
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 * 1e-9
    }

    /// Returns the time that passed since `earlier`, or zero if `earlier` is later.
    #[inline]
    pub const fn since(self, earlier: Self) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }
}

impl Duration {
    /// A duration of zero.
    pub const ZERO: Self = Self(0);
    /// A duration longer than any other. Minima use it as "no sample yet".
    pub const MAX: Self = Self(u64::MAX);

    /// Creates a duration from nanoseconds.
    #[inline]
    pub const fn from_nanos(ns: u64) -> Self {
        Self(ns)
    }
    /// Creates a duration from microseconds.
    #[inline]
    pub const fn from_micros(us: u64) -> Self {
        Self(us * 1_000)
    }
    /// Creates a duration from milliseconds.
    #[inline]
    pub const fn from_millis(ms: u64) -> Self {
        Self(ms * 1_000_000)
    }
    /// Creates a duration from seconds.
    #[inline]
    pub const fn from_secs(s: u64) -> Self {
        Self(s * 1_000_000_000)
    }
    /// Creates a duration from seconds, rounded to the nanosecond. Negative values and NaN become
    /// zero.
    #[inline]
    pub fn from_secs_f64(s: f64) -> Self {
        Self((s * 1e9 + 0.5) as u64)
    }
    /// Returns the duration in seconds.
    #[inline]
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 * 1e-9
    }
    /// Returns the duration in seconds, or infinity for [`Duration::MAX`], which stands for "not
    /// measured yet".
    #[inline]
    pub fn as_secs_or_infinite(self) -> f64 {
        if self == Self::MAX { f64::INFINITY } else { self.as_secs_f64() }
    }
    /// Returns the duration in milliseconds.
    #[inline]
    pub fn as_millis_f64(self) -> f64 {
        self.0 as f64 * 1e-6
    }
    /// Multiplies by a factor and rounds to the nanosecond.
    #[inline]
    pub fn mul_f64(self, factor: f64) -> Self {
        Self((self.0 as f64 * factor + 0.5) as u64)
    }
    /// Subtracts `other`. Returns zero if `other` is longer.
    #[inline]
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Add<Duration> for Time {
    type Output = Self;
    #[inline]
    fn add(self, d: Duration) -> Self {
        Self(self.0.saturating_add(d.0))
    }
}

impl AddAssign<Duration> for Time {
    #[inline]
    fn add_assign(&mut self, d: Duration) {
        *self = *self + d;
    }
}

impl Sub for Time {
    type Output = Duration;
    /// Returns the time between the two, like [`Time::since`]: zero, without a panic, if `earlier`
    /// is later.
    #[inline]
    fn sub(self, earlier: Self) -> Duration {
        self.since(earlier)
    }
}

impl Sub<Duration> for Time {
    type Output = Self;
    #[inline]
    fn sub(self, d: Duration) -> Self {
        Self(self.0.saturating_sub(d.0))
    }
}

impl Add for Duration {
    type Output = Self;
    #[inline]
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl Sub for Duration {
    type Output = Self;
    #[inline]
    fn sub(self, other: Self) -> Self {
        self.saturating_sub(other)
    }
}

impl core::ops::Mul<u64> for Duration {
    type Output = Self;
    #[inline]
    fn mul(self, n: u64) -> Self {
        Self(self.0.saturating_mul(n))
    }
}

impl core::ops::Div<u64> for Duration {
    type Output = Self;
    #[inline]
    fn div(self, n: u64) -> Self {
        Self(self.0 / n)
    }
}

/// Durations beyond 584 years saturate.
impl From<core::time::Duration> for Duration {
    #[inline]
    fn from(span: core::time::Duration) -> Self {
        Self(u64::try_from(span.as_nanos()).unwrap_or(u64::MAX))
    }
}

impl From<Duration> for core::time::Duration {
    #[inline]
    fn from(span: Duration) -> Self {
        Self::from_nanos(span.0)
    }
}

impl fmt::Debug for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_never_wrap() {
        assert_eq!(Time(5) - Time(9), Duration::ZERO);
        assert_eq!(Time::NEVER + Duration::from_secs(1), Time::NEVER);
        assert_eq!(Duration::from_millis(20).mul_f64(1.125), Duration::from_micros(22_500));
        assert_eq!(Duration::from_secs_f64(-1.0), Duration::ZERO);
        assert_eq!(Duration::MAX.as_secs_or_infinite(), f64::INFINITY);
        assert_eq!(Duration::from_millis(1500).as_secs_or_infinite(), 1.5);
    }

    #[test]
    fn to_and_from_the_standard_library() {
        let span = core::time::Duration::new(1, 5);
        assert_eq!(Duration::from(span), Duration(1_000_000_005));
        assert_eq!(core::time::Duration::from(Duration(1_000_000_005)), span);
        assert_eq!(Duration::from(core::time::Duration::MAX), Duration::MAX);
    }
}

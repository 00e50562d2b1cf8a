//! The clock of a host: the time of the run with an unknown offset and drift.

use serde::{Deserialize, Serialize};
use units::{Duration, Time};

/// Difference between a host's clock and the time of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "clock"))]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Clock {
    /// Reading at the start of the run, in seconds. May be negative.
    pub offset_seconds: f64,
    /// Drift in parts per million. Positive: the clock runs fast.
    pub drift_ppm: f64,
    /// Resolution of the clock; readings are rounded down to it. 0 means nanoseconds. The sender's
    /// clock has neither offset nor drift, but the same resolution.
    pub granularity: Duration,
}

impl Clock {
    /// Returns the reading of the clock, in nanoseconds.
    pub fn read(&self, now: Time) -> i64 {
        let mut reading = now.0 as i64;
        if self.offset_seconds != 0.0 || self.drift_ppm != 0.0 {
            reading += (self.offset_seconds * 1e9 + self.drift_ppm * 1e-6 * now.0 as f64) as i64;
        }
        floor(reading, self.granularity)
    }
}

/// Rounds a reading down to whole units. Returns it unchanged if the unit is 0.
pub(crate) fn floor(reading: i64, unit: Duration) -> i64 {
    match i64::try_from(unit.0) {
        Ok(unit) if unit > 1 => reading.div_euclid(unit).saturating_mul(unit),
        _ => reading,
    }
}

/// Rounds a reading down to whole units of 2^exponent microseconds. Every packet that arrives is
/// stamped, so there is no division.
pub(crate) fn floor_to_power(reading: i64, exponent: u32) -> i64 {
    let units = reading.div_euclid(1000) >> exponent;
    (units << exponent).saturating_mul(1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 50 ppm are 3 ms per minute.
    #[test]
    fn drifts() {
        let clock = Clock { offset_seconds: -5.0, drift_ppm: 50.0, ..Clock::default() };
        assert_eq!(clock.read(Time::ZERO), -5_000_000_000);
        assert_eq!(clock.read(Time::from_millis(60_000)), 55_003_000_000);
    }

    /// Equals division, also below zero.
    #[test]
    fn powers() {
        for reading in [0, 1, 999, 1000, 123_456_789_012, -1, -1000, -1001, -987_654_321_987] {
            for exponent in [0, 1, 3, 10, 20] {
                let unit = Duration::from_micros(1 << exponent);
                assert_eq!(floor_to_power(reading, exponent), floor(reading, unit), "{reading} {exponent}");
            }
        }
    }

    /// The reading is rounded, not the time: at an offset of -1000.25 ms the clock ticks 0.25 ms
    /// after each millisecond.
    #[test]
    fn ticks() {
        let clock =
            Clock { offset_seconds: -1.00025, granularity: Duration::from_millis(1), ..Clock::default() };
        assert_eq!(clock.read(Time(240_000)), -1_001_000_000);
        assert_eq!(clock.read(Time(260_000)), -1_000_000_000);
        assert_eq!(clock.read(Time(1_240_000)), -1_000_000_000);
    }
}

//! A host's own clock: the run's time seen through an unknown offset and a drift.

use congestion::Time;
use serde::{Deserialize, Serialize};

/// How a host's clock differs from the run's time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Clock {
    /// Reading at the start of the run, seconds. Any sign.
    pub offset_seconds: f64,
    /// Parts per million by which the clock runs fast (negative: slow).
    pub drift_ppm: f64,
}

impl Clock {
    /// What the clock shows, nanoseconds.
    pub fn read(&self, now: Time) -> i64 {
        let error = self.offset_seconds * 1e9 + self.drift_ppm * 1e-6 * now.0 as f64;
        now.0 as i64 + error as i64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 50 ppm are 3 ms per minute.
    #[test]
    fn drifts() {
        let clock = Clock { offset_seconds: -5.0, drift_ppm: 50.0 };
        assert_eq!(clock.read(Time::ZERO), -5_000_000_000);
        assert_eq!(clock.read(Time::from_millis(60_000)), 55_003_000_000);
    }
}

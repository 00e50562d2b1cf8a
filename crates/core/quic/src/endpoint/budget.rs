//! Rate limit for answers to unknown senders.

use units::Time;

const SECOND: u64 = 1_000_000_000;

/// A token bucket. It allows a number of answers per second, and bursts of the same size.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    per_second: u64,
    /// Available answers, in units of 10^-9. The refill per nanosecond is then a whole number.
    level: u64,
    at: Time,
}

impl Budget {
    /// Creates a full budget.
    pub const fn new(per_second: u64) -> Self {
        Self { per_second, level: per_second.saturating_mul(SECOND), at: Time::ZERO }
    }

    /// Takes one answer. Returns `false` if none is available.
    pub fn take(&mut self, now: Time) -> bool {
        let new = (now - self.at).0.saturating_mul(self.per_second);
        self.level = self.level.saturating_add(new).min(self.per_second.saturating_mul(SECOND));
        self.at = self.at.max(now);
        let enough = self.level >= SECOND;
        if enough {
            self.level -= SECOND;
        }
        enough
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn so_many_in_a_second() {
        let mut budget = Budget::new(10);
        let mut in_the_second = |second: u64| {
            let times = (0..10_000_u64).map(|n| Time(second * SECOND + n * (SECOND / 10_000)));
            times.filter(|at| budget.take(*at)).count()
        };
        // The saved answers, and those of the first second.
        assert_eq!((in_the_second(0), in_the_second(1), in_the_second(2)), (19, 10, 10));
        assert_eq!(in_the_second(1000), 19);
        assert_eq!(in_the_second(5), 0);
        assert!(!Budget::new(0).take(Time(SECOND)));
    }
}

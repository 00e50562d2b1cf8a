//! Values of a link that change at known times: `[["0 s", "20 ms"], ["30 s", "80 ms"]]`.
//!
//! The first value also holds before its time, so it is kept as the plain value. [`Steps`] holds
//! the later ones. The rate has its own steps (`rate.rs`), since it needs them as an integral.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use units::{Duration, Time};

/// Later values, each of which holds from its time on, in order of time. An empty list means that
/// the value never changes.
#[derive(Clone, Debug, PartialEq)]
pub struct Steps<T>(pub Vec<(Time, T)>);

impl<T> Default for Steps<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: Copy> Steps<T> {
    /// Reports whether the value never changes.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns all values, starting with `first`.
    pub fn values(&self, first: T) -> impl Iterator<Item = T> {
        std::iter::once(first).chain(self.0.iter().map(|step| step.1))
    }

    /// Checks the times. `key` is the name of the value.
    pub(crate) fn check(&self, key: &str) -> Result<(), String> {
        if self.0.is_sorted_by(|a, b| a.0 < b.0) {
            return Ok(());
        }
        Err(format!("the times of the steps of `{key}` must increase"))
    }

    /// Maps each value, at the same times.
    pub fn map<U>(&self, each: impl Fn(T) -> U) -> Steps<U> {
        Steps(self.0.iter().map(|&(at, value)| (at, each(value))).collect())
    }
}

/// Serialises to a list of times and values, as in files.
impl<T: Serialize> Serialize for Steps<T> {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_seq(self.0.iter().map(|(at, value)| (*at - Time::ZERO, value)))
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Steps<T> {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let steps = Vec::<(Duration, T)>::deserialize(d)?;
        Ok(Self(steps.into_iter().map(|(at, value)| (Time::ZERO + at, value)).collect()))
    }
}

/// Current value at a time that never goes back.
#[derive(Debug)]
pub(crate) struct Stepper<T> {
    value: T,
    /// Steps to come, the next one last.
    later: Vec<(Time, T)>,
}

impl<T: Copy> Stepper<T> {
    pub(crate) fn new(first: T, steps: Steps<T>) -> Self {
        let mut later = steps.0;
        later.sort_by_key(|step| std::cmp::Reverse(step.0));
        Self { value: first, later }
    }

    /// Returns the value at `now`. A step holds from its exact time on.
    #[inline]
    pub(crate) fn at(&mut self, now: Time) -> T {
        while let Some((_, value)) = self.later.pop_if(|step| step.0 <= now) {
            self.value = value;
        }
        self.value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(list: &[(u64, u32)]) -> Steps<u32> {
        Steps(list.iter().map(|&(ms, value)| (Time::from_millis(ms), value)).collect())
    }

    #[test]
    fn each_holds_from_its_time_on() {
        let mut stepper = Stepper::new(1, steps(&[(10, 2), (20, 3), (30, 4)]));
        let before = Time::from_millis(10) - Duration(1);
        assert_eq!([Time::ZERO, before, Time::from_millis(10)].map(|now| stepper.at(now)), [1, 1, 2]);
        assert_eq!(stepper.at(Time::from_millis(30)), 4, "one may be skipped");
        assert_eq!(stepper.at(Time::NEVER), 4);
        assert_eq!(Stepper::new(1, Steps::default()).at(Time::NEVER), 1);
    }

    #[test]
    fn checks_in_words() {
        assert_eq!(steps(&[(1, 5), (2, 5)]).check("delay"), Ok(()));
        for wrong in [[(1, 5), (1, 6)], [(2, 5), (1, 6)]] {
            assert_eq!(
                steps(&wrong).check("delay").unwrap_err(),
                "the times of the steps of `delay` must increase"
            );
        }
    }
}

//! Values of a link that change at times known beforehand: `[["0 s", "20 ms"], ["30 s", "80 ms"]]`.
//!
//! The first of them also holds before its time, so that it stands where a fixed value would; what is kept here are the
//! others. The rate has steps of its own (`rate.rs`), since it needs them as an integral.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use units::{Duration, Time};

/// What a value becomes later: each from its time on, times rising. Empty: it never changes.
#[derive(Clone, Debug, PartialEq)]
pub struct Steps<T>(pub Vec<(Time, T)>);

impl<T> Default for Steps<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: Copy> Steps<T> {
    /// Whether the value never changes.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All values, the `first` with them.
    pub fn values(&self, first: T) -> impl Iterator<Item = T> {
        std::iter::once(first).chain(self.0.iter().map(|step| step.1))
    }

    /// Says in words what is wrong with the times; `key` is the value's name.
    pub(crate) fn check(&self, key: &str) -> Result<(), String> {
        if self.0.is_sorted_by(|a, b| a.0 < b.0) {
            return Ok(());
        }
        Err(format!("the times of the steps of `{key}` do not rise"))
    }

    /// The same steps of other values.
    pub fn map<U>(&self, each: impl Fn(T) -> U) -> Steps<U> {
        Steps(self.0.iter().map(|&(at, value)| (at, each(value))).collect())
    }
}

/// As in files: a list of times and values.
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

/// The value at a time that never goes back.
#[derive(Debug)]
pub(crate) struct Stepper<T> {
    value: T,
    /// Those to come, the next one last.
    later: Vec<(Time, T)>,
}

impl<T: Copy> Stepper<T> {
    pub(crate) fn new(first: T, steps: Steps<T>) -> Self {
        let mut later = steps.0;
        later.sort_by_key(|step| std::cmp::Reverse(step.0));
        Self { value: first, later }
    }

    /// A step holds from its very time on.
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
                "the times of the steps of `delay` do not rise"
            );
        }
    }
}

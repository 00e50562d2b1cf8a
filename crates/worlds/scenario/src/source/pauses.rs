//! Intervals in which an application offers no data.

use units::Time;

/// Position in a list of pauses.
#[derive(Debug)]
pub(super) struct Pauses {
    /// Start and end of each pause, in time of the run, ascending.
    spans: Vec<(Time, Time)>,
    /// Number of pauses that are over.
    over: usize,
    on: bool,
}

impl Pauses {
    pub(super) fn new(spans: &[(Time, Time)]) -> Self {
        Self { spans: spans.to_vec(), over: 0, on: false }
    }

    /// Reports whether the application pauses.
    pub(super) fn is_on(&self) -> bool {
        self.on
    }

    /// Returns the time of the next change.
    pub(super) fn next(&self) -> Time {
        self.spans.get(self.over).map_or(Time::NEVER, |span| if self.on { span.1 } else { span.0 })
    }

    pub(super) fn on_time(&mut self, now: Time) {
        while self.next() <= now {
            self.over += usize::from(self.on);
            self.on = !self.on;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn on_and_off() {
        let mut pauses = Pauses::new(&[(Time(10), Time(20)), (Time(20), Time(30))]);
        for (now, on, next) in
            [(0, false, 10), (10, true, 20), (19, true, 20), (20, true, 30), (31, false, 0)]
        {
            pauses.on_time(Time(now));
            assert_eq!(pauses.is_on(), on, "{now}");
            assert_eq!(pauses.next(), if next == 0 { Time::NEVER } else { Time(next) });
        }
    }
}

//! A periodic update that needs no event of its own: it catches up at the next access. Between two
//! packets a queue does not change, so its state at each tick is still known.

use units::{Duration, Time};

/// Ticks at `period`, `2 period`, ...
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ticker {
    next: Time,
    period: Duration,
}

/// Largest number of ticks to catch up with; older ones are skipped. A controller has long settled
/// by then.
const MAX_TICKS: u64 = 1 << 16;

impl Ticker {
    pub(crate) fn new(period: Duration) -> Self {
        let period = period.max(Duration(1));
        Self { next: Time::ZERO + period, period }
    }

    /// Returns the next tick if it is due. Call until `None`.
    pub(crate) fn due(&mut self, now: Time) -> Option<Time> {
        if now < self.next {
            return None;
        }
        let behind = (now - self.next).0 / self.period.0;
        let at = self.next + self.period * behind.saturating_sub(MAX_TICKS);
        self.next = at + self.period;
        Some(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_tick_once() {
        let mut t = Ticker::new(Duration(10));
        assert_eq!(t.due(Time(9)), None);
        assert_eq!(
            [t.due(Time(25)), t.due(Time(25)), t.due(Time(25))],
            [Some(Time(10)), Some(Time(20)), None]
        );
        assert_eq!((t.due(Time(30)), t.due(Time(30))), (Some(Time(30)), None));
    }

    #[test]
    fn catches_up_with_any_pause() {
        let mut t = Ticker::new(Duration(1));
        let mut ticks = 0;
        while t.due(Time(u64::MAX - 1)).is_some() {
            ticks += 1;
        }
        assert_eq!(ticks, MAX_TICKS + 1);
    }
}

//! A periodic update that is caught up with at the next access, so that it needs no event of its own: between two
//! packets a queue does not change, and what it was at each tick is still known.

use units::{Duration, Time};

/// The ticks at `period`, `2 period`, ...
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ticker {
    next: Time,
    period: Duration,
}

/// Ticks caught up with at most; older ones are left out. A controller has long come to rest by then.
const MOST: u64 = 1 << 16;

impl Ticker {
    pub(crate) fn new(period: Duration) -> Self {
        let period = period.max(Duration(1));
        Self { next: Time::ZERO + period, period }
    }

    /// The next tick, if it is due by now. Call until `None`.
    pub(crate) fn due(&mut self, now: Time) -> Option<Time> {
        if now < self.next {
            return None;
        }
        let behind = (now - self.next).0 / self.period.0;
        let at = self.next + self.period * behind.saturating_sub(MOST);
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
        assert_eq!(ticks, MOST + 1);
    }
}

//! The monotonic clock, and times of arrival.
//!
//! ```text
//! arrived = now - (wall - stamp)    wall: the wall clock, read together with now; stamp: the kernel's, of the wall clock at arrival
//! ```
//!
//! bounded by the time of the last look at the socket that found it empty, and by now. So an offset of the wall clock cancels out, and a step of it between stamp and
//! reading, whatever its size, moves a datagram by no more than the time between two looks.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use units::{Duration, Time};

/// Where a wall clock is read, as time since 1970.
type Wall = fn() -> std::time::Duration;

/// Time since this clock was made, as the kernel's monotonic clock has it.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    origin: Instant,
    wall: Wall,
}

impl Default for Clock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock {
    /// It begins now.
    pub fn new() -> Self {
        Self::since(Instant::now())
    }

    /// It begins, or has begun, then; before that its time stands at zero.
    pub fn since(origin: Instant) -> Self {
        Self { origin, wall: system_wall }
    }

    /// The time.
    pub fn now(&self) -> Time {
        let elapsed = Instant::now().saturating_duration_since(self.origin);
        Time(nanos(elapsed))
    }

    /// A time of it as the system's.
    pub fn instant(&self, time: Time) -> Instant {
        let after = std::time::Duration::from_nanos(time.0);
        // Some centuries: as good as never.
        self.origin.checked_add(after).unwrap_or(self.origin)
    }

    /// Both clocks at once, to ask [`Reading::arrived`] of what was read just before.
    pub(crate) fn read(&self) -> Reading {
        Reading { now: self.now(), wall: (self.wall)() }
    }
}

fn system_wall() -> std::time::Duration {
    // Before 1970: no difference to stamps of that clock makes sense.
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

fn nanos(span: std::time::Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

/// Both clocks at one time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reading {
    pub(crate) now: Time,
    wall: std::time::Duration,
}

impl Reading {
    /// When a datagram with this stamp arrived, which was not there yet at `looked`. Without a stamp: now.
    pub(crate) fn arrived(&self, stamp: Option<std::time::Duration>, looked: Time) -> Time {
        let waited = stamp.map_or(0, |stamp| nanos(self.wall.saturating_sub(stamp)));
        let longest = self.now.since(looked.min(self.now));
        Time(self.now.0 - waited.min(longest.0))
    }
}

/// What of a time lies ahead, for a call that waits: none if it has come.
pub(crate) fn ahead(clock: &Clock, time: Time) -> Duration {
    time.since(clock.now().min(time))
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(ms: u64) -> std::time::Duration {
        std::time::Duration::from_millis(ms)
    }

    fn reading(now: u64, wall: u64) -> Reading {
        Reading { now: Time::from_millis(now), wall: ms(wall) }
    }

    /// The wall clock is an hour ahead, an hour behind, or right: the same.
    #[test]
    fn an_offset_of_the_wall_clock_cancels_out() {
        for wall in [3_700_000, 100_000, 7_300_000] {
            let arrived = reading(1000, wall).arrived(Some(ms(wall - 3)), Time::from_millis(990));
            assert_eq!(arrived, Time::from_millis(997));
        }
    }

    /// A step of a second forwards or backwards between stamp and reading stays within the time since the last look.
    #[test]
    fn a_step_of_the_wall_clock_moves_little() {
        let looked = Time::from_millis(998);
        assert_eq!(reading(1000, 101_000).arrived(Some(ms(99_999)), looked), looked, "forwards");
        let back = reading(1000, 99_000).arrived(Some(ms(99_999)), looked);
        assert_eq!(back, Time::from_millis(1000), "backwards");
        // The next one has both of the new clock.
        let next = reading(1005, 99_005).arrived(Some(ms(99_004)), Time::from_millis(1000));
        assert_eq!(next, Time::from_millis(1004));
    }

    #[test]
    fn without_a_stamp_it_came_now() {
        assert_eq!(reading(5, 100).arrived(None, Time::ZERO), Time::from_millis(5));
        assert_eq!(reading(5, 100).arrived(Some(ms(99)), Time::from_millis(9)), Time::from_millis(5));
    }

    #[test]
    fn times_are_the_systems() {
        let clock = Clock::new();
        let later = clock.instant(Time::from_millis(3_600_000));
        assert!(later > Instant::now() && later < Instant::now() + ms(3_600_001));
        assert_eq!(Clock::since(later).now(), Time::ZERO, "it has not begun");
        assert_eq!(clock.instant(Time::NEVER).max(clock.origin), clock.instant(Time::NEVER));
    }
}

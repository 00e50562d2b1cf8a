//! The monotonic clock, and times of arrival.
//!
//! ```text
//! arrived = now - (wall - stamp)    wall: the wall clock, read together with now; stamp: the kernel's wall-clock time of arrival
//! ```
//!
//! An arrival is no earlier than the last time that the socket was found empty, and no later than
//! now. So an offset of the wall clock cancels out. A step of it between stamp and reading,
//! whatever its size, moves a datagram by no more than the time between two such looks.
//!
//! The two clocks cannot be read at the same instant. The wall clock is read between two readings
//! of the monotonic one, and the middle of these counts. A pause of the thread between them would
//! move every arrival of the batch, so that a wide pair is read again.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use units::{Duration, Time};

/// Reads a wall clock, as time since 1970.
pub(crate) type Wall = fn() -> std::time::Duration;

/// Two readings of the monotonic clock no further apart than this are close enough.
const CLOSE: Duration = Duration::from_micros(20);
/// Attempts to read both clocks so close together. The closest counts.
const READINGS: usize = 8;

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
    /// Creates a clock that starts now.
    pub fn new() -> Self {
        Self::since(Instant::now())
    }

    /// Creates a clock that starts at `origin`. Until then it reads zero.
    pub fn since(origin: Instant) -> Self {
        Self { origin, wall: system_wall }
    }

    /// Creates a clock with another wall clock.
    #[cfg(test)]
    pub(crate) fn with_wall(wall: Wall) -> Self {
        Self { origin: Instant::now(), wall }
    }

    /// Returns the current time.
    pub fn now(&self) -> Time {
        let elapsed = Instant::now().saturating_duration_since(self.origin);
        Time(nanos(elapsed))
    }

    /// Converts a time of this clock to the system's.
    pub fn instant(&self, time: Time) -> Instant {
        let after = std::time::Duration::from_nanos(time.0);
        // Some centuries: as good as never.
        self.origin.checked_add(after).unwrap_or(self.origin)
    }

    /// Reads both clocks at once, for the arrivals of what was received just before.
    pub(crate) fn read(&self) -> Reading {
        read_both(|| self.now(), self.wall)
    }
}

/// Reads the wall clock between two readings of the monotonic clock, until these are close
/// together.
fn read_both(mut now: impl FnMut() -> Time, mut wall: impl FnMut() -> std::time::Duration) -> Reading {
    let mut attempt = || {
        let (before, wall) = (now(), wall());
        let apart = now().since(before);
        (apart, Reading { now: before + apart / 2, wall })
    };
    let (mut closest, mut reading) = attempt();
    for _ in 1..READINGS {
        if closest <= CLOSE {
            break;
        }
        let (apart, next) = attempt();
        if apart < closest {
            (closest, reading) = (apart, next);
        }
    }
    reading
}

fn system_wall() -> std::time::Duration {
    // Before 1970: no difference to stamps of that clock makes sense.
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

fn nanos(span: std::time::Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

/// Readings of both clocks at the same time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reading {
    pub(crate) now: Time,
    wall: std::time::Duration,
}

impl Reading {
    /// Returns when a datagram with this stamp arrived. It was not there yet at `looked`. Without a
    /// stamp it arrived now.
    pub(crate) fn arrived(&self, stamp: Option<std::time::Duration>, looked: Time) -> Time {
        let waited = stamp.map_or(0, |stamp| nanos(self.wall.saturating_sub(stamp)));
        let longest = self.now.since(looked.min(self.now));
        Time(self.now.0 - waited.min(longest.0))
    }
}

/// Returns how long it is until `time`; zero if it has passed.
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

    /// A step of a second forwards or backwards between stamp and reading stays within the time
    /// since the last look.
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

    /// The thread pauses once, before or after it reads the wall clock, for up to a second:
    /// arrivals stay where they are.
    #[test]
    fn a_pause_between_the_clocks_moves_nothing() {
        use std::cell::Cell;
        const OFFSET: u64 = 1_700_000_000_000_000_000;
        let read = |pauses: &dyn Fn(usize) -> [u64; 2]| {
            // Nanoseconds; each reading takes 50.
            let (time, calls) = (Cell::new(5_000_000_000), Cell::new(0));
            let pass = |span: u64| time.set(time.get() + span);
            let now = || {
                pass(50);
                Time(time.get())
            };
            let wall = || {
                let [before, after] = pauses(calls.get());
                calls.set(calls.get() + 1);
                pass(before + 50);
                let wall = std::time::Duration::from_nanos(OFFSET + time.get());
                pass(after);
                wall
            };
            let reading = read_both(now, wall);
            // Stamped 3 ms before the first reading.
            let stamp = std::time::Duration::from_nanos(OFFSET + 4_997_000_000);
            reading.arrived(Some(stamp), Time::ZERO).0.abs_diff(4_997_000_000)
        };
        assert!(read(&|_| [0, 0]) < 100);
        for pause in [100_000, 20_000_000, 1_000_000_000] {
            for pauses in [[pause, 0], [0, pause]] {
                assert!(read(&|call| if call == 0 { pauses } else { [0, 0] }) < 100, "{pauses:?}");
            }
        }
        // A machine that pauses each time: the shortest pause counts, and half of it at most.
        let shrinking = |call: usize| [0, 1_000_000 / (call as u64 + 1)];
        assert!(read(&shrinking) <= 1_000_000 / READINGS as u64 / 2 + 100);
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

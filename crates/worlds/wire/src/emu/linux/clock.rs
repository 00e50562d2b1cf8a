//! The wall clock at a time of the monotonic clock.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Two readings of the monotonic clock no further apart than this are close enough.
const CLOSE: Duration = Duration::from_micros(20);
/// Attempts to read both clocks so close together. The closest counts.
const READINGS: usize = 8;

/// Returns the time since 1970 at `at`, which is now or a little earlier.
///
/// The wall clock is read between two readings of the monotonic clock. A pause of the thread
/// between them would count as time, so that a wide pair is read again.
pub(crate) fn wall_at(at: Instant) -> Duration {
    let wall = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    read(|| at.elapsed(), wall)
}

fn read(mut elapsed: impl FnMut() -> Duration, mut wall: impl FnMut() -> Duration) -> Duration {
    let mut attempt = || {
        let (before, wall) = (elapsed(), wall());
        let apart = elapsed().saturating_sub(before);
        (apart, wall.saturating_sub(before + apart / 2))
    };
    let mut closest = attempt();
    for _ in 1..READINGS {
        if closest.0 <= CLOSE {
            break;
        }
        closest = closest.min(attempt());
    }
    closest.1
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn a_pause_between_the_clocks_moves_nothing() {
        const OFFSET: Duration = Duration::from_secs(1_700_000_000);
        let time = Cell::new(Duration::from_millis(7));
        let pauses = Cell::new(3);
        let pass = |span| time.set(time.get() + span);
        let elapsed = || {
            pass(Duration::from_nanos(50));
            time.get()
        };
        let wall = || {
            let wall = OFFSET + time.get();
            if pauses.get() > 0 {
                pauses.set(pauses.get() - 1);
                pass(Duration::from_millis(20));
            }
            wall
        };
        let error = read(elapsed, wall).abs_diff(OFFSET);
        assert!(error < Duration::from_nanos(100), "{error:?}");
    }
}

//! Times in queues and on the links' wires, link by link.
//!
//! A link whose AQM decides at departure tells whose packet left and after how long, not which packet it was. So the
//! time on a whole route is known as the sum of the links' means, not packet by packet.

use link::Stay;
use units::Duration;

/// Times that packets spent in each link's queue and on its wire.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct QueueDelay {
    /// Of link 0, which mostly is the only one.
    first: Times,
    beyond: Vec<Times>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Times {
    count: u64,
    /// Nanoseconds, as in `Mean`.
    sum: f64,
    /// Without the packets' own transmissions.
    waits: f64,
    max: Duration,
}

impl QueueDelay {
    /// A packet has left this link.
    #[inline]
    pub fn add(&mut self, link: usize, stay: Stay) {
        let one = Times { count: 1, sum: stay.total.0 as f64, waits: stay.wait.0 as f64, max: stay.total };
        self.of(link).merge(&one);
    }

    #[inline]
    fn of(&mut self, link: usize) -> &mut Times {
        let Some(beyond) = link.checked_sub(1) else { return &mut self.first };
        if beyond >= self.beyond.len() {
            self.beyond.resize(link, Times::default());
        }
        &mut self.beyond[beyond]
    }

    /// Those that saw packets.
    fn used(&self) -> impl Iterator<Item = &Times> {
        std::iter::once(&self.first).chain(&self.beyond).filter(|times| times.count > 0)
    }

    /// The links' means added up, milliseconds; NaN when empty.
    pub fn mean_ms(&self) -> f64 {
        let means = self.used().map(|times| times.sum * 1e-6 / times.count as f64);
        means.reduce(|a, b| a + b).unwrap_or(f64::NAN)
    }

    /// The same without the packets' own time on the wires: until their transmissions begin.
    pub fn mean_wait_ms(&self) -> f64 {
        let means = self.used().map(|times| times.waits * 1e-6 / times.count as f64);
        means.reduce(|a, b| a + b).unwrap_or(f64::NAN)
    }

    /// The longest at each link, added up, milliseconds; NaN when empty.
    pub fn max_ms(&self) -> f64 {
        self.used().map(|times| times.max.as_millis_f64()).reduce(|a, b| a + b).unwrap_or(f64::NAN)
    }

    /// Adds the times of another.
    pub fn merge(&mut self, other: &Self) {
        self.first.merge(&other.first);
        for (i, theirs) in other.beyond.iter().enumerate() {
            self.of(i + 1).merge(theirs);
        }
    }
}

impl Times {
    #[inline]
    fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.sum += other.sum;
        self.waits += other.waits;
        self.max = self.max.max(other.max);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_add_up() {
        let mut delay = QueueDelay::default();
        assert!(delay.mean_ms().is_nan() && delay.mean_wait_ms().is_nan() && delay.max_ms().is_nan());
        for (link, ms) in [(0, 10), (0, 20), (2, 5)] {
            let total = Duration::from_millis(ms);
            delay.add(link, Stay { wait: total - Duration::from_millis(2), total });
        }
        assert_eq!((delay.mean_ms(), delay.mean_wait_ms(), delay.max_ms()), (20.0, 16.0, 25.0));
        let mut twice = delay.clone();
        twice.merge(&delay);
        assert_eq!((twice.mean_ms(), twice.max_ms()), (20.0, 25.0));
    }
}

//! Times in queues and on the links' wires, link by link.
//!
//! A link whose AQM decides at departure tells whose packet left and after how long, not which packet it was. So the
//! time on a whole route is known as the sum of the links' means, not packet by packet.

use congestion::Duration;
use path::Stay;

/// Times that packets spent in each link's queue and on its wire.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct QueueDelay {
    links: Vec<Times>,
}

#[derive(Clone, Debug, Default, PartialEq)]
struct Times {
    count: u64,
    sum: u128,
    /// Without the packets' own transmissions.
    waits: u128,
    max: Duration,
}

impl QueueDelay {
    /// A packet has left this link.
    #[inline]
    pub fn add(&mut self, link: usize, stay: Stay) {
        let one = Times { count: 1, sum: stay.total.0.into(), waits: stay.wait.0.into(), max: stay.total };
        self.of(link).merge(&one);
    }

    #[inline]
    fn of(&mut self, link: usize) -> &mut Times {
        if link >= self.links.len() {
            self.links.resize(link + 1, Times::default());
        }
        &mut self.links[link]
    }

    /// Those that saw packets.
    fn used(&self) -> impl Iterator<Item = &Times> {
        self.links.iter().filter(|times| times.count > 0)
    }

    /// The links' means added up, milliseconds; NaN when empty.
    pub fn mean_ms(&self) -> f64 {
        let means = self.used().map(|times| times.sum as f64 * 1e-6 / times.count as f64);
        means.reduce(|a, b| a + b).unwrap_or(f64::NAN)
    }

    /// The same without the packets' own time on the wires: until their transmissions begin.
    pub fn mean_wait_ms(&self) -> f64 {
        let means = self.used().map(|times| times.waits as f64 * 1e-6 / times.count as f64);
        means.reduce(|a, b| a + b).unwrap_or(f64::NAN)
    }

    /// The longest at each link, added up, milliseconds; NaN when empty.
    pub fn max_ms(&self) -> f64 {
        self.used().map(|times| times.max.as_millis_f64()).reduce(|a, b| a + b).unwrap_or(f64::NAN)
    }

    /// Adds the times of another.
    pub fn merge(&mut self, other: &Self) {
        for (link, theirs) in other.links.iter().enumerate() {
            self.of(link).merge(theirs);
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

//! Times in queues and in transmission, link by link.
//!
//! A link whose AQM decides at departure reports whose packet left and after how long, but not
//! which packet it was. The time on a whole route is therefore known as the sum of the links'
//! means, not packet by packet.

use link::QueueTime;
use units::Duration;

/// Times that packets spent in each link's queue and in transmission.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct QueueDelay {
    /// Times of link 0, which is usually the only one.
    first: Times,
    beyond: Vec<Times>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Times {
    count: u64,
    /// Sum in nanoseconds, as in `Mean`.
    sum: f64,
    /// Sum without the packets' own transmissions.
    waits: f64,
    max: Duration,
}

/// Time in the queue of a packet that never leaves: beyond that of any run.
const NEVER: Duration = Duration(1 << 63);

impl QueueDelay {
    /// Adds a packet that has left a link. One that never leaves, because the rate stays 0, has no
    /// time.
    #[inline]
    pub fn add(&mut self, link: usize, queue_time: QueueTime) {
        if queue_time.total >= NEVER {
            return;
        }
        let one = Times {
            count: 1,
            sum: queue_time.total.0 as f64,
            waits: queue_time.wait.0 as f64,
            max: queue_time.total,
        };
        self.at_link(link).merge(&one);
    }

    #[inline]
    fn at_link(&mut self, link: usize) -> &mut Times {
        let Some(beyond) = link.checked_sub(1) else { return &mut self.first };
        if beyond >= self.beyond.len() {
            self.beyond.resize(link, Times::default());
        }
        &mut self.beyond[beyond]
    }

    /// Returns the links that carried packets.
    fn used(&self) -> impl Iterator<Item = &Times> {
        std::iter::once(&self.first).chain(&self.beyond).filter(|times| times.count > 0)
    }

    /// Returns the sum of the links' means, in milliseconds; NaN when empty.
    pub fn mean_ms(&self) -> f64 {
        let means = self.used().map(|times| times.sum * 1e-6 / times.count as f64);
        means.reduce(|a, b| a + b).unwrap_or(f64::NAN)
    }

    /// Returns the same without the packets' own transmissions.
    pub fn mean_wait_ms(&self) -> f64 {
        let means = self.used().map(|times| times.waits * 1e-6 / times.count as f64);
        means.reduce(|a, b| a + b).unwrap_or(f64::NAN)
    }

    /// Returns the sum of the longest time at each link, in milliseconds; NaN when empty.
    pub fn max_ms(&self) -> f64 {
        self.used().map(|times| times.max.as_millis_f64()).reduce(|a, b| a + b).unwrap_or(f64::NAN)
    }

    /// Adds the times of another record.
    pub fn merge(&mut self, other: &Self) {
        self.first.merge(&other.first);
        for (i, theirs) in other.beyond.iter().enumerate() {
            self.at_link(i + 1).merge(theirs);
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
            delay.add(link, QueueTime { wait: total - Duration::from_millis(2), total });
        }
        assert_eq!((delay.mean_ms(), delay.mean_wait_ms(), delay.max_ms()), (20.0, 16.0, 25.0));
        // A packet that never leaves has no time in the queue.
        let forever = Duration::MAX - Duration::from_secs(9);
        delay.add(0, QueueTime { wait: forever, total: forever });
        assert_eq!(delay.max_ms(), 25.0);
        let mut twice = delay.clone();
        twice.merge(&delay);
        assert_eq!((twice.mean_ms(), twice.max_ms()), (20.0, 25.0));
    }
}

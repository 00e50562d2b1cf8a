//! Delay until a receiver sends a written acknowledgement: none, or uniform from 0 to `ack.jitter`,
//! in order.
//!
//! ```text
//! departure = max(departure of the previous one, written + uniform[0, jitter])
//! ```

use std::collections::VecDeque;

use units::{Duration, Rng, Time};

use crate::packet::Feedback;

/// Acknowledgements that are written but not sent.
#[derive(Debug)]
pub(crate) struct AckJitter {
    jitter: Duration,
    rng: Rng,
    /// Departure of the previous one.
    latest: Time,
    written: VecDeque<(Time, Feedback)>,
}

impl AckJitter {
    /// Creates the jitter of flow number `id`.
    pub(crate) fn new(id: u32, jitter: Duration, seed: u64) -> Self {
        let rng = Rng::stream(seed, &format!("flow.{id}.ack-jitter"));
        Self { jitter, rng, latest: Time::ZERO, written: VecDeque::new() }
    }

    /// Reports whether there is any jitter.
    #[inline]
    pub(crate) fn is_on(&self) -> bool {
        self.jitter > Duration::ZERO
    }

    #[cold]
    pub(crate) fn hold(&mut self, now: Time, feedback: Feedback) {
        let extra = Duration(self.rng.below(self.jitter.0.saturating_add(1)));
        self.latest = self.latest.max(now + extra);
        self.written.push_back((self.latest, feedback));
    }

    /// Returns the departure of the next acknowledgement.
    #[inline]
    pub(crate) fn next(&self) -> Option<Time> {
        self.written.front().map(|f| f.0)
    }

    /// Returns the next acknowledgement if it leaves now.
    #[inline]
    pub(crate) fn leaving(&mut self, now: Time) -> Option<Feedback> {
        self.next().filter(|&at| at <= now)?;
        Some(self.written.pop_front()?.1)
    }

    /// Discards everything that is written.
    pub(crate) fn forget(&mut self) {
        self.written.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Content;

    const MS: Duration = Duration::from_millis(1);

    fn ack(number: u64) -> Feedback {
        Feedback { number, content: Content::Tcp(Box::default()) }
    }

    /// Far apart, each draw shows: from 0 to the jitter, with half of it as the mean. Close
    /// together, none overtakes another.
    #[test]
    fn uniform_and_in_order() {
        let mut jitter = AckJitter::new(3, MS * 10, 1);
        let (mut sum, n) = (0.0, 10_000_u64);
        for i in 0..n {
            let written = Time::from_millis(11 * i);
            jitter.hold(written, ack(i));
            let leaves = jitter.next().unwrap();
            assert!(leaves >= written && leaves - written <= MS * 10);
            assert!(jitter.leaving(leaves - Duration(1)).is_none() || leaves == written);
            assert_eq!(jitter.leaving(leaves).map(|f| f.number), Some(i));
            sum += (leaves - written).as_millis_f64();
        }
        // Allows four standard errors of a uniform mean.
        assert!((sum / n as f64 - 5.0).abs() < 4.0 * 10.0 / (12.0 * n as f64).sqrt(), "{}", sum / n as f64);
        let start = Time::from_millis(11 * n);
        (0..100).for_each(|i| jitter.hold(start + Duration(i), ack(i)));
        let (mut last, mut count) = (Time::ZERO, 0);
        while let Some(at) = jitter.next() {
            assert!(at >= last);
            last = at;
            assert_eq!(jitter.leaving(at).map(|f| f.number), Some(count));
            count += 1;
        }
        assert_eq!(count, 100);
    }
}

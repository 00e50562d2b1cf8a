//! The way back of a flow's feedback: what the receiver takes to send it, the links there, if it crosses any, and then a delay.
//!
//! On a link an acknowledgement is a packet without a payload. What it says stays here until that packet has
//! arrived or is lost.

use std::collections::VecDeque;

use units::{Duration, Time};

use crate::endpoints::ack_jitter::AckJitter;
use crate::packet::{Data, Feedback, Says};
use scenario::Back;

#[derive(Debug)]
pub(crate) struct AckPath {
    /// The number of the feedback among the senders of packets.
    id: u32,
    /// Before the first link.
    pub(crate) jitter: AckJitter,
    links: Option<Back>,
    on_links: Numbered,
    /// Behind the last link.
    delay: Duration,
    arriving: VecDeque<(Time, Feedback)>,
    /// When the first of them arrives. It is asked for with every packet, and the queue's memory is far away.
    next_arrival: Time,
}

impl AckPath {
    pub(crate) fn new(id: u32, jitter: AckJitter, links: Option<Back>, delay: Duration) -> Self {
        let (on_links, arriving) = (Numbered::default(), VecDeque::new());
        Self { id, jitter, links, on_links, delay, arriving, next_arrival: Time::NEVER }
    }

    /// The link that feedback enters, if there is one.
    #[inline]
    pub(crate) fn entry(&self) -> Option<usize> {
        self.links.map(|links| links.route.first.into())
    }

    /// The packet that stands for this feedback on the links; one of a handshake has `handshake` bytes.
    pub(crate) fn ack_packet(&mut self, now: Time, feedback: Feedback, handshake: u32) -> Option<Data> {
        let Back { route, size } = self.links?;
        let size = if matches!(feedback.says, Says::Open) { handshake } else { size };
        Some(Data::bare(self.id, size, route.last, self.on_links.put(feedback), now))
    }

    /// What the packet of this number stood for: it is no longer on the links.
    pub(crate) fn take(&mut self, number: u64) -> Option<Feedback> {
        self.on_links.take(number)
    }

    /// Whatever is under way means nothing any more.
    pub(crate) fn forget(&mut self) {
        self.jitter.forget();
        self.on_links.forget();
        self.arriving.clear();
        self.next_arrival = Time::NEVER;
    }

    /// Feedback is past the last link.
    #[inline]
    pub(crate) fn delay(&mut self, now: Time, feedback: Feedback) {
        let arrives = now + self.delay;
        if self.arriving.is_empty() {
            self.next_arrival = arrives;
        }
        self.arriving.push_back((arrives, feedback));
    }

    /// When the next feedback leaves or arrives, as far as that is known.
    #[inline]
    pub(crate) fn next(&self) -> Time {
        self.jitter.next().map_or(self.next_arrival, |leaves| leaves.min(self.next_arrival))
    }

    /// The next feedback, if it is due.
    #[inline]
    pub(crate) fn arrived(&mut self, now: Time) -> Option<Feedback> {
        if self.next_arrival > now {
            return None;
        }
        let (_, feedback) = self.arriving.pop_front()?;
        self.next_arrival = self.arriving.front().map_or(Time::NEVER, |next| next.0);
        Some(feedback)
    }
}

/// Feedback by its number, which counts up; those at the ends are the first to go.
#[derive(Debug, Default)]
struct Numbered {
    oldest: u64,
    waiting: VecDeque<Option<Feedback>>,
}

impl Numbered {
    fn put(&mut self, feedback: Feedback) -> u64 {
        self.waiting.push_back(Some(feedback));
        self.oldest + self.waiting.len() as u64 - 1
    }

    /// The numbers of what was there are not given again.
    fn forget(&mut self) {
        self.oldest += self.waiting.len() as u64;
        self.waiting.clear();
    }

    fn take(&mut self, number: u64) -> Option<Feedback> {
        let index = usize::try_from(number.checked_sub(self.oldest)?).ok()?;
        let feedback = self.waiting.get_mut(index)?.take();
        while self.waiting.front().is_some_and(Option::is_none) {
            self.waiting.pop_front();
            self.oldest += 1;
        }
        feedback
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_taken_once_in_any_order() {
        let mut store = Numbered::default();
        let ack = |number| Feedback { number, says: Says::Tcp(Box::default()) };
        let numbers: Vec<u64> = (0..4).map(|n| store.put(ack(10 * n))).collect();
        assert_eq!(numbers, [0, 1, 2, 3]);
        for number in [2, 0, 1, 3] {
            assert_eq!(store.take(number).map(|f| f.number), Some(10 * number));
            assert!(store.take(number).is_none());
        }
        assert_eq!((store.oldest, store.waiting.len()), (4, 0));
        assert_eq!(store.put(ack(7)), 4);
        assert!(store.take(5).is_none());
        store.forget();
        assert!(store.take(4).is_none());
        assert_eq!(store.put(ack(8)), 5);
    }
}

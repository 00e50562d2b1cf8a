//! The return path of a flow's feedback: the receiver's own delay, optional links, and a final
//! delay.
//!
//! On a link an acknowledgement is a packet without payload. Its content stays here until that
//! packet has arrived or is lost.

use std::collections::VecDeque;

use units::{Duration, Time};

use crate::endpoints::ack_jitter::AckJitter;
use crate::endpoints::numbered::Numbered;
use crate::packet::{Content, Data, Feedback};
use scenario::{Back, Route};

#[derive(Debug)]
pub(crate) struct AckPath {
    /// Number of the feedback among the senders of packets.
    id: u32,
    /// Delay before the first link.
    pub(crate) jitter: AckJitter,
    links: Option<Back>,
    on_links: Numbered<Feedback>,
    /// Delay behind the last link.
    delay: Duration,
    arriving: VecDeque<(Time, Feedback)>,
    /// Arrival of the first of them. It is read for every packet, and the memory of the queue is
    /// not cached.
    next_arrival: Time,
}

impl AckPath {
    pub(crate) fn new(id: u32, jitter: AckJitter, links: Option<Back>, delay: Duration) -> Self {
        let (on_links, arriving) = (Numbered::default(), VecDeque::new());
        Self { id, jitter, links, on_links, delay, arriving, next_arrival: Time::NEVER }
    }

    /// Reports whether feedback leaves as soon as it is written, crosses no link, and arrives
    /// later.
    #[inline]
    pub(crate) fn is_plain(&self) -> bool {
        self.links.is_none() && !self.jitter.is_on() && self.delay > Duration::ZERO
    }

    /// Returns the link that feedback enters, if there is one.
    #[inline]
    pub(crate) fn entry(&self) -> Option<usize> {
        self.links.map(|links| links.route.first.into())
    }

    /// Returns the feedback's number among the senders of packets, its links, if any, and the delay
    /// behind the last.
    pub(crate) fn way(&self) -> (u32, Option<Route>, Duration) {
        (self.id, self.links.map(|links| links.route), self.delay)
    }

    /// Creates the packet that represents this feedback on the links. One of a handshake has
    /// `handshake` bytes.
    pub(crate) fn ack_packet(&mut self, now: Time, feedback: Feedback, handshake: u32) -> Option<Data> {
        let Back { route, size } = self.links?;
        let size = if matches!(feedback.content, Content::Open) { handshake } else { size };
        Some(Data::bare(self.id, size, route.last, self.on_links.put(feedback), now))
    }

    /// Takes the feedback that the packet of this number represents. It is no longer on the links.
    pub(crate) fn take(&mut self, number: u64) -> Option<Feedback> {
        self.on_links.take(number)
    }

    /// Discards everything in flight.
    pub(crate) fn forget(&mut self) {
        self.jitter.forget();
        self.on_links.forget();
        self.arriving.clear();
        self.next_arrival = Time::NEVER;
    }

    /// Delays feedback that is past the last link.
    #[inline]
    pub(crate) fn delay(&mut self, now: Time, feedback: Feedback) {
        let arrives = now + self.delay;
        if self.arriving.is_empty() {
            self.next_arrival = arrives;
        }
        self.arriving.push_back((arrives, feedback));
    }

    /// Returns the arrival of the next feedback, as far as known.
    #[inline]
    pub(crate) fn next_arrival(&self) -> Time {
        self.next_arrival
    }

    /// Returns the least time between departure and arrival.
    #[inline]
    pub(crate) fn lag(&self) -> Duration {
        self.delay
    }

    /// Returns the next feedback if it is due.
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

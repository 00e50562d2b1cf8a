//! The way back of a flow's feedback: what the receiver takes to send it, the links there, if it crosses any, and then a delay.
//!
//! On a link an acknowledgement is a packet without a payload. What it says stays here until that packet has
//! arrived or is lost.

use std::collections::VecDeque;

use units::{Duration, Time};

use crate::endpoints::ack_jitter::AckJitter;
use crate::endpoints::numbered::Numbered;
use crate::packet::{Data, Feedback, Says};
use scenario::{Back, Route};

#[derive(Debug)]
pub(crate) struct AckPath {
    /// The number of the feedback among the senders of packets.
    id: u32,
    /// Before the first link.
    pub(crate) jitter: AckJitter,
    links: Option<Back>,
    on_links: Numbered<Feedback>,
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

    /// Whether feedback leaves as it is written, crosses no link, and arrives later.
    #[inline]
    pub(crate) fn is_plain(&self) -> bool {
        self.links.is_none() && !self.jitter.is_on() && self.delay > Duration::ZERO
    }

    /// The link that feedback enters, if there is one.
    #[inline]
    pub(crate) fn entry(&self) -> Option<usize> {
        self.links.map(|links| links.route.first.into())
    }

    /// Its number among the senders of packets, the links, if it crosses any, and what it takes behind the last.
    pub(crate) fn way(&self) -> (u32, Option<Route>, Duration) {
        (self.id, self.links.map(|links| links.route), self.delay)
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

    /// When the next feedback arrives, as far as that is known.
    #[inline]
    pub(crate) fn next_arrival(&self) -> Time {
        self.next_arrival
    }

    /// What leaves now arrives after this at the earliest.
    #[inline]
    pub(crate) fn lag(&self) -> Duration {
        self.delay
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

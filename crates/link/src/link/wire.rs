//! From the server on: transmission, propagation, and the packets until they are popped.

use std::collections::VecDeque;

use units::Time;

use crate::backlog::{Tally, insert};
use crate::counters::DropReason;
use crate::delay::Propagation;
use crate::faults::Faults;
use crate::loss::Losses;
use crate::packet::Packet;
use crate::rate::{Departure, Server};

#[derive(Debug)]
struct Stored<P> {
    delivery: Time,
    packet: P,
}

/// Server, delay and the packets on their way.
#[derive(Debug)]
pub(crate) struct Wire<P> {
    pub(crate) server: Server,
    propagation: Propagation,
    pub(crate) faults: Option<Box<Faults>>,
    /// Until popped, earliest delivery first.
    stored: VecDeque<Stored<P>>,
    /// When packets that others keep are delivered, and their bytes.
    carried: VecDeque<(Time, u32)>,
}

impl<P: Packet> Wire<P> {
    pub(crate) fn new(server: Server, propagation: Propagation, faults: Option<Box<Faults>>) -> Self {
        Self { server, propagation, faults, stored: VecDeque::new(), carried: VecDeque::new() }
    }

    /// What happens to a packet before it reaches the queue.
    #[inline]
    pub(crate) fn refuses(&self, now: Time, losses: &mut Losses) -> Option<DropReason> {
        losses.refuses(now).or(self.server.is_out().then_some(DropReason::Outage))
    }

    /// When a packet that departs so is delivered.
    #[inline]
    pub(crate) fn deliver(&mut self, departure: &Departure) -> Time {
        self.propagation.deliver(departure.at, departure.extra_delay)
    }

    #[inline]
    pub(crate) fn store(&mut self, delivery: Time, mut packet: P) {
        if self.faults.is_some() {
            self.spoil(delivery, &mut packet);
        }
        insert(&mut self.stored, Stored { delivery, packet }, |s| s.delivery);
    }

    /// Whether what departs is delivered whole and in order.
    #[inline]
    pub(crate) fn is_plain(&self) -> bool {
        self.faults.is_none() && self.propagation.keeps_order()
    }

    /// Whether there may be copies of what it delivers.
    #[inline]
    pub(crate) fn doubles(&self) -> bool {
        self.faults.is_some()
    }

    /// A packet is on its way that somebody else keeps.
    #[inline]
    pub(crate) fn carry(&mut self, delivery: Time, size: u32) {
        self.carried.push_back((delivery, size));
    }

    /// Those that are delivered by now are counted.
    #[inline]
    pub(crate) fn settle(&mut self, now: Time, delivered: &mut Tally) {
        while self.carried.front().is_some_and(|next| next.0 <= now)
            && let Some((_, size)) = self.carried.pop_front()
        {
            delivered.add(size);
        }
    }

    #[inline(never)] // few links do
    fn spoil(&mut self, delivery: Time, packet: &mut P) {
        let copy = self.faults.as_mut().and_then(|faults| faults.apply(delivery, packet));
        if let Some(packet) = copy {
            let delivery = self.propagation.copy();
            insert(&mut self.stored, Stored { delivery, packet }, |s| s.delivery);
        }
    }

    /// When the next packet is delivered.
    #[inline]
    pub(crate) fn next(&self) -> Option<Time> {
        self.stored.front().map(|s| s.delivery).filter(|&delivery| delivery != Time::NEVER)
    }

    /// The next packet, if it is due by now.
    #[inline]
    pub(crate) fn pop(&mut self, now: Time) -> Option<P> {
        self.next().filter(|&delivery| delivery <= now)?;
        Some(self.stored.pop_front()?.packet)
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.stored.len()
    }
}

//! Server, propagation, and the storage of packets until they are popped.

use std::collections::VecDeque;

use units::Time;

use crate::backlog::{Count, insert};
use crate::counters::DropReason;
use crate::delay::Propagation;
use crate::departure::Departure;
use crate::faults::Faults;
use crate::loss::Losses;
use crate::packet::Packet;
use crate::rate::Server;

#[derive(Debug)]
struct Stored<P> {
    delivery: Time,
    packet: P,
}

/// Server, delay and the packets in propagation.
#[derive(Debug)]
pub(crate) struct Wire<P> {
    pub(crate) server: Server,
    propagation: Propagation,
    pub(crate) faults: Option<Box<Faults>>,
    /// Packets until popped, earliest delivery first.
    stored: VecDeque<Stored<P>>,
    /// Delivery and bytes of the packets that the caller keeps.
    in_transit: VecDeque<(Time, u32)>,
}

impl<P: Packet> Wire<P> {
    pub(crate) fn new(server: Server, propagation: Propagation, faults: Option<Box<Faults>>) -> Self {
        Self { server, propagation, faults, stored: VecDeque::new(), in_transit: VecDeque::new() }
    }

    /// Returns the reason if a packet is lost before it reaches the queue.
    #[inline]
    pub(crate) fn drop_reason(&self, now: Time, size: u32, losses: &mut Losses) -> Option<DropReason> {
        losses.drop_reason(now, size).or(self.server.in_outage().then_some(DropReason::Outage))
    }

    /// Returns the delivery of a packet of this flow with this departure.
    #[inline]
    pub(crate) fn deliver(&mut self, departure: &Departure, flow: u32) -> Time {
        self.propagation.deliver(departure.at, departure.extra_delay, flow)
    }

    #[inline]
    pub(crate) fn store(&mut self, delivery: Time, mut packet: P) {
        if self.faults.is_some() {
            self.apply_faults(delivery, &mut packet);
        }
        insert(&mut self.stored, Stored { delivery, packet }, |s| s.delivery);
    }

    /// Reports whether packets are delivered intact, once and in order.
    #[inline]
    pub(crate) fn is_plain(&self) -> bool {
        self.faults.is_none() && self.propagation.keeps_order()
    }

    /// Notes a packet in propagation that the caller keeps.
    #[inline]
    pub(crate) fn transit(&mut self, delivery: Time, size: u32) {
        self.in_transit.push_back((delivery, size));
    }

    /// Counts the kept packets that have been delivered by now.
    #[inline]
    pub(crate) fn count_delivered(&mut self, now: Time, delivered: &mut Count) {
        while self.in_transit.front().is_some_and(|next| next.0 <= now)
            && let Some((_, size)) = self.in_transit.pop_front()
        {
            delivered.add(size);
        }
    }

    #[inline(never)] // few links have faults
    fn apply_faults(&mut self, delivery: Time, packet: &mut P) {
        let copy = self.faults.as_mut().and_then(|faults| faults.apply(delivery, packet));
        if let Some(packet) = copy {
            let delivery = self.propagation.copy(packet.flow());
            insert(&mut self.stored, Stored { delivery, packet }, |s| s.delivery);
        }
    }

    /// Returns the time of the next delivery.
    #[inline]
    pub(crate) fn next(&self) -> Option<Time> {
        self.stored.front().map(|s| s.delivery).filter(|&delivery| delivery != Time::NEVER)
    }

    /// Returns the next packet if it is due by now.
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

//! From the server on: transmission, propagation, and the packets until they are popped.

use std::collections::VecDeque;

use units::Time;

use crate::backlog::insert;
use crate::counters::DropReason;
use crate::delay::Propagation;
use crate::loss::Bernoulli;
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
    /// Until popped, earliest delivery first.
    stored: VecDeque<Stored<P>>,
}

impl<P> Wire<P> {
    pub(crate) fn new(server: Server, propagation: Propagation) -> Self {
        Self { server, propagation, stored: VecDeque::new() }
    }

    /// What happens to a packet before it reaches the queue. Every one draws its loss, so that a fuller queue moves no other packet's random
    /// draws.
    #[inline]
    pub(crate) fn refuses(&self, loss: &mut Bernoulli) -> Option<DropReason> {
        if loss.loses() {
            Some(DropReason::Random)
        } else if self.server.is_out() {
            Some(DropReason::Outage)
        } else {
            None
        }
    }

    /// When a packet that departs so is delivered.
    #[inline]
    pub(crate) fn deliver(&mut self, departure: &Departure) -> Time {
        self.propagation.deliver(departure.at, departure.extra_delay)
    }

    #[inline]
    pub(crate) fn store(&mut self, delivery: Time, packet: P) {
        insert(&mut self.stored, Stored { delivery, packet }, |s| s.delivery);
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

//! A FIFO of waiting packets with their arrival times.

use std::collections::VecDeque;

use units::{Duration, Time};

use crate::packet::Packet;

/// A waiting packet and its arrival time.
#[derive(Debug)]
pub(crate) struct Waiting<P> {
    pub(crate) arrival: Time,
    pub(crate) packet: P,
}

/// First-in, first-out queue that counts its bytes. The packet in transmission has left it.
#[derive(Debug)]
pub(crate) struct Fifo<P> {
    packets: VecDeque<Waiting<P>>,
    bytes: u64,
}

impl<P> Default for Fifo<P> {
    fn default() -> Self {
        Self { packets: VecDeque::new(), bytes: 0 }
    }
}

impl<P: Packet> Fifo<P> {
    pub(crate) fn push(&mut self, waiting: Waiting<P>) {
        self.bytes += u64::from(waiting.packet.size());
        self.packets.push_back(waiting);
    }

    pub(crate) fn pop(&mut self) -> Option<Waiting<P>> {
        let head = self.packets.pop_front()?;
        self.bytes -= u64::from(head.packet.size());
        Some(head)
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    #[cfg(test)]
    pub(crate) fn packets(&self) -> u64 {
        self.packets.len() as u64
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    /// Returns how long the head has waited; zero if the queue is empty.
    pub(crate) fn age(&self, now: Time) -> Duration {
        self.packets.front().map_or(Duration::ZERO, |head| now - head.arrival)
    }
}

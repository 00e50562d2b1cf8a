//! Packets that have left and whose fate is open, by packet number.

use std::collections::VecDeque;
use std::ops::Range;

use congestion::Time;

use crate::ecn::Ecn;
use crate::rate::Snapshot;

/// What a packet carries, as far as the ledger must know.
pub trait Payload: Clone + std::fmt::Debug {
    /// The stream bytes it carries; empty when none.
    fn range(&self) -> Range<u64>;
}

/// A packet's fate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    InFlight,
    Acked,
    Lost,
}

/// A packet that has left.
#[derive(Clone, Debug)]
pub(crate) struct Packet<T> {
    pub(crate) sent: Time,
    pub(crate) bytes: u64,
    pub(crate) fate: Fate,
    /// Its payload had been sent before.
    pub(crate) repeat: bool,
    pub(crate) ecn: Ecn,
    pub(crate) snapshot: Snapshot,
    pub(crate) data: T,
}

/// Packet numbers are dense: a double-ended queue indexed from the oldest one in flight.
#[derive(Clone, Debug)]
pub(crate) struct SentPackets<T> {
    base: u64,
    packets: VecDeque<Packet<T>>,
}

impl<T> SentPackets<T> {
    pub(crate) fn new() -> Self {
        Self { base: 0, packets: VecDeque::new() }
    }

    /// The number of the next packet.
    pub(crate) fn next_pn(&self) -> u64 {
        self.base + self.packets.len() as u64
    }

    /// The oldest packet in flight, or the next one to be sent.
    pub(crate) fn base(&self) -> u64 {
        self.base
    }

    pub(crate) fn push(&mut self, packet: Packet<T>) {
        self.packets.push_back(packet);
    }

    pub(crate) fn get(&self, pn: u64) -> Option<&Packet<T>> {
        self.packets.get(usize::try_from(pn.checked_sub(self.base)?).ok()?)
    }

    pub(crate) fn get_mut(&mut self, pn: u64) -> Option<&mut Packet<T>> {
        self.packets.get_mut(usize::try_from(pn.checked_sub(self.base)?).ok()?)
    }

    /// From the oldest, with their numbers.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = (u64, &Packet<T>)> + '_ {
        let base = self.base;
        self.packets.iter().enumerate().map(move |(i, p)| (base + i as u64, p))
    }

    /// From packet `pn` on.
    pub(crate) fn iter_from(&self, pn: u64) -> impl Iterator<Item = &Packet<T>> + '_ {
        let skipped = usize::try_from(pn.saturating_sub(self.base)).unwrap_or(usize::MAX);
        self.packets.range(skipped.min(self.packets.len())..)
    }

    /// In flight, from the oldest.
    pub(crate) fn in_flight(&self) -> impl DoubleEndedIterator<Item = (u64, &Packet<T>)> + '_ {
        self.iter().filter(|(_, p)| p.fate == Fate::InFlight)
    }

    /// Forgets the packets before the oldest one in flight.
    pub(crate) fn forget_settled(&mut self) {
        while self.packets.front().is_some_and(|p| p.fate != Fate::InFlight) {
            self.packets.pop_front();
            self.base += 1;
        }
    }
}

//! Sent packets that are neither acknowledged nor lost, by packet number and by the bytes they
//! carry.
//!
//! A TCP acknowledgement contains bytes. While a packet is missing, each acknowledgement covers
//! most of the window again. Finding the newly covered packets must not visit packets that are
//! already resolved. Payloads sent for the first time are in stream order: a byte is found by
//! bisection, and resolved packets are skipped. Repeats are in no order and are sorted by their
//! first byte.

use std::collections::{BTreeSet, VecDeque};
use std::ops::Range;

use units::Time;

use crate::ack::TcpAck;
use crate::feed::{SentPacket, Snapshot};
use crate::sender::numbers::Numbers;
use units::Ecn;

/// The contents of a packet, as far as the sender needs them.
pub trait Payload: Clone + std::fmt::Debug {
    /// Returns the stream bytes in the packet; empty if there are none.
    fn range(&self) -> Range<u64>;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    InFlight,
    Acked,
    Lost,
}

/// The contents of a packet in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// ACK-eliciting, with new data.
    Fresh,
    /// ACK-eliciting, with a payload that was sent before.
    Repeat,
    /// Not ACK-eliciting (PADDING).
    Padding,
}

/// A sent packet.
#[derive(Clone, Debug)]
pub(crate) struct Packet<T> {
    pub(crate) sent: Time,
    /// Size in the window.
    pub(crate) bytes: u32,
    pub(crate) status: Status,
    pub(crate) kind: Kind,
    pub(crate) ecn: Ecn,
    /// The application limited the sender when the packet was sent.
    pub(crate) app_limited: bool,
    /// Distance to the next packet that may be [awaited](Packet::is_awaited), in packets.
    stride: u32,
    /// Distance back to a packet that may be in flight, in packets.
    back: u32,
    pub(crate) data: T,
    /// End of the stream data sent up to and including this packet: ascending.
    edge: u64,
}

impl<T> Packet<T> {
    /// Reports whether the payload was sent before.
    pub(crate) fn is_repeat(&self) -> bool {
        self.kind == Kind::Repeat
    }

    /// Reports whether the packet is in flight for the first time. Once false, it stays false.
    fn is_awaited(&self) -> bool {
        self.status == Status::InFlight && !self.is_repeat()
    }
}

/// A queue of sent packets, indexed from the oldest in flight. Packets are identified by their
/// [slots](Numbers), which are consecutive.
#[derive(Clone, Debug)]
pub(crate) struct SentPackets<T> {
    base: u64,
    packets: VecDeque<Packet<T>>,
    pub(crate) numbers: Numbers,
    /// Rate-sample data of each packet, kept apart: only some controllers need it, and no search
    /// reads it.
    snapshots: Option<VecDeque<Snapshot>>,
    /// First byte and number of each repeat in flight.
    repeats: BTreeSet<(u64, u64)>,
    edge: u64,
    /// First bytes of recent SACK blocks, and the first packet beyond each.
    hints: [(u64, u64); HINTS],
}

/// Largest number of blocks in a SACK option: three beside timestamps, four without (RFC 2018).
const HINTS: usize = 4;

impl<T: Payload> SentPackets<T> {
    /// Creates an empty queue. `rate_samples`: the controller needs them.
    pub(crate) fn new(rate_samples: bool) -> Self {
        let snapshots = rate_samples.then(VecDeque::new);
        let hints = [(u64::MAX, 0); HINTS];
        let (packets, numbers) = (VecDeque::new(), Numbers::default());
        Self { base: 0, packets, numbers, snapshots, repeats: BTreeSet::new(), edge: 0, hints }
    }

    /// Returns the number of the next packet.
    #[inline]
    pub(crate) fn next_number(&self) -> u64 {
        self.numbers.next(self.next_slot())
    }

    /// Returns the slot of the next packet.
    #[inline]
    pub(crate) fn next_slot(&self) -> u64 {
        self.base + self.packets.len() as u64
    }

    /// Reports whether no packet is stored.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    /// Returns the oldest packet in flight, or the next one to be sent.
    pub(crate) fn base(&self) -> u64 {
        self.base
    }

    /// Returns the end of the stream data sent so far.
    pub(crate) fn edge(&self) -> u64 {
        self.edge
    }

    /// Adds a packet in flight and returns its number. Packets that are not repeats must be in
    /// stream order.
    pub(crate) fn push(
        &mut self,
        sent: Time,
        bytes: u64,
        (kind, serial): (Kind, u64),
        ecn: Ecn,
        snapshot: Snapshot,
        data: T,
    ) -> u64 {
        let (range, slot) = (data.range(), self.next_slot());
        let number = self.numbers.assign(slot, serial);
        if kind == Kind::Repeat {
            self.repeats.insert((range.start, slot));
        }
        self.edge = self.edge.max(range.end);
        let (status, edge) = (Status::InFlight, self.edge);
        let (bytes, app_limited) = (u32::try_from(bytes).unwrap_or(u32::MAX), snapshot.app_limited);
        let (stride, back) = (1, 1);
        self.packets.push_back(Packet {
            sent,
            bytes,
            status,
            kind,
            ecn,
            app_limited,
            stride,
            back,
            data,
            edge,
        });
        if let Some(snapshots) = &mut self.snapshots {
            snapshots.push_back(snapshot);
        }
        number
    }

    /// Removes the packet in this slot from flight and returns it, unless it has been acknowledged
    /// or lost already.
    #[inline]
    pub(crate) fn resolve(&mut self, pn: u64, status: Status) -> Option<(&Packet<T>, SentPacket<'_>)> {
        let index = self.index(pn)?;
        let packet = self.packets.get_mut(index).filter(|p| p.status == Status::InFlight)?;
        packet.status = status;
        if packet.is_repeat() {
            self.repeats.remove(&(packet.data.range().start, pn));
        }
        let snapshot = self.snapshots.as_ref().and_then(|snapshots| snapshots.get(index));
        let Packet { sent, bytes, app_limited, .. } = *packet;
        Some((packet, SentPacket { pn, sent, bytes: u64::from(bytes), app_limited, snapshot }))
    }

    /// Returns the slots of the packets with these numbers that may still be in flight.
    #[inline]
    pub(crate) fn slots(&self, low: u64, high: u64) -> Range<u64> {
        self.slot_from(low).max(self.base)..self.slot_from(high.saturating_add(1))
    }

    /// Returns the first slot with this number, which has been assigned, or a higher one.
    #[inline]
    pub(crate) fn slot_from(&self, number: u64) -> u64 {
        self.numbers.slot_from(number, self.next_slot())
    }

    /// Returns the rate-sample data of a packet.
    pub(crate) fn snapshot(&self, pn: u64) -> Option<&Snapshot> {
        self.snapshots.as_ref()?.get(self.index(pn)?)
    }

    pub(crate) fn get(&self, pn: u64) -> Option<&Packet<T>> {
        self.packets.get(self.index(pn)?)
    }

    fn index(&self, pn: u64) -> Option<usize> {
        usize::try_from(pn.checked_sub(self.base)?).ok()
    }

    /// Iterates over the packets and their slots, oldest first.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = (u64, &Packet<T>)> + '_ {
        let base = self.base;
        self.packets.iter().enumerate().map(move |(i, p)| (base + i as u64, p))
    }

    /// Iterates over the packets from `pn` on.
    pub(crate) fn iter_from(&self, pn: u64) -> impl Iterator<Item = &Packet<T>> + '_ {
        let skipped = usize::try_from(pn.saturating_sub(self.base)).unwrap_or(usize::MAX);
        self.packets.range(skipped.min(self.packets.len())..)
    }

    /// Iterates over the packets before slot `end`, newest first.
    pub(crate) fn iter_before(&self, end: u64) -> impl Iterator<Item = &Packet<T>> + '_ {
        let count = usize::try_from(end.saturating_sub(self.base)).unwrap_or(usize::MAX);
        self.packets.range(..count.min(self.packets.len())).rev()
    }

    /// Iterates over the packets in flight, oldest first.
    pub(crate) fn in_flight(&self) -> impl DoubleEndedIterator<Item = (u64, &Packet<T>)> + '_ {
        self.iter().filter(|(_, p)| p.status == Status::InFlight)
    }

    /// Returns the newest packet in flight before packet `pn`. Skipped packets remember the
    /// distance, as in [`jump`](Self::jump).
    pub(crate) fn last_in_flight_before(&mut self, pn: u64) -> Option<&Packet<T>> {
        let end = usize::try_from(pn.saturating_sub(self.base)).unwrap_or(usize::MAX).min(self.packets.len());
        let first = end.checked_sub(1)?;
        let back = |packets: &VecDeque<Packet<T>>, at: usize| at.checked_sub(packets[at].back as usize);
        let mut to = Some(first);
        while let Some(at) = to.filter(|at| self.packets[*at].status != Status::InFlight) {
            to = back(&self.packets, at);
        }
        let mut next = Some(first);
        while let Some(at) = next.filter(|at| to.is_none_or(|to| to < *at)) {
            next = back(&self.packets, at);
            // All packets beyond the oldest one are resolved, and stay so.
            let whole = to.map_or(at + 1, |to| at - to);
            self.packets[at].back = u32::try_from(whole).unwrap_or(u32::MAX);
        }
        self.packets.get(to?)
    }

    /// Finds the packets in flight that this acknowledgement covers, ascending.
    pub(crate) fn covered(&mut self, ack: &TcpAck, found: &mut Vec<u64>) {
        found.clear();
        self.find(0..ack.cumulative, 0, found);
        for &(start, end) in ack.sacks.iter().filter(|sack| sack.0 < sack.1) {
            let first = self.first_beyond(start);
            self.find(start..end, first, found);
        }
        if !found.is_sorted_by(|a, b| a < b) {
            found.sort_unstable();
            found.dedup();
        }
    }

    /// Returns the index of the first packet after which the stream had been sent beyond `byte`.
    /// SACK blocks are reported repeatedly, and the result for their start does not change.
    fn first_beyond(&mut self, byte: u64) -> usize {
        let known = self.hints.iter().find(|hint| hint.0 == byte).map(|hint| hint.1);
        if let Some(pn) = known.filter(|pn| *pn >= self.base) {
            return (pn - self.base) as usize;
        }
        let first = self.search(byte);
        if first < self.packets.len() {
            self.hints.rotate_right(1);
            self.hints[0] = (byte, self.base + first as u64);
        }
        first
    }

    /// Searches for that index, starting from where it would be if all packets had the same size.
    /// The guess is close, and memory accesses across a window of 16 MB are expensive.
    fn search(&self, byte: u64) -> usize {
        let (Some(front), Some(back)) = (self.packets.front(), self.packets.back()) else { return 0 };
        if byte < front.edge || back.edge <= byte {
            return if byte < front.edge { 0 } else { self.packets.len() };
        }
        let share = u128::from(byte - front.edge) * self.packets.len() as u128;
        let guess = (share / u128::from(back.edge - front.edge)) as usize;
        let is_beyond = |index: usize| self.packets[index].edge > byte;
        // The first packet is not beyond, the last one is.
        let (mut within, mut beyond) = (0, self.packets.len() - 1);
        let mut step = 1;
        if is_beyond(guess) {
            beyond = guess;
            while beyond - within > step && is_beyond(beyond - step) {
                (beyond, step) = (beyond - step, 2 * step);
            }
            within = within.max(beyond.saturating_sub(step));
        } else {
            within = guess;
            while beyond - within > step && !is_beyond(within + step) {
                (within, step) = (within + step, 2 * step);
            }
            beyond = beyond.min(within + step);
        }
        while beyond - within > 1 {
            let middle = within.midpoint(beyond);
            if is_beyond(middle) { beyond = middle } else { within = middle }
        }
        beyond
    }

    /// Finds the packets in flight that carry only these bytes. No awaited packet before index `at`
    /// does.
    fn find(&mut self, bytes: Range<u64>, mut at: usize, found: &mut Vec<u64>) {
        while let Some(packet) = self.packets.get(at) {
            if !packet.is_awaited() {
                at = self.jump(at);
                continue;
            }
            let range = packet.data.range();
            if range.start >= bytes.end {
                break;
            }
            if bytes.start <= range.start && range.end <= bytes.end {
                found.push(self.base + at as u64);
            }
            at += 1;
        }
        if !self.repeats.is_empty() {
            self.find_repeats(&bytes, found);
        }
    }

    fn find_repeats(&self, bytes: &Range<u64>, found: &mut Vec<u64>) {
        if bytes.is_empty() {
            return; // an empty range has no order to search
        }
        // Usually SACK blocks are above the repeats, and the repeats above the cumulative
        // acknowledgement.
        let is_off = |first: &(u64, u64), last: &(u64, u64)| bytes.end <= first.0 || last.0 < bytes.start;
        if self.repeats.first().zip(self.repeats.last()).is_none_or(|(first, last)| is_off(first, last)) {
            return;
        }
        let inside = |pn| self.get(pn).is_some_and(|p| p.data.range().end <= bytes.end);
        let from_here = self.repeats.range((bytes.start, 0)..(bytes.end, 0));
        found.extend(from_here.map(|repeat| repeat.1).filter(|&pn| inside(pn)));
    }

    /// Returns the index of the next awaited packet after `from`. Skipped packets remember the
    /// distance.
    fn jump(&mut self, from: usize) -> usize {
        let mut to = from;
        while let Some(packet) = self.packets.get(to).filter(|p| !p.is_awaited()) {
            to += packet.stride as usize;
        }
        let mut at = from;
        while let Some(packet) = self.packets.get_mut(at).filter(|_| at < to) {
            let whole = u32::try_from(to - at).unwrap_or(u32::MAX);
            at += std::mem::replace(&mut packet.stride, whole) as usize;
        }
        to
    }

    /// Forgets the packets before the oldest one in flight.
    pub(crate) fn forget_resolved(&mut self) {
        while self.packets.front().is_some_and(|p| p.status != Status::InFlight) {
            self.packets.pop_front();
            if let Some(snapshots) = &mut self.snapshots {
                snapshots.pop_front();
            }
            self.base += 1;
        }
        self.numbers.forget_below(self.base);
    }

    /// Forgets all packets.
    pub(crate) fn clear(&mut self) {
        self.base = self.next_slot();
        self.packets.clear();
        self.repeats.clear();
        self.snapshots.iter_mut().for_each(VecDeque::clear);
        self.numbers.forget_below(self.base);
    }

    /// Starts or stops keeping rate-sample data, for another controller. Packets already sent have
    /// none.
    pub(crate) fn keep_snapshots(&mut self, rate_samples: bool) {
        let before = std::iter::repeat_n(Snapshot::default(), self.packets.len());
        self.snapshots = rate_samples.then(|| before.collect());
    }

    /// Reports whether an ACK-eliciting packet is in flight.
    pub(crate) fn awaits_ack(&self) -> bool {
        self.in_flight().any(|(_, packet)| packet.kind != Kind::Padding)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The stream bytes from the first offset to the second.
    #[derive(Clone, Debug)]
    pub(crate) struct Piece(pub(crate) u64, pub(crate) u64);

    impl Payload for Piece {
        fn range(&self) -> Range<u64> {
            self.0..self.1
        }
    }

    /// Finds the packets that an acknowledgement covers by visiting every packet.
    fn by_walking(sent: &SentPackets<Piece>, ack: &TcpAck) -> Vec<u64> {
        let covered = |p: &Packet<Piece>| ack.covers(p.data.0, p.data.1);
        sent.in_flight().filter(|(_, p)| covered(p)).map(|(pn, _)| pn).collect()
    }

    fn push(sent: &mut SentPackets<Piece>, repeat: bool, start: u64, len: u64) {
        let kind = if repeat { Kind::Repeat } else { Kind::Fresh };
        let names = (kind, sent.next_slot());
        sent.push(Time::ZERO, len, names, Ecn::NotEct, Snapshot::default(), Piece(start, start + len));
    }

    #[derive(Clone, Debug)]
    enum Op {
        Fresh(u64),
        Repeat(u64, u64),
        Ack(u64, [(u64, u64); 3]),
        Lose(u64),
    }

    fn op() -> impl Strategy<Value = Op> {
        let sack = || (0u64..300, 0u64..300);
        prop_oneof![
            6 => (1u64..9).prop_map(Op::Fresh),
            2 => (0u64..300, 1u64..9).prop_map(|(at, len)| Op::Repeat(at, len)),
            3 => (0u64..300, sack(), sack(), sack()).prop_map(|(c, x, y, z)| Op::Ack(c, [x, y, z])),
            2 => (0u64..200).prop_map(Op::Lose),
        ]
    }

    /// Sends a packet, or declares one lost.
    fn send(sent: &mut SentPackets<Piece>, op: &Op) {
        match op {
            Op::Fresh(len) => {
                let edge = sent.edge();
                push(sent, false, edge, *len);
            }
            Op::Repeat(at, len) => {
                let at = (*at).min(sent.edge().saturating_sub(*len));
                push(sent, true, at, *len);
            }
            Op::Lose(pn) => drop(sent.resolve(*pn, Status::Lost)),
            Op::Ack(..) => {}
        }
    }

    proptest! {
        /// The result is correct whatever was sent, lost and sent again, and whatever the peer
        /// reports, including bytes never sent.
        #[test]
        fn like_a_walk(ops in prop::collection::vec(op(), 1..200)) {
            let (mut sent, mut found) = (SentPackets::new(true), Vec::new());
            for op in ops {
                send(&mut sent, &op);
                if let Op::Ack(cumulative, sacks) = op {
                    // Reported twice: the second time the starts of the blocks are cached.
                    for _ in 0..2 {
                        let ack = TcpAck { cumulative: cumulative / 3, sacks, ..TcpAck::default() };
                        let expected = by_walking(&sent, &ack);
                        sent.covered(&ack, &mut found);
                        prop_assert_eq!(&found, &expected);
                        for pn in expected.into_iter().step_by(2) {
                            prop_assert!(sent.resolve(pn, Status::Acked).is_some());
                        }
                    }
                }
                sent.forget_resolved();
            }
        }

        /// Finds the newest packet in flight before any packet, whatever happened to the others.
        #[test]
        fn back_like_a_walk(ops in prop::collection::vec(op(), 1..200), asked in prop::collection::vec(0u64..220, 1..9)) {
            let mut sent = SentPackets::new(true);
            for op in ops {
                send(&mut sent, &op);
                sent.forget_resolved();
                for pn in &asked {
                    let walked = sent.in_flight().take_while(|(at, _)| at < pn).last().map(|(at, _)| at);
                    let edge = |pn: u64| sent.get(pn).map(|p| p.data.1);
                    let expected = walked.and_then(edge);
                    prop_assert_eq!(sent.last_in_flight_before(*pn).map(|p| p.data.1), expected);
                }
            }
        }
    }
}

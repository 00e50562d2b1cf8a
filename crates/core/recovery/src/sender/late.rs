//! Packets declared lost that may still be acknowledged.
//!
//! A QUIC ACK contains packet numbers. A TCP acknowledgement contains bytes, which may have arrived
//! in the packet or in its repeat. The packet that it echoes has certainly arrived. Other bytes
//! arrived in the packet declared lost if they have not been retransmitted.

use std::collections::{BTreeMap, VecDeque};

use units::{Duration, Time};

use crate::ack::TcpAck;
use crate::feed::Snapshot;
use crate::sender::sent_packets::{Packet, Payload};
use units::Ecn;

/// A packet declared lost, with everything needed if it arrives.
#[derive(Clone, Debug)]
pub(crate) struct DeclaredLost<T> {
    pub(crate) pn: u64,
    pub(crate) serial: u64,
    /// Time at which it was declared lost.
    at: Time,
    /// Serial of the recovery period.
    period: u64,
    pub(crate) sent: Time,
    pub(crate) bytes: u64,
    pub(crate) ecn: Ecn,
    pub(crate) app_limited: bool,
    pub(crate) snapshot: Option<Snapshot>,
    pub(crate) data: T,
}

/// Packets declared lost during the last probe timeouts.
#[derive(Clone, Debug)]
pub(crate) struct LateAcks<T> {
    /// Sorted by packet number; nearly sorted by time, because the oldest packets in flight are
    /// lost first.
    lost: VecDeque<DeclaredLost<T>>,
    /// Number of the last packet declared lost by its first byte, if the payload has not been sent
    /// again.
    unrepeated: BTreeMap<u64, u64>,
    /// Like `unrepeated`, if the payload has been sent again. Kept apart because there are many,
    /// and each acknowledgement looks up the others.
    repeated: BTreeMap<u64, u64>,
    /// Acknowledgements contain packet numbers, so bytes are not looked up.
    by_number: bool,
}

/// Time for which a lost packet is remembered, in probe timeouts.
const MEMORY: u64 = 3;

impl<T: Payload> LateAcks<T> {
    pub(crate) fn new() -> Self {
        Self {
            lost: VecDeque::new(),
            unrepeated: BTreeMap::new(),
            repeated: BTreeMap::new(),
            by_number: false,
        }
    }

    /// Records that the connection uses QUIC ACKs, which contain packet numbers.
    #[inline]
    pub(crate) fn on_quic_ack(&mut self) {
        if !self.by_number {
            self.by_number = true;
            self.unrepeated.clear();
            self.repeated.clear();
        }
    }

    /// Adds `packet`, with this number and serial, declared lost in a recovery period.
    pub(crate) fn add(
        &mut self,
        (pn, serial): (u64, u64),
        at: Time,
        period: u64,
        packet: &Packet<T>,
        snapshot: Option<&Snapshot>,
    ) {
        let Packet { sent, bytes, ecn, app_limited, ref data, .. } = *packet;
        let (bytes, snapshot) = (u64::from(bytes), snapshot.copied());
        let range = data.range();
        if !self.by_number && !range.is_empty() {
            self.repeated.remove(&range.start);
            self.unrepeated.insert(range.start, pn);
        }
        let data = data.clone();
        let declared = DeclaredLost { pn, serial, at, period, sent, bytes, ecn, app_limited, snapshot, data };
        if self.lost.back().is_none_or(|v| v.pn < pn) {
            self.lost.push_back(declared);
        } else {
            self.lost.insert(self.lost.partition_point(|v| v.pn < pn), declared);
        }
    }

    /// Records that the payload starting at this byte is sent again.
    pub(crate) fn on_repeat(&mut self, start: u64) {
        if self.by_number {
            return;
        }
        if let Some(pn) = self.unrepeated.remove(&start) {
            self.repeated.insert(start, pn);
        }
    }

    /// Forgets packets declared lost more than three probe timeouts ago.
    pub(crate) fn prune(&mut self, now: Time, probe_timeout: Duration) {
        while self.lost.front().is_some_and(|v| v.at + probe_timeout * MEMORY < now)
            && let Some(declared) = self.lost.pop_front()
        {
            self.unlist(&declared);
        }
    }

    fn unlist(&mut self, declared: &DeclaredLost<T>) {
        if self.by_number {
            return;
        }
        let start = declared.data.range().start;
        for listed in [&mut self.unrepeated, &mut self.repeated] {
            if listed.get(&start) == Some(&declared.pn) {
                listed.remove(&start);
            }
        }
    }

    /// Moves the packets `low..=high` into `arrived`.
    pub(crate) fn take(&mut self, low: u64, high: u64, arrived: &mut Vec<DeclaredLost<T>>) {
        if self.lost.back().is_none_or(|v| v.pn < low) {
            return; // usual case: arriving packets are newer than lost ones
        }
        let from = self.lost.partition_point(|v| v.pn < low);
        let to = self.lost.partition_point(|v| v.pn <= high).max(from);
        let first = arrived.len();
        arrived.extend(self.lost.drain(from..to));
        for declared in arrived.get(first..).unwrap_or_default() {
            self.unlist(declared);
        }
    }

    /// Moves the packets that a TCP acknowledgement proves to have arrived into `arrived`.
    pub(crate) fn take_covered(&mut self, ack: &TcpAck, arrived: &mut Vec<DeclaredLost<T>>) {
        if self.lost.is_empty() {
            return;
        }
        self.take(ack.echo, ack.echo, arrived);
        while let Some(pn) = self.covered(ack) {
            self.take(pn, pn, arrived);
        }
    }

    /// Records that the repeat of the payload starting at `start` is acknowledged. `by_original`:
    /// the repeat cannot have arrived yet, so the original has. It is moved into `arrived`.
    pub(crate) fn on_repeat_acked(
        &mut self,
        start: u64,
        by_original: bool,
        arrived: &mut Vec<DeclaredLost<T>>,
    ) {
        let Some(pn) = self.repeated.remove(&start).or_else(|| self.unrepeated.remove(&start)) else {
            return;
        };
        if by_original {
            self.take(pn, pn, arrived);
        }
    }

    /// Returns a packet that has not been retransmitted and whose payload has arrived entirely.
    fn covered(&self, ack: &TcpAck) -> Option<u64> {
        let (first, last) = (*self.unrepeated.first_key_value()?.0, *self.unrepeated.last_key_value()?.0);
        let spans = std::iter::once((0, ack.cumulative)).chain(ack.sacks).filter(|s| s.0 < s.1);
        spans.filter(|s| s.0 <= last && first < s.1).find_map(|(start, end)| {
            let mut unrepeated = self.unrepeated.range(start..end).map(|listed| *listed.1);
            unrepeated.find(|pn| self.get(*pn).is_some_and(|v| v.data.range().end <= end))
        })
    }

    fn get(&self, pn: u64) -> Option<&DeclaredLost<T>> {
        self.lost.get(self.lost.partition_point(|v| v.pn < pn)).filter(|v| v.pn == pn)
    }

    pub(crate) fn oldest(&self) -> Option<u64> {
        self.lost.front().map(|v| v.pn)
    }
}

impl<T> DeclaredLost<T> {
    /// Reports whether the loss was counted in this recovery period.
    pub(crate) fn in_period(&self, period: u64) -> bool {
        self.period == period
    }
}

#[cfg(test)]
mod tests {
    use std::ops::Range;

    use proptest::prelude::*;

    use super::*;
    use crate::sender::sent_packets::tests::Piece;
    use crate::sender::sent_packets::{Kind, SentPackets};

    const TIMEOUT: Duration = Duration(10);

    fn given_up(late: &mut LateAcks<Piece>, pn: u64, at: u64, piece: &Range<u64>) {
        let mut sent = SentPackets::new(false);
        let names = (Kind::Fresh, sent.next_slot());
        let data = Piece(piece.start, piece.end);
        sent.push(Time::ZERO, 1, names, Ecn::NotEct, Snapshot::default(), data);
        for (_, packet) in sent.in_flight() {
            late.add((pn, pn), Time(at), 0, packet, None);
        }
    }

    /// A plain list, searched from end to end.
    #[derive(Default)]
    struct List(Vec<Lost>);

    struct Lost {
        pn: u64,
        at: u64,
        piece: Range<u64>,
        /// The bytes can be looked up: this is the last packet declared lost with this first byte,
        /// and none of its repeats is acknowledged.
        listed: bool,
        repeated: bool,
    }

    impl List {
        fn add(&mut self, pn: u64, at: u64, piece: Range<u64>) {
            self.0.iter_mut().filter(|l| l.piece.start == piece.start).for_each(|l| l.listed = false);
            self.0.push(Lost { pn, at, piece, listed: true, repeated: false });
        }

        fn listed(&mut self, start: u64) -> Option<&mut Lost> {
            self.0.iter_mut().find(|l| l.listed && l.piece.start == start)
        }

        fn take(&mut self, arrives: impl Fn(&Lost) -> bool) -> Vec<u64> {
            self.0.extract_if(.., |l| arrives(l)).map(|l| l.pn).collect()
        }

        fn on_repeat_acked(&mut self, start: u64, by_original: bool) -> Vec<u64> {
            let Some(lost) = self.listed(start) else { return Vec::new() };
            lost.listed = false;
            let pn = lost.pn;
            self.take(|l| by_original && l.pn == pn)
        }
    }

    #[derive(Clone, Debug)]
    enum Op {
        GiveUp { start: u64, len: u64 },
        Repeat { start: u64 },
        Ack { cumulative: u64, sacks: [(u64, u64); 3], echo: u64 },
        RepeatAcked { start: u64, by_original: bool },
        Numbers { low: u64, len: u64 },
        Prune,
    }

    fn op() -> impl Strategy<Value = Op> {
        let sack = || (0u64..30, 0u64..12).prop_map(|(start, len)| (start, start + len));
        prop_oneof![
            4 => (0u64..30, 1u64..4).prop_map(|(start, len)| Op::GiveUp { start, len }),
            2 => (0u64..30).prop_map(|start| Op::Repeat { start }),
            1 => (0u64..30, [sack(), sack(), sack()], 0u64..60)
                .prop_map(|(cumulative, sacks, echo)| Op::Ack { cumulative, sacks, echo }),
            1 => (0u64..30, any::<bool>())
                .prop_map(|(start, by_original)| Op::RepeatAcked { start, by_original }),
            1 => (0u64..60, 0u64..4).prop_map(|(low, len)| Op::Numbers { low, len }),
            1 => Just(Op::Prune),
        ]
    }

    proptest! {
        /// The packets found to be late are those that a plain list finds, in every order of loss,
        /// repeat, acknowledgement and expiry.
        #[test]
        fn like_a_list(ops in prop::collection::vec(op(), 1..120)) {
            let mut late = LateAcks::new();
            let mut list = List::default();
            for (now, op) in (0..).zip(ops) {
                let mut arrived = Vec::new();
                let expected = match op {
                    Op::GiveUp { start, len } => {
                        let piece = start..start + len;
                        given_up(&mut late, now, now, &piece);
                        list.add(now, now, piece);
                        Vec::new()
                    }
                    Op::Repeat { start } => {
                        late.on_repeat(start);
                        list.listed(start).into_iter().for_each(|l| l.repeated = true);
                        Vec::new()
                    }
                    Op::Ack { cumulative, sacks, echo } => {
                        let ack = TcpAck { cumulative, sacks, echo, ..TcpAck::default() };
                        late.take_covered(&ack, &mut arrived);
                        let by_bytes = |l: &Lost| l.listed && !l.repeated && {
                            let within = |s: u64, e: u64| s <= l.piece.start && l.piece.end <= e;
                            within(0, cumulative) || sacks.iter().any(|&(s, e)| within(s, e))
                        };
                        list.take(|l| l.pn == echo || by_bytes(l))
                    }
                    Op::RepeatAcked { start, by_original } => {
                        late.on_repeat_acked(start, by_original, &mut arrived);
                        list.on_repeat_acked(start, by_original)
                    }
                    Op::Numbers { low, len } => {
                        late.take(low, low + len, &mut arrived);
                        list.take(|l| (low..=low + len).contains(&l.pn))
                    }
                    Op::Prune => {
                        late.prune(Time(now), TIMEOUT);
                        list.take(|l| l.at + TIMEOUT.0 * MEMORY < now);
                        Vec::new()
                    }
                };
                let mut found: Vec<_> = arrived.iter().map(|declared| declared.pn).collect();
                found.sort_unstable();
                prop_assert_eq!(found, expected);
                prop_assert_eq!(late.oldest(), list.0.first().map(|l| l.pn));
            }
        }
    }
}

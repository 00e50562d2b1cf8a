//! Packets of one sender until they are acknowledged, declared lost, or repeated.
//!
//! A log of an endpoint tells which packets it declared lost. A capture does not: it shows data
//! that is sent again while its packet is unacknowledged. Such a packet counts as lost at that
//! moment, and the rule is inferred from what the sender knew then (RFC 9002 section 6.1):
//!
//! ```text
//! packet threshold   a packet sent at least three later is acknowledged
//! time threshold     a later packet is acknowledged, and 9/8 of the RTT have passed
//! timeout            otherwise
//! ```

use std::collections::{BTreeMap, BTreeSet};

use quic::Space;
use recovery::Reassembly;
use units::{Duration, Time};

use crate::event::{Ack, Packet, Piece, Trigger};

/// Largest number of unacknowledged packets. The oldest are forgotten.
const MOST: usize = 1 << 18;
/// Largest number of streams whose data is followed.
pub(super) const MOST_STREAMS: usize = 1 << 16;
/// Upper bound of the length of a piece, in bytes: that of a joined segment.
const MAX_PIECE: u64 = 1 << 18;
/// Packet threshold of RFC 9002 section 6.1.1.
const PACKET_THRESHOLD: u64 = 3;

/// A packet that was sent.
#[derive(Clone, Debug)]
struct Sent {
    at: Time,
    /// Bytes that it has in flight.
    in_flight: u32,
    ack_eliciting: bool,
    /// True if it carries data that was sent before.
    is_repeat: bool,
    /// Rule by which its data was sent again, as far as it shows.
    repeated: Option<Trigger>,
    lost: Option<Trigger>,
    pieces: Pieces,
}

/// Pieces of a packet. Nearly all packets have one.
#[derive(Clone, Debug)]
enum Pieces {
    None,
    One(Piece),
    Several(Box<[Piece]>),
}

impl Pieces {
    fn new(pieces: &[Piece]) -> Self {
        match pieces {
            [] => Self::None,
            [one] => Self::One(*one),
            several => Self::Several(several.into()),
        }
    }

    fn as_slice(&self) -> &[Piece] {
        match self {
            Self::None => &[],
            Self::One(piece) => std::slice::from_ref(piece),
            Self::Several(pieces) => pieces,
        }
    }
}

/// Result of a departure.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Departed {
    /// Some of its data was sent before.
    pub(super) repeats: bool,
    /// Packets that this repeat shows to be lost: when they were sent, and the inferred rule.
    pub(super) lost: Vec<(u64, Trigger)>,
}

/// Result of an acknowledgement.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Acknowledged {
    /// RTT sample, with the receiver's delay.
    pub(super) rtt: Option<Duration>,
    pub(super) packets: u64,
    /// Send times of the acknowledged packets that elicited an acknowledgement.
    pub(super) sent_at: Vec<Time>,
    /// Stream bytes acknowledged for the first time.
    pub(super) fresh: u64,
    /// Acknowledged packets that had been declared lost.
    pub(super) spurious: u64,
    /// Rules by which acknowledged packets had been declared lost or repeated.
    pub(super) wrong: Vec<Trigger>,
    /// Acknowledged packets whose data had been sent again.
    pub(super) repeated: u64,
}

/// Packets of one sender.
#[derive(Debug, Default)]
pub(super) struct Flight {
    spaces: [BTreeMap<u64, Sent>; 3],
    largest_acked: [Option<u64>; 3],
    /// TCP: end of the data and number of each packet that is not acknowledged.
    ends: BTreeSet<(u64, u64)>,
    /// Data of packets that are neither acknowledged nor repeated, by stream and first byte: the
    /// end and the packet number.
    outstanding: BTreeMap<(u64, u64), (u64, u64)>,
    /// End of the data of each stream that was sent.
    highest: BTreeMap<u64, u64>,
    acked: BTreeMap<u64, Reassembly>,
    in_flight: u64,
    pub(super) latest_rtt: Option<Duration>,
    pub(super) min_rtt: Option<Duration>,
    is_tcp: bool,
}

impl Flight {
    pub(super) fn new(is_tcp: bool) -> Self {
        Self { is_tcp, ..Self::default() }
    }

    pub(super) fn bytes_in_flight(&self) -> u64 {
        self.in_flight
    }

    /// Returns the end of the data sent in all streams.
    pub(super) fn sent_bytes(&self) -> u64 {
        self.highest.values().fold(0, |sum, end| sum.saturating_add(*end))
    }

    /// Records a packet that leaves.
    pub(super) fn on_sent(&mut self, now: Time, number: u64, packet: &Packet<'_>) -> Departed {
        let mut departed = Departed::default();
        // Nothing acknowledges it.
        if !packet.ack_eliciting && !packet.in_flight {
            return departed;
        }
        for piece in packet.pieces.iter().filter(|piece| piece.len > 0) {
            if self.highest.len() >= MOST_STREAMS && !self.highest.contains_key(&piece.stream) {
                continue;
            }
            let highest = self.highest.entry(piece.stream).or_default();
            departed.repeats |= piece.offset < *highest;
            *highest = piece.end().max(*highest);
            if piece.offset < *highest {
                self.repeat(now, piece, &mut departed.lost);
            }
            self.outstanding.insert((piece.stream, piece.offset), (piece.end(), number));
            if self.is_tcp {
                self.ends.insert((piece.end(), number));
            }
        }
        let in_flight = if packet.in_flight { packet.bytes } else { 0 };
        self.in_flight += u64::from(in_flight);
        let sent = Sent {
            at: now,
            in_flight,
            ack_eliciting: packet.ack_eliciting,
            is_repeat: departed.repeats,
            repeated: None,
            lost: None,
            pieces: Pieces::new(packet.pieces),
        };
        let space = packet.space as usize;
        // A number that is used again begins another connection.
        if let Some(old) = self.spaces[space].insert(number, sent) {
            self.in_flight -= u64::from(old.in_flight);
        }
        self.forget_oldest(space);
        departed
    }

    fn forget_oldest(&mut self, space: usize) {
        if self.spaces[space].len() > MOST
            && let Some((number, sent)) = self.spaces[space].pop_first()
        {
            self.leave(number, &sent);
        }
    }

    /// Marks outstanding packets that hold data of this piece as repeated.
    fn repeat(&mut self, now: Time, piece: &Piece, lost: &mut Vec<(u64, Trigger)>) {
        let from = (piece.stream, piece.offset.saturating_sub(MAX_PIECE));
        let overlapping = self.outstanding.range(from..(piece.stream, piece.end()));
        let holders: Vec<u64> =
            overlapping.filter(|(_, (end, _))| *end > piece.offset).map(|(_, (_, number))| *number).collect();
        for number in holders {
            let trigger = self.rule(now, number);
            let Some(sent) = self.spaces[Space::Application as usize].get_mut(&number) else { continue };
            sent.repeated = sent.repeated.or(Some(trigger));
            let in_flight = std::mem::take(&mut sent.in_flight);
            let pieces = sent.pieces.clone();
            self.in_flight -= u64::from(in_flight);
            lost.push((number, trigger));
            self.settle(number, pieces.as_slice());
        }
    }

    /// Infers the rule by which a packet is declared lost now.
    fn rule(&self, now: Time, number: u64) -> Trigger {
        let space = Space::Application as usize;
        let later = self.largest_acked[space].filter(|largest| *largest > number);
        let sent = self.spaces[space].get(&number).map_or(now, |sent| sent.at);
        let rtt = self.latest_rtt.unwrap_or(Duration::ZERO);
        match later {
            Some(largest) if largest - number >= PACKET_THRESHOLD => Trigger::PacketThreshold,
            Some(_) if now - sent >= rtt.mul_f64(1.125) => Trigger::TimeThreshold,
            _ => Trigger::Timeout,
        }
    }

    /// Removes data from what is outstanding.
    fn settle(&mut self, number: u64, pieces: &[Piece]) {
        for piece in pieces {
            let key = (piece.stream, piece.offset);
            if self.outstanding.get(&key).is_some_and(|(_, holder)| *holder == number) {
                self.outstanding.remove(&key);
            }
        }
    }

    /// Removes a packet that is not followed any more.
    fn leave(&mut self, number: u64, sent: &Sent) {
        self.in_flight -= u64::from(sent.in_flight);
        self.settle(number, sent.pieces.as_slice());
        if self.is_tcp {
            sent.pieces.as_slice().iter().for_each(|piece| {
                self.ends.remove(&(piece.end(), number));
            });
        }
    }

    /// Records a loss that the log reports. Returns the time at which the packet was sent.
    pub(super) fn on_lost(&mut self, space: Space, number: u64, trigger: Trigger) -> Option<Time> {
        let sent = self.spaces[space as usize].get_mut(&number)?;
        sent.lost = Some(trigger);
        let in_flight = std::mem::take(&mut sent.in_flight);
        let at = sent.at;
        self.in_flight -= u64::from(in_flight);
        if self.is_tcp {
            // A cumulative acknowledgement from now on is one of the repeat.
            let pieces = sent.pieces.clone();
            pieces.as_slice().iter().for_each(|piece| {
                self.ends.remove(&(piece.end(), number));
            });
        }
        Some(at)
    }

    /// Records an acknowledgement that arrives.
    pub(super) fn on_ack(&mut self, now: Time, space: Space, ack: &Ack) -> Acknowledged {
        let numbers = self.covered(space, ack);
        let mut result = Acknowledged::default();
        let mut newest: Option<(u64, Time)> = None;
        let mut elicits = false;
        result.spurious += u64::from(self.is_tcp && is_duplicate(ack));
        for number in numbers {
            let Some(sent) = self.spaces[space as usize].remove(&number) else { continue };
            self.leave(number, &sent);
            self.deliver(&sent, ack.cumulative, &mut result);
            elicits |= sent.ack_eliciting;
            result.sent_at.push(sent.at);
            let counts = self.proves_arrival(now, &sent);
            // Only QUIC says which transmission arrived.
            if sent.lost.is_some() && counts && !self.is_tcp {
                result.spurious += 1;
                result.wrong.extend(sent.lost);
            }
            if let Some(rule) = sent.repeated.filter(|_| counts && !self.is_tcp) {
                result.repeated += 1;
                result.wrong.extend(Some(rule).filter(|_| sent.lost.is_none()));
            }
            if counts && newest.is_none_or(|newest| newest.0 < number) {
                newest = Some((number, sent.at));
            }
        }
        self.deliver_rest(ack, &mut result);
        if let Some((number, at)) = newest {
            let largest = &mut self.largest_acked[space as usize];
            let raises = largest.is_none_or(|largest| largest < number);
            *largest = (*largest).max(Some(number));
            let is_largest = self.is_tcp || ack.ranges.last().is_some_and(|range| range.1 == number);
            if raises && elicits && is_largest {
                self.sample(now - at, &mut result);
            }
        }
        result
    }

    fn sample(&mut self, rtt: Duration, result: &mut Acknowledged) {
        result.rtt = Some(rtt);
        self.latest_rtt = Some(rtt);
        self.min_rtt = Some(self.min_rtt.map_or(rtt, |min| min.min(rtt)));
    }

    /// Reports whether an acknowledgement is one of this transmission. TCP acknowledges bytes, so
    /// that of a repeat is not, if it comes sooner than a round trip (Karn, RFC 8985 section 6.2).
    fn proves_arrival(&self, now: Time, sent: &Sent) -> bool {
        !self.is_tcp || !sent.is_repeat || self.min_rtt.is_none_or(|min| now - sent.at >= min)
    }

    /// Returns the followed packets that an acknowledgement covers, ascending.
    fn covered(&self, space: Space, ack: &Ack) -> Vec<u64> {
        let sent = &self.spaces[space as usize];
        let mut numbers: Vec<u64> = Vec::new();
        for &(first, last) in ack.ranges.iter().filter(|range| range.0 <= range.1) {
            numbers.extend(sent.range(first..=last).map(|(number, _)| *number));
        }
        if let Some(cumulative) = ack.cumulative.filter(|_| ack.ranges.is_empty()) {
            numbers.extend(self.ends.range(..=(cumulative, u64::MAX)).map(|(_, number)| *number));
        }
        for &(first, last) in ack.selective.iter().filter(|block| block.0 < block.1) {
            let within = self.ends.range((first.saturating_add(1), 0)..=(last, u64::MAX));
            numbers.extend(within.map(|(_, number)| *number).filter(|number| {
                sent.get(number).is_some_and(|sent| {
                    sent.pieces.as_slice().iter().all(|piece| first <= piece.offset && piece.end() <= last)
                })
            }));
        }
        numbers.sort_unstable();
        numbers.dedup();
        numbers
    }

    /// Counts the data of an acknowledged packet.
    fn deliver(&mut self, sent: &Sent, cumulative: Option<u64>, result: &mut Acknowledged) {
        result.packets += 1;
        for piece in sent.pieces.as_slice() {
            let end = cumulative.map_or(piece.end(), |byte| piece.end().max(byte.min(piece.end())));
            result.fresh += self.acked.entry(piece.stream).or_default().insert(piece.offset, end);
        }
    }

    /// Counts bytes below TCP's cumulative acknowledgement whose packets are not followed.
    fn deliver_rest(&mut self, ack: &Ack, result: &mut Acknowledged) {
        let (Some(byte), Some(sent)) = (ack.cumulative, self.highest.get(&0)) else { return };
        let acked = self.acked.entry(0).or_default();
        // The FIN counts as a byte, which no packet carries.
        let byte = byte.min(*sent);
        if byte > acked.contiguous() {
            result.fresh += acked.insert(acked.contiguous(), byte);
        }
    }
}

/// Reports whether the first SACK block is a DSACK: the receiver had this data before (RFC 2883).
fn is_duplicate(ack: &Ack) -> bool {
    let Some(first) = ack.selective.first() else { return false };
    let is_below = ack.cumulative.is_some_and(|byte| first.1 <= byte);
    is_below || ack.selective.get(1).is_some_and(|next| next.0 <= first.0 && first.1 <= next.1)
}

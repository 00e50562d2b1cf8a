//! Follows one sender's packets until they are acknowledged, or lost and their data sent again.
//! Takes RTT samples and counts bytes in flight.
//!
//! A capture does not show when a stack declares a packet lost. It shows data that is sent again
//! while its packet is unacknowledged. That packet is *repeated*, and no longer counts as in
//! flight. A repeated packet that is never acknowledged is *lost*. If it is acknowledged later, the
//! retransmission was *spurious*: a PTO probe or a wrong loss detection.
//!
//! Packets without data to retransmit need another rule. A packet leaves the flight when an ACK
//! arrives for a packet sent two round trips after it.

use std::collections::BTreeMap;

use crate::{Level, Side, Space};
use units::{Duration, Time};

use super::packet::{Ack, Packet, Piece};

/// Number of round trips after which an unacknowledged packet leaves the flight.
const EXPIRY_RTTS: u64 = 2;
/// Upper bound of the length of a piece: the size of the largest datagram, in bytes.
const MAX_PIECE: u64 = 1 << 16;

#[derive(Clone, Debug)]
struct Sent {
    at: Time,
    /// Bytes that it has in flight.
    in_flight: u64,
    ack_eliciting: bool,
    pieces: Vec<Piece>,
    repeated: bool,
}

impl Sent {
    /// Removes the packet from the flight. Returns its bytes in flight.
    fn leave_flight(&mut self) -> u64 {
        std::mem::take(&mut self.in_flight)
    }
}

/// Result of a departure of one of the sender's packets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Departed {
    /// True if it carries data that was sent before.
    pub repeats: bool,
    /// Bytes of data in it that were not sent before.
    pub fresh: u64,
}

/// Result of an arrival of one of the peer's packets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Acknowledged {
    /// RTT sample (RFC 9002 section 5.1): the time since the largest newly acknowledged packet was
    /// sent. There is a sample only if that packet is the largest of the ACK, and a newly
    /// acknowledged packet is ACK-eliciting. The peer's ACK delay is included.
    pub rtt: Option<Duration>,
    /// Number of newly acknowledged packets.
    pub acked: u64,
    /// Number of newly acknowledged packets whose data had been sent again.
    pub spurious: u64,
}

/// Packets of one sender, in all of its packet number spaces.
#[derive(Clone, Debug)]
pub struct Flight {
    sender: Side,
    spaces: [BTreeMap<u64, Sent>; 3],
    /// Data of 1-RTT packets that are neither acknowledged nor repeated. Maps a stream and a first
    /// byte to an end and a packet number.
    outstanding: BTreeMap<(u64, u64), (u64, u64)>,
    /// End of the data of each stream that was sent so far.
    left: BTreeMap<u64, u64>,
    in_flight: u64,
    latest_rtt: Option<Duration>,
    /// Packets below these numbers have left the flight.
    expired_below: [u64; 3],
    /// Packets that were repeated and not acknowledged so far, with the time of the first repeat.
    repeated: BTreeMap<u64, Time>,
}

impl Flight {
    /// Creates the state for the packets of `sender`.
    pub fn new(sender: Side) -> Self {
        Self {
            sender,
            spaces: Default::default(),
            outstanding: BTreeMap::new(),
            left: BTreeMap::new(),
            in_flight: 0,
            latest_rtt: None,
            expired_below: [0; 3],
            repeated: BTreeMap::new(),
        }
    }

    /// Returns the bytes in flight, as far as the capture shows them.
    pub fn bytes_in_flight(&self) -> u64 {
        self.in_flight
    }

    /// Returns the newest RTT sample.
    pub fn latest_rtt(&self) -> Option<Duration> {
        self.latest_rtt
    }

    /// Returns the 1-RTT packets whose data was sent again and that were never acknowledged. Each
    /// is a packet number and the time at which the data was sent again.
    pub fn lost(&self) -> impl Iterator<Item = (u64, Time)> + '_ {
        self.repeated.iter().map(|(number, at)| (*number, *at))
    }

    /// Records a departure of one of the sender's packets.
    pub fn on_departure(&mut self, now: Time, packet: &Packet) -> Departed {
        let mut departed = Departed::default();
        for piece in packet.pieces.iter().filter(|piece| piece.len > 0) {
            let left = self.left.entry(piece.stream).or_default();
            departed.repeats |= piece.offset < *left;
            departed.fresh += piece.end().saturating_sub(piece.offset.max(*left));
            *left = piece.end().max(*left);
            self.repeat(now, piece);
            self.outstanding.insert((piece.stream, piece.offset), (piece.end(), packet.number));
        }
        let in_flight = if packet.in_flight { u64::from(packet.bytes) } else { 0 };
        self.in_flight += in_flight;
        let (ack_eliciting, pieces) = (packet.ack_eliciting, packet.pieces.clone());
        let sent = Sent { at: now, in_flight, ack_eliciting, pieces, repeated: false };
        self.spaces[packet.level.space() as usize].insert(packet.number, sent);
        self.discard(packet, true);
        departed
    }

    /// Marks outstanding packets that hold data of this piece as repeated.
    fn repeat(&mut self, now: Time, piece: &Piece) {
        let from = (piece.stream, piece.offset.saturating_sub(MAX_PIECE));
        let overlapping = self.outstanding.range(from..(piece.stream, piece.end()));
        let numbers: Vec<u64> =
            overlapping.filter(|(_, (end, _))| *end > piece.offset).map(|(_, (_, number))| *number).collect();
        for number in numbers {
            let Some(sent) = self.spaces[Space::Application as usize].get_mut(&number) else { continue };
            sent.repeated = true;
            self.in_flight -= sent.leave_flight();
            self.repeated.entry(number).or_insert(now);
            let pieces = std::mem::take(&mut sent.pieces);
            self.remove_outstanding(number, &pieces);
        }
    }

    /// Removes the packet's data from the outstanding data.
    fn remove_outstanding(&mut self, number: u64, pieces: &[Piece]) {
        for piece in pieces {
            let key = (piece.stream, piece.offset);
            if self.outstanding.get(&key).is_some_and(|(_, holder)| *holder == number) {
                self.outstanding.remove(&key);
            }
        }
    }

    /// Records an arrival of one of the peer's packets.
    pub fn on_arrival(&mut self, now: Time, packet: &Packet) -> Acknowledged {
        let mut result = Acknowledged::default();
        for ack in &packet.acks {
            self.acknowledge(now, packet.level.space(), ack, &mut result);
        }
        self.discard(packet, false);
        result
    }

    fn acknowledge(&mut self, now: Time, space: Space, ack: &Ack, result: &mut Acknowledged) {
        let (mut elicited, mut newest) = (false, None);
        for &(first, last) in &ack.ranges {
            let numbers: Vec<u64> =
                self.spaces[space as usize].range(first..=last).map(|(number, _)| *number).collect();
            for number in numbers {
                let Some(mut sent) = self.spaces[space as usize].remove(&number) else { continue };
                result.acked += 1;
                elicited |= sent.ack_eliciting;
                newest = newest.max(Some((number, sent.at)));
                self.in_flight -= sent.leave_flight();
                self.remove_outstanding(number, &sent.pieces);
                if sent.repeated {
                    result.spurious += 1;
                    self.repeated.remove(&number);
                }
            }
        }
        let Some((number, sent)) = newest else { return };
        if elicited && Some(number) == ack.largest() {
            result.rtt = Some(now - sent);
            self.latest_rtt = result.rtt;
        }
        self.expire(space, sent);
    }

    /// Removes old packets from the flight after an ACK of a packet sent at `acknowledged`. Their
    /// data stays outstanding, because it may still be sent again.
    fn expire(&mut self, space: Space, acknowledged: Time) {
        let Some(rtt) = self.latest_rtt else { return };
        let expired_below = &mut self.expired_below[space as usize];
        for (&number, sent) in self.spaces[space as usize].range_mut(*expired_below..) {
            if sent.at + rtt * EXPIRY_RTTS >= acknowledged {
                break;
            }
            *expired_below = number + 1;
            self.in_flight -= sent.leave_flight();
        }
    }

    /// Removes the packets of a space whose keys are discarded (RFC 9001 section 4.9, RFC 9002
    /// section 6.4).
    fn discard(&mut self, packet: &Packet, departs: bool) {
        let initial = match self.sender {
            Side::Client => departs && packet.level == Level::Handshake,
            Side::Server => !departs && packet.level == Level::Handshake,
        };
        let confirms = packet.handshake_done && departs == (self.sender == Side::Server);
        for space in [(Space::Initial, initial), (Space::Handshake, confirms)].iter().filter(|s| s.1) {
            let gone = std::mem::take(&mut self.spaces[space.0 as usize]);
            self.in_flight -= gone.values().map(|sent| sent.in_flight).sum::<u64>();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Time {
        Time::from_millis(ms)
    }

    /// Returns a packet with STREAM frames of stream 0: offsets and lengths, in units of 100 bytes.
    fn data(number: u64, pieces: &[(u16, u16)]) -> Packet {
        let mut payload = Vec::new();
        for (begin, length) in pieces {
            payload.extend([0x0e, 0]);
            payload.extend((0x4000 | (begin * 100)).to_be_bytes());
            payload.extend((0x4000 | (length * 100)).to_be_bytes());
            payload.resize(payload.len() + usize::from(length * 100), 0);
        }
        Packet::read(Level::OneRtt, number, 1000, &payload)
    }

    fn ping(number: u64) -> Packet {
        Packet::read(Level::OneRtt, number, 1000, &[1])
    }

    fn ack(first: u8, last: u8) -> Packet {
        Packet::read(Level::OneRtt, 0, 40, &[0x02, last, 0, 0, last - first])
    }

    fn lost(flight: &Flight) -> Vec<(u64, Time)> {
        flight.lost().collect()
    }

    #[test]
    fn repeated_and_then_acknowledged_was_in_vain() {
        let mut flight = Flight::new(Side::Server);
        assert_eq!(
            flight.on_departure(ms(0), &data(0, &[(0, 10)])),
            Departed { repeats: false, fresh: 1000 }
        );
        assert_eq!(flight.on_departure(ms(5), &data(1, &[(0, 10)])), Departed { repeats: true, fresh: 0 });
        assert_eq!((flight.bytes_in_flight(), lost(&flight)), (1000, vec![(0, ms(5))]));
        let result = flight.on_arrival(ms(20), &ack(0, 1));
        assert_eq!(result, Acknowledged { rtt: Some(Duration::from_millis(15)), acked: 2, spurious: 1 });
        assert_eq!((flight.bytes_in_flight(), lost(&flight)), (0, vec![]));
        assert_eq!(flight.on_arrival(ms(30), &ack(0, 1)), Acknowledged::default(), "nothing new");
    }

    /// Data may be split differently the second time. Every packet that held some of it is
    /// repeated; the others are not.
    #[test]
    fn repeats_of_pieces() {
        let mut flight = Flight::new(Side::Server);
        flight.on_departure(ms(0), &data(0, &[(0, 3)]));
        flight.on_departure(ms(1), &data(1, &[(3, 3), (20, 3)]));
        flight.on_departure(ms(2), &data(2, &[(6, 3)]));
        let again = flight.on_departure(ms(9), &data(3, &[(2, 2), (9, 1)]));
        assert_eq!(again, Departed { repeats: true, fresh: 0 }, "200 to 400, and 900 before 2300");
        assert_eq!(lost(&flight), [(0, ms(9)), (1, ms(9))]);
        assert_eq!(flight.bytes_in_flight(), 2000);
        // The other piece of packet 1 is sent again later; packet 1 is already repeated.
        flight.on_departure(ms(12), &data(4, &[(20, 3)]));
        assert_eq!(lost(&flight), [(0, ms(9)), (1, ms(9))]);
    }

    /// A lost PING is never sent again: it leaves the flight two round trips later. A packet whose
    /// data is sent again even later is lost.
    #[test]
    fn fates_settle() {
        let mut flight = Flight::new(Side::Server);
        flight.on_departure(ms(0), &ping(0));
        flight.on_departure(ms(0), &data(1, &[(0, 5)]));
        flight.on_departure(ms(10), &ping(2));
        flight.on_arrival(ms(20), &ack(2, 2));
        assert_eq!(flight.bytes_in_flight(), 2000);
        flight.on_departure(ms(21), &ping(3));
        flight.on_arrival(ms(31), &ack(2, 3));
        assert_eq!(
            flight.bytes_in_flight(),
            0,
            "what left at 0 is more than two round trips of 10 ms before 21"
        );
        flight.on_departure(ms(40), &data(4, &[(0, 5)]));
        assert_eq!((flight.bytes_in_flight(), lost(&flight)), (1000, vec![(1, ms(40))]));
        assert_eq!(flight.latest_rtt(), Some(Duration::from_millis(10)));
    }

    /// No sample if the largest packet was acknowledged before, or no newly acknowledged packet is
    /// ACK-eliciting (RFC 9002 section 5.1).
    #[test]
    fn samples_of_the_largest_alone() {
        let mut flight = Flight::new(Side::Server);
        for number in 0..3 {
            flight.on_departure(ms(number), &ping(number));
        }
        flight.on_departure(ms(3), &Packet::read(Level::OneRtt, 3, 40, &[0x02, 0, 0, 0, 0]));
        assert!(flight.on_arrival(ms(20), &ack(2, 2)).rtt.is_some());
        assert_eq!(flight.on_arrival(ms(21), &ack(1, 2)), Acknowledged { rtt: None, acked: 1, spurious: 0 });
        assert_eq!(flight.on_arrival(ms(22), &ack(3, 3)), Acknowledged { rtt: None, acked: 1, spurious: 0 });
    }

    /// RFC 9002 section 6.4: packets of spaces whose keys are discarded leave the flight.
    #[test]
    fn spaces_that_are_over() {
        let mut server = Flight::new(Side::Server);
        server.on_departure(ms(0), &Packet::read(Level::Initial, 0, 1200, &[1]));
        server.on_departure(ms(0), &Packet::read(Level::Handshake, 0, 800, &[1]));
        server.on_arrival(ms(20), &Packet::read(Level::Handshake, 0, 100, &[1]));
        assert_eq!(server.bytes_in_flight(), 800);
        server.on_departure(ms(21), &Packet::read(Level::OneRtt, 0, 50, &[0x1e]));
        assert_eq!(server.bytes_in_flight(), 50);
    }
}

//! What one sender's packets become: acknowledged, or lost and their data sent again; RTT samples, bytes in flight.
//!
//! The wire does not tell when a stack declares a packet lost. What it tells is that data leaves again whose packet is not acknowledged:
//! that packet is *repeated*, and counts out of the flight from then on. Repeated and never acknowledged is *lost*; repeated and
//! acknowledged later was repeated in vain, by a probe of a timeout or a wrong verdict. A packet that is neither acknowledged nor repeated
//! when a packet that left two round trips later is acknowledged carried nothing that had to be repeated, and counts out too.

use std::collections::BTreeMap;

use quic::{Level, Side, Space};
use units::{Duration, Time};

use super::packet::{Ack, Packet, Piece};

/// So many round trips after a packet its fate is known.
const SETTLED: u64 = 2;
/// More than a piece of data has: a datagram has no more.
const LONGEST: u64 = 1 << 16;

#[derive(Clone, Debug)]
struct Sent {
    at: Time,
    /// What it has in flight.
    flying: u64,
    elicits: bool,
    pieces: Vec<Piece>,
    repeated: bool,
}

impl Sent {
    /// Out of the flight: how many bytes that were.
    fn leave(&mut self) -> u64 {
        std::mem::take(&mut self.flying)
    }
}

/// A packet of the sender has left.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Departed {
    /// It carries data that had left before.
    pub repeats: bool,
    /// Bytes of data in it that had not left before.
    pub fresh: u64,
}

/// A packet of the peer has arrived.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answered {
    /// RTT sample (RFC 9002 section 5.1): from the sending of the largest packet that is newly acknowledged until now, if it is the
    /// largest of the ACK and one of the newly acknowledged elicited ACKs. The peer's delay is in it.
    pub rtt: Option<Duration>,
    /// Packets newly acknowledged.
    pub acked: u64,
    /// Those of them that had been repeated.
    pub in_vain: u64,
}

/// The packets of one sender, over all of its packet number spaces.
#[derive(Clone, Debug)]
pub struct Flight {
    sender: Side,
    spaces: [BTreeMap<u64, Sent>; 3],
    /// Data of 1-RTT packets that are neither acknowledged nor repeated: stream and first byte, to the end and the packet.
    open: BTreeMap<(u64, u64), (u64, u64)>,
    /// Up to where each stream has left.
    left: BTreeMap<u64, u64>,
    in_flight: u64,
    latest_rtt: Option<Duration>,
    /// Below these numbers every fate is known.
    settled: [u64; 3],
    /// Repeated, and not acknowledged so far: when, and which.
    repeated: BTreeMap<u64, Time>,
}

impl Flight {
    /// Of this end's packets.
    pub fn new(sender: Side) -> Self {
        Self {
            sender,
            spaces: Default::default(),
            open: BTreeMap::new(),
            left: BTreeMap::new(),
            in_flight: 0,
            latest_rtt: None,
            settled: [0; 3],
            repeated: BTreeMap::new(),
        }
    }

    /// Bytes in flight, by what the wire tells.
    pub fn bytes_in_flight(&self) -> u64 {
        self.in_flight
    }

    /// The newest RTT sample.
    pub fn latest_rtt(&self) -> Option<Duration> {
        self.latest_rtt
    }

    /// The 1-RTT packets whose data was sent again and that were never acknowledged: number, and when the data left again.
    pub fn lost(&self) -> impl Iterator<Item = (u64, Time)> + '_ {
        self.repeated.iter().map(|(number, at)| (*number, *at))
    }

    /// A packet of the sender leaves.
    pub fn on_departure(&mut self, now: Time, packet: &Packet) -> Departed {
        let mut departed = Departed::default();
        for piece in packet.pieces.iter().filter(|piece| piece.len > 0) {
            let left = self.left.entry(piece.stream).or_default();
            departed.repeats |= piece.offset < *left;
            departed.fresh += piece.end().saturating_sub(piece.offset.max(*left));
            *left = piece.end().max(*left);
            self.repeat(now, piece);
            self.open.insert((piece.stream, piece.offset), (piece.end(), packet.number));
        }
        let flying = if packet.in_flight { u64::from(packet.bytes) } else { 0 };
        self.in_flight += flying;
        let (elicits, pieces) = (packet.elicits, packet.pieces.clone());
        let sent = Sent { at: now, flying, elicits, pieces, repeated: false };
        self.spaces[packet.level.space() as usize].insert(packet.number, sent);
        self.discard(packet, true);
        departed
    }

    /// Whatever open packet has data of this piece is repeated.
    fn repeat(&mut self, now: Time, piece: &Piece) {
        let from = (piece.stream, piece.offset.saturating_sub(LONGEST));
        let overlapping = self.open.range(from..(piece.stream, piece.end()));
        let numbers: Vec<u64> =
            overlapping.filter(|(_, (end, _))| *end > piece.offset).map(|(_, (_, number))| *number).collect();
        for number in numbers {
            let Some(sent) = self.spaces[Space::Application as usize].get_mut(&number) else { continue };
            sent.repeated = true;
            self.in_flight -= sent.leave();
            self.repeated.entry(number).or_insert(now);
            let pieces = std::mem::take(&mut sent.pieces);
            self.close(number, &pieces);
        }
    }

    /// The packet's data is open no more.
    fn close(&mut self, number: u64, pieces: &[Piece]) {
        for piece in pieces {
            let key = (piece.stream, piece.offset);
            if self.open.get(&key).is_some_and(|(_, holder)| *holder == number) {
                self.open.remove(&key);
            }
        }
    }

    /// A packet of the peer arrives at the sender.
    pub fn on_arrival(&mut self, now: Time, packet: &Packet) -> Answered {
        let mut answered = Answered::default();
        for ack in &packet.acks {
            self.acknowledge(now, packet.level.space(), ack, &mut answered);
        }
        self.discard(packet, false);
        answered
    }

    fn acknowledge(&mut self, now: Time, space: Space, ack: &Ack, answered: &mut Answered) {
        let (mut elicited, mut newest) = (false, None);
        for &(first, last) in &ack.ranges {
            let numbers: Vec<u64> =
                self.spaces[space as usize].range(first..=last).map(|(number, _)| *number).collect();
            for number in numbers {
                let Some(mut sent) = self.spaces[space as usize].remove(&number) else { continue };
                answered.acked += 1;
                elicited |= sent.elicits;
                newest = newest.max(Some((number, sent.at)));
                self.in_flight -= sent.leave();
                self.close(number, &sent.pieces);
                if sent.repeated {
                    answered.in_vain += 1;
                    self.repeated.remove(&number);
                }
            }
        }
        let Some((number, sent)) = newest else { return };
        if elicited && Some(number) == ack.largest() {
            answered.rtt = Some(now - sent);
            self.latest_rtt = answered.rtt;
        }
        self.settle(space, sent);
    }

    /// A packet that left then is acknowledged: long before it nothing is on its way any more. What has data stays open, as it may be
    /// repeated still.
    fn settle(&mut self, space: Space, acknowledged: Time) {
        let Some(rtt) = self.latest_rtt else { return };
        let settled = &mut self.settled[space as usize];
        for (&number, sent) in self.spaces[space as usize].range_mut(*settled..) {
            if sent.at + rtt * SETTLED >= acknowledged {
                break;
            }
            *settled = number + 1;
            self.in_flight -= sent.leave();
        }
    }

    /// Keys that are gone take their packets out of the flight (RFC 9001 section 4.9, RFC 9002 section 6.4).
    fn discard(&mut self, packet: &Packet, departs: bool) {
        let initial = match self.sender {
            Side::Client => departs && packet.level == Level::Handshake,
            Side::Server => !departs && packet.level == Level::Handshake,
        };
        let confirms = packet.confirms && departs == (self.sender == Side::Server);
        for space in [(Space::Initial, initial), (Space::Handshake, confirms)].iter().filter(|s| s.1) {
            let gone = std::mem::take(&mut self.spaces[space.0 as usize]);
            self.in_flight -= gone.values().map(|sent| sent.flying).sum::<u64>();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Time {
        Time::from_millis(ms)
    }

    /// STREAM frames of stream 0: begins and lengths, in units of 100 bytes.
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
        let answered = flight.on_arrival(ms(20), &ack(0, 1));
        assert_eq!(answered, Answered { rtt: Some(Duration::from_millis(15)), acked: 2, in_vain: 1 });
        assert_eq!((flight.bytes_in_flight(), lost(&flight)), (0, vec![]));
        assert_eq!(flight.on_arrival(ms(30), &ack(0, 1)), Answered::default(), "nothing new");
    }

    /// Data that is cut another way the second time: every packet that held some of it is repeated, the others are not.
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
        // Its other piece leaves again later: it was repeated before.
        flight.on_departure(ms(12), &data(4, &[(20, 3)]));
        assert_eq!(lost(&flight), [(0, ms(9)), (1, ms(9))]);
    }

    /// A PING that is lost is never sent again: two round trips later it is in no flight. Data that is sent again even later is lost.
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

    /// No sample where the largest is known already, or nothing that is new elicited an ACK (RFC 9002 section 5.1).
    #[test]
    fn samples_of_the_largest_alone() {
        let mut flight = Flight::new(Side::Server);
        for number in 0..3 {
            flight.on_departure(ms(number), &ping(number));
        }
        flight.on_departure(ms(3), &Packet::read(Level::OneRtt, 3, 40, &[0x02, 0, 0, 0, 0]));
        assert!(flight.on_arrival(ms(20), &ack(2, 2)).rtt.is_some());
        assert_eq!(flight.on_arrival(ms(21), &ack(1, 2)), Answered { rtt: None, acked: 1, in_vain: 0 });
        assert_eq!(flight.on_arrival(ms(22), &ack(3, 3)), Answered { rtt: None, acked: 1, in_vain: 0 });
    }

    /// RFC 9002 section 6.4: packets of spaces whose keys are gone leave the flight.
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

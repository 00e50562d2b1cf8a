//! Decrypts the datagrams of one flow. Reports what happened to its data and to its ACKs, in the
//! emulator's time.

use std::collections::BTreeMap;

use quic::{Level, Side};
use units::{Duration, Ecn, Time};

use crate::emu::capture::row::Row;
use crate::processes::capture::Captured;
use quic::passive::{Ack, Arrivals, Datagram, Flight, KeyLog, Packet, Place, Reader};

/// Stream of the request and its response: the client's first bidirectional stream (RFC 9000
/// section 2.1).
pub(crate) const RESPONSE_STREAM: u64 = 0;

/// A datagram sent by the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SentDatagram {
    pub(crate) kind: Kind,
    /// Number and size of its first in-flight packet, or else of its first packet.
    pub(crate) number: u64,
    pub(crate) bytes: u32,
    /// Offset of its first data in the stream, and its bytes of data.
    pub(crate) offset: u64,
    pub(crate) len: u32,
    /// `repeats`: some of its data was sent before. `redundant`: all of its data had arrived
    /// before.
    pub(crate) repeats: bool,
    pub(crate) redundant: bool,
    /// Size of the UDP payload and size on the wire, in bytes.
    pub(crate) payload: u32,
    pub(crate) wire: u32,
    pub(crate) departed: Option<Time>,
}

/// Kind of a datagram in the counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Stream data, or another 1-RTT packet that counts in flight.
    Data,
    /// Only Initial or Handshake packets.
    Handshake,
    /// Only ACKs.
    AckOnly,
}

/// An event of a flow.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Event {
    /// The server sent a datagram.
    Sent(SentDatagram),
    /// The path dropped a datagram that the server sent now.
    Dropped(Kind),
    /// A packet with stream data arrived at the client.
    Received {
        number: u64,
        bytes: u32,
        offset: u64,
        len: u32,
        owd: Duration,
        fresh: u64,
        ecn: Ecn,
        ordered: (u64, u64),
    },
    /// The whole response has arrived.
    Complete,
    /// The client sent a datagram.
    FeedbackSent,
    /// The path dropped a datagram that the client sent now.
    FeedbackDropped,
    /// A packet of the client arrived. It may have an ACK of 1-RTT packets and an RTT sample.
    FeedbackReceived { ack: Option<Ack>, rtt: Option<Duration>, spurious: u64 },
}

/// Decrypted traffic of a flow.
#[derive(Default)]
pub(crate) struct Traffic {
    /// Events in order of time.
    pub(crate) events: Vec<(Time, Event)>,
    /// The server's bytes in flight after each change.
    pub(crate) in_flight: Vec<(Time, u64)>,
    /// Lost 1-RTT packets of the server: packet number, and the time at which the data was sent
    /// again.
    pub(crate) lost: Vec<(u64, Time)>,
    /// Departure times of the server's 1-RTT packets, by packet number.
    pub(crate) departures: BTreeMap<u64, Time>,
    /// The server's congestion window after each change, if its qlog has it.
    pub(crate) windows: Vec<(Time, u64)>,
    /// Time of the client's first datagram.
    pub(crate) first: Option<Time>,
    /// Time of the client's first 1-RTT packet. By then the client has the server's Finished
    /// message.
    pub(crate) connected: Option<Time>,
    /// Departure time of the first data of the response.
    pub(crate) first_data: Option<Time>,
    /// Arrival time of the last byte of the response.
    pub(crate) complete: Option<Time>,
    /// Numbers of decrypted and undecryptable packets.
    pub(crate) opened: u64,
    pub(crate) unopened: u64,
    /// Number of datagrams with bit errors from the link.
    pub(crate) damaged: u64,
    /// Number of the cipher suite, once a ServerHello was captured.
    pub(crate) suite: Option<u16>,
}

/// Reads the datagrams of one flow.
pub(crate) struct TrafficReader {
    reader: Reader,
    flight: Flight,
    arrivals: Arrivals,
    /// Departure times of the server's packets, for the one-way delay.
    departures: BTreeMap<(Level, u64), Time>,
    traffic: Traffic,
}

impl TrafficReader {
    pub(crate) fn new(keys: KeyLog) -> Self {
        Self {
            reader: Reader::new(keys),
            flight: Flight::new(Side::Server),
            arrivals: Arrivals::default(),
            departures: BTreeMap::new(),
            traffic: Traffic::default(),
        }
    }

    /// Reads a datagram captured at an interface. `fate` is its row in the packet log, given where the
    /// datagram leaves.
    pub(crate) fn take(&mut self, captured: &Captured, fate: Option<Row>) {
        let (at, payload) = (captured.at, captured.payload.as_slice());
        let from = if captured.from == 0 { Side::Client } else { Side::Server };
        let place = if captured.seen_by == captured.from { Place::Leaving } else { Place::Arriving };
        let packets = self.reader.read(&Datagram { at, from, place, payload });
        self.traffic.damaged += u64::from(fate.is_some_and(|fate| fate.is_damaged()));
        self.take_packets(captured, (from, place), &packets, fate);
    }

    fn take_packets(&mut self, seen: &Captured, way: (Side, Place), packets: &[Packet], fate: Option<Row>) {
        match way {
            (Side::Server, Place::Leaving) => self.on_sent(seen, packets, fate),
            (Side::Server, Place::Arriving) => self.on_received(seen, packets),
            (Side::Client, Place::Leaving) => self.on_feedback_sent(seen.at, packets, fate),
            (Side::Client, Place::Arriving) => self.on_feedback_received(seen.at, packets),
        }
    }

    /// Reads a datagram whose packets are already decrypted.
    #[cfg(test)]
    pub(super) fn take_opened(&mut self, captured: &Captured, packets: &[Packet], fate: Option<Row>) {
        let from = if captured.from == 0 { Side::Client } else { Side::Server };
        let place = if captured.seen_by == captured.from { Place::Leaving } else { Place::Arriving };
        self.take_packets(captured, (from, place), packets, fate);
    }

    pub(crate) fn finish(mut self) -> Traffic {
        self.traffic.lost = self.flight.lost().collect();
        (self.traffic.opened, self.traffic.unopened) = (self.reader.opened(), self.reader.unopened());
        self.traffic.suite = self.reader.suite();
        let of_data = self.departures.into_iter().filter(|((level, _), _)| *level == Level::OneRtt);
        self.traffic.departures = of_data.map(|((_, number), at)| (number, at)).collect();
        // Drops were pushed together with their departures.
        self.traffic.events.sort_by_key(|(at, _)| *at);
        self.traffic
    }

    fn push(&mut self, at: Time, event: Event) {
        self.traffic.events.push((at, event));
    }

    fn note_flight(&mut self, at: Time) {
        let bytes = self.flight.bytes_in_flight();
        if self.traffic.in_flight.last().is_none_or(|last| last.1 != bytes) {
            self.traffic.in_flight.push((at, bytes));
        }
    }

    fn on_sent(&mut self, captured: &Captured, packets: &[Packet], fate: Option<Row>) {
        let at = captured.at;
        let payload = captured.payload.len() as u32;
        let pieces = || packets.iter().flat_map(|packet| &packet.pieces).filter(|piece| piece.len > 0);
        let redundant = pieces().next().is_some() && pieces().all(|piece| self.arrivals.holds(piece));
        let mut repeats = false;
        for packet in packets {
            self.departures.insert((packet.level, packet.number), at);
            repeats |= self.flight.on_departure(at, packet).repeats;
        }
        if packets.iter().any(|packet| packet.pieces.iter().any(|piece| piece.stream == RESPONSE_STREAM)) {
            self.traffic.first_data.get_or_insert(at);
        }
        let Some(first) = packets.iter().find(|packet| packet.in_flight).or(packets.first()) else { return };
        let data = packets.iter().find(|packet| packet.level == Level::OneRtt && packet.in_flight);
        let kind = match data {
            Some(_) => Kind::Data,
            None if packets.iter().any(|packet| packet.level != Level::OneRtt) => Kind::Handshake,
            None => Kind::AckOnly,
        };
        let first = data.unwrap_or(first);
        let leaving = SentDatagram {
            kind,
            number: first.number,
            bytes: first.bytes,
            offset: pieces().next().map_or(0, |piece| piece.offset),
            len: pieces().map(|piece| piece.len as u32).sum(),
            repeats,
            redundant,
            payload,
            wire: fate.map_or(payload, |fate| fate.size),
            departed: fate.and_then(|fate| fate.departure),
        };
        self.push(at, Event::Sent(leaving));
        if fate.is_some_and(|fate| fate.dropped().is_some()) {
            self.push(at, Event::Dropped(kind));
        }
        self.note_flight(at);
    }

    fn on_received(&mut self, captured: &Captured, packets: &[Packet]) {
        let at = captured.at;
        for packet in packets.iter().filter(|packet| !packet.pieces.is_empty()) {
            let arrived = self.arrivals.on_packet(packet);
            let sent = self.departures.get(&(packet.level, packet.number)).copied().unwrap_or(at);
            let (offset, len) = (packet.pieces[0].offset, arrived.bytes as u32);
            let ordered = arrived.ordered.unwrap_or_default();
            let (number, bytes, fresh, ecn) = (packet.number, packet.bytes, arrived.fresh, captured.ecn);
            self.push(
                at,
                Event::Received { number, bytes, offset, len, owd: at - sent, fresh, ecn, ordered },
            );
        }
        if self.traffic.complete.is_none() && self.arrivals.is_complete(RESPONSE_STREAM) {
            self.traffic.complete = Some(at);
            self.push(at, Event::Complete);
        }
    }

    fn on_feedback_sent(&mut self, at: Time, packets: &[Packet], fate: Option<Row>) {
        self.traffic.first.get_or_insert(at);
        if packets.iter().any(|packet| packet.level == Level::OneRtt) {
            self.traffic.connected.get_or_insert(at);
        }
        self.push(at, Event::FeedbackSent);
        if fate.is_some_and(|fate| fate.dropped().is_some()) {
            self.push(at, Event::FeedbackDropped);
        }
    }

    fn on_feedback_received(&mut self, at: Time, packets: &[Packet]) {
        for packet in packets {
            let result = self.flight.on_arrival(at, packet);
            let ack = packet.acks.last().filter(|_| packet.level == Level::OneRtt).cloned();
            self.push(at, Event::FeedbackReceived { ack, rtt: result.rtt, spurious: result.spurious });
        }
        self.note_flight(at);
    }
}

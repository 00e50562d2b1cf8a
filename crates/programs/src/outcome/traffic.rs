//! One flow's datagrams, read with its keys: what happened to its data and to the answers, in the emulator's time.

use std::collections::BTreeMap;

use quic::{Level, Side};
use units::{Duration, Ecn, Time};

use super::fates::Fate;
use crate::capture::Sighting;
use crate::reader::{Ack, Arrivals, Datagram, Flight, KeyLog, Packet, Place, Reader};

/// The stream of the request and its answer: the client's first one in both directions (RFC 9000 section 2.1).
pub(crate) const ANSWER: u64 = 0;

/// A datagram of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Leaving {
    pub(crate) kind: Kind,
    /// Number and bytes of its first packet that is in flight, or of its first packet.
    pub(crate) number: u64,
    pub(crate) bytes: u32,
    /// Where its data begins in its stream, and how many bytes it has.
    pub(crate) offset: u64,
    pub(crate) len: u32,
    /// Some of its data had left before; all of it had arrived before.
    pub(crate) repeats: bool,
    pub(crate) redundant: bool,
    /// UDP payload, and bytes on the wire.
    pub(crate) payload: u32,
    pub(crate) wire: u32,
    pub(crate) departed: Option<Time>,
}

/// What a datagram counts as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// It has data, or something else of 1-RTT packets that is in flight.
    Data,
    /// Initial or Handshake packets alone.
    Handshake,
    /// ACKs alone.
    Bare,
}

/// One thing that happened.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Event {
    /// The server sent a datagram.
    Sent(Leaving),
    /// A datagram of the server was dropped; its kind.
    Dropped(Kind),
    /// A packet with data arrived at the client.
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
    /// All of the answer is there.
    Complete,
    /// The client sent a datagram.
    AnswerSent,
    /// It was dropped.
    AnswerDropped,
    /// It arrived, with an ACK of 1-RTT packets or without, perhaps with an RTT sample.
    Answered { ack: Option<Ack>, rtt: Option<Duration>, in_vain: u64 },
}

/// A flow's traffic, read.
#[derive(Default)]
pub(crate) struct Traffic {
    /// In the order of time.
    pub(crate) events: Vec<(Time, Event)>,
    /// The server's bytes in flight after each change.
    pub(crate) in_flight: Vec<(Time, u64)>,
    /// 1-RTT packets of the server that are lost: number, and when their data left again.
    pub(crate) lost: Vec<(u64, Time)>,
    /// When each of the server's 1-RTT packets left, by its number.
    pub(crate) left: BTreeMap<u64, Time>,
    /// The server's congestion window after each change, where its qlog tells.
    pub(crate) windows: Vec<(Time, u64)>,
    /// The client's first datagram.
    pub(crate) first: Option<Time>,
    /// The client's first 1-RTT packet: it has the server's Finished.
    pub(crate) connected: Option<Time>,
    /// The first data of the answer leaves.
    pub(crate) first_data: Option<Time>,
    /// All of the answer has arrived.
    pub(crate) complete: Option<Time>,
    /// Packets opened, and those that could not be.
    pub(crate) opened: u64,
    pub(crate) unopened: u64,
    /// Datagrams that the link has damaged.
    pub(crate) damaged: u64,
    /// The suite's number, once it was seen.
    pub(crate) suite: Option<u16>,
}

/// Reads one flow.
pub(crate) struct TrafficReader {
    reader: Reader,
    flight: Flight,
    arrivals: Arrivals,
    /// When each packet of the server left, for its way.
    left: BTreeMap<(Level, u64), Time>,
    traffic: Traffic,
}

impl TrafficReader {
    pub(crate) fn new(keys: KeyLog) -> Self {
        Self {
            reader: Reader::new(keys),
            flight: Flight::new(Side::Server),
            arrivals: Arrivals::default(),
            left: BTreeMap::new(),
            traffic: Traffic::default(),
        }
    }

    /// A datagram at one of the interfaces; with what became of it where it leaves.
    pub(crate) fn take(&mut self, sighting: &Sighting, fate: Option<Fate>) {
        let (at, payload) = (sighting.at, sighting.payload.as_slice());
        let from = if sighting.from == 0 { Side::Client } else { Side::Server };
        let place = if sighting.seen_by == sighting.from { Place::Leaving } else { Place::Arriving };
        let packets = self.reader.read(&Datagram { at, from, place, payload });
        self.traffic.damaged += u64::from(fate.is_some_and(|fate| fate.damaged));
        self.take_packets(sighting, (from, place), &packets, fate);
    }

    fn take_packets(&mut self, seen: &Sighting, way: (Side, Place), packets: &[Packet], fate: Option<Fate>) {
        match way {
            (Side::Server, Place::Leaving) => self.on_sent(seen, packets, fate),
            (Side::Server, Place::Arriving) => self.on_received(seen, packets),
            (Side::Client, Place::Leaving) => self.on_answer_sent(seen.at, packets, fate),
            (Side::Client, Place::Arriving) => self.on_answered(seen.at, packets),
        }
    }

    /// A datagram whose packets were opened before.
    #[cfg(test)]
    pub(super) fn take_opened(&mut self, sighting: &Sighting, packets: &[Packet], fate: Option<Fate>) {
        let from = if sighting.from == 0 { Side::Client } else { Side::Server };
        let place = if sighting.seen_by == sighting.from { Place::Leaving } else { Place::Arriving };
        self.take_packets(sighting, (from, place), packets, fate);
    }

    pub(crate) fn finish(mut self) -> Traffic {
        self.traffic.lost = self.flight.lost().collect();
        (self.traffic.opened, self.traffic.unopened) = (self.reader.opened(), self.reader.unopened());
        self.traffic.suite = self.reader.suite();
        let of_data = self.left.into_iter().filter(|((level, _), _)| *level == Level::OneRtt);
        self.traffic.left = of_data.map(|((_, number), at)| (number, at)).collect();
        // Drops were put where their packets left.
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

    fn on_sent(&mut self, sighting: &Sighting, packets: &[Packet], fate: Option<Fate>) {
        let at = sighting.at;
        let payload = sighting.payload.len() as u32;
        let pieces = || packets.iter().flat_map(|packet| &packet.pieces).filter(|piece| piece.len > 0);
        let redundant = pieces().next().is_some() && pieces().all(|piece| self.arrivals.holds(piece));
        let mut repeats = false;
        for packet in packets {
            self.left.insert((packet.level, packet.number), at);
            repeats |= self.flight.on_departure(at, packet).repeats;
        }
        if packets.iter().any(|packet| packet.pieces.iter().any(|piece| piece.stream == ANSWER)) {
            self.traffic.first_data.get_or_insert(at);
        }
        let Some(first) = packets.iter().find(|packet| packet.in_flight).or(packets.first()) else { return };
        let data = packets.iter().find(|packet| packet.level == Level::OneRtt && packet.in_flight);
        let kind = match data {
            Some(_) => Kind::Data,
            None if packets.iter().any(|packet| packet.level != Level::OneRtt) => Kind::Handshake,
            None => Kind::Bare,
        };
        let first = data.unwrap_or(first);
        let leaving = Leaving {
            kind,
            number: first.number,
            bytes: first.bytes,
            offset: pieces().next().map_or(0, |piece| piece.offset),
            len: pieces().map(|piece| piece.len as u32).sum(),
            repeats,
            redundant,
            payload,
            wire: fate.map_or(payload, |fate| fate.wire),
            departed: fate.and_then(|fate| fate.departed),
        };
        self.push(at, Event::Sent(leaving));
        if let Some(dropped) = fate.and_then(|fate| fate.dropped) {
            self.push(dropped, Event::Dropped(kind));
        }
        self.note_flight(at);
    }

    fn on_received(&mut self, sighting: &Sighting, packets: &[Packet]) {
        let at = sighting.at;
        for packet in packets.iter().filter(|packet| !packet.pieces.is_empty()) {
            let arrived = self.arrivals.take(packet);
            let sent = self.left.get(&(packet.level, packet.number)).copied().unwrap_or(at);
            let (offset, len) = (packet.pieces[0].offset, arrived.bytes as u32);
            let ordered = arrived.ordered.unwrap_or_default();
            let (number, bytes, fresh, ecn) = (packet.number, packet.bytes, arrived.fresh, sighting.ecn);
            self.push(
                at,
                Event::Received { number, bytes, offset, len, owd: at - sent, fresh, ecn, ordered },
            );
        }
        if self.traffic.complete.is_none() && self.arrivals.is_complete(ANSWER) {
            self.traffic.complete = Some(at);
            self.push(at, Event::Complete);
        }
    }

    fn on_answer_sent(&mut self, at: Time, packets: &[Packet], fate: Option<Fate>) {
        self.traffic.first.get_or_insert(at);
        if packets.iter().any(|packet| packet.level == Level::OneRtt) {
            self.traffic.connected.get_or_insert(at);
        }
        self.push(at, Event::AnswerSent);
        if let Some(dropped) = fate.and_then(|fate| fate.dropped) {
            self.push(dropped, Event::AnswerDropped);
        }
    }

    fn on_answered(&mut self, at: Time, packets: &[Packet]) {
        for packet in packets {
            let answered = self.flight.on_arrival(at, packet);
            let ack = packet.acks.last().filter(|_| packet.level == Level::OneRtt).cloned();
            self.push(at, Event::Answered { ack, rtt: answered.rtt, in_vain: answered.in_vain });
        }
        self.note_flight(at);
    }
}

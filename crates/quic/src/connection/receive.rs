//! What comes in: a datagram, its packets, their protection (RFC 9000 section 12.2, RFC 9001 sections 5.5 to 5.7).

use units::{Ecn, Time};

use crate::connection::close::State;
use crate::connection::frames::Seen;
use crate::connection::path::Addresses;
use crate::connection::state::{Arrival, Connection, Held};
use crate::connection::tap::Observation;
use crate::crypto::keys::{self, Opened, Refused};
use crate::crypto::update::OneRtt;
use crate::error::Error;
use crate::level::{Level, Side, Space};
use crate::wire::frame::Frame;
use crate::wire::frames::Frames;
use crate::wire::header::{MIN_INITIAL_DATAGRAM, Parsed, Protected, parse};

/// How many packets wait for their keys, and how many bytes they may have together.
const MAX_HELD: usize = 8;
const MAX_HELD_BYTES: usize = 16 << 10;
/// An ID of so many bytes proves an address (section 8.1: 64 bits).
const UNPREDICTABLE: usize = 8;
/// No shorter datagram is a stateless reset (section 10.3).
const MIN_RESET: usize = 21;

/// Where a packet came from, and in what.
#[derive(Clone, Copy)]
struct From {
    addresses: Addresses,
    ecn: Ecn,
    arrived: Time,
    /// The whole datagram.
    bytes: usize,
}

impl Connection {
    /// A datagram came for this connection. Nothing in it can fail: what cannot be read is dropped, what breaks the protocol closes the
    /// connection.
    pub fn handle(&mut self, now: Time, arrival: Arrival<'_>) {
        let Arrival { from, to, ecn, arrived, bytes } = arrival;
        let addresses = Addresses { local: to, remote: from };
        self.counts.datagrams_received += 1;
        self.counts.bytes_received += bytes.len() as u64;
        if matches!(self.lifecycle.state(), State::Draining | State::Gone) {
            return;
        }
        self.paths.on_datagram(addresses, bytes.len() as u64);
        self.lifecycle.on_packet();
        let from = From { addresses, ecn, arrived: arrived.min(now), bytes: bytes.len() };
        self.on_packets(now, bytes, from);
        self.replay(now);
    }

    fn on_packets(&mut self, now: Time, mut rest: &mut [u8], from: From) {
        let mut destination = None;
        while !rest.is_empty() {
            match parse(rest, self.config.connection_id_len) {
                Ok(Parsed::Protected(packet)) => {
                    // Section 12.2: all packets of a datagram are for one connection.
                    if *destination.get_or_insert(packet.destination) != packet.destination {
                        break;
                    }
                    let (this, tail) = rest.split_at_mut(packet.end);
                    self.on_protected(now, this, &packet, from);
                    rest = tail;
                }
                Ok(Parsed::Retry(retry)) => return self.on_retry(now, &retry),
                Ok(Parsed::VersionNegotiation(answer)) => return self.on_version_negotiation(&answer),
                Ok(Parsed::OtherVersion(_)) | Err(_) => {
                    self.counts.packets_dropped += 1;
                    return;
                }
            }
        }
    }

    fn on_protected(&mut self, now: Time, packet: &mut [u8], at: &Protected, from: From) {
        if !self.is_welcome(at, from) {
            self.counts.packets_dropped += 1;
            return;
        }
        if !self.has_keys(at.level) {
            return self.hold(packet, at.level, from);
        }
        let size = packet.len();
        // Where this end's IDs have zero length, nobody else can tell a stateless reset. What cannot be opened is changed.
        let last = packet.last_chunk().copied().filter(|_| at.level == Level::OneRtt && size >= MIN_RESET);
        let before = self.generation();
        match self.unprotect(now, packet, at) {
            Ok(opened) => self.on_opened(now, &opened, at, from, size),
            Err(Refused::Fatal(error)) => self.fail(now, error),
            Err(_) if last.is_some_and(|last| self.is_reset(&last)) => self.on_stateless_reset(now),
            Err(_) => self.counts.packets_dropped += 1,
        }
        if self.generation() != before {
            self.observe(now, &Observation::Keys(self.generation()));
        }
    }

    fn is_reset(&self, last: &[u8; 16]) -> bool {
        self.remote_ids.as_ref().is_some_and(|ids| ids.is_reset(last))
    }

    pub(super) fn generation(&self) -> u64 {
        self.one_rtt.as_ref().map_or(0, OneRtt::generation)
    }

    /// What can be said before a packet is opened.
    fn is_welcome(&self, at: &Protected, from: From) -> bool {
        let is_client = self.side == Side::Client;
        let long = at.level != Level::OneRtt;
        let initial = at.level == Level::Initial;
        let unknown_address = self.paths.find(from.addresses).is_none();
        let gone = match at.level {
            Level::Initial => self.spaces[Space::Initial as usize].keys.is_none(),
            Level::Handshake => self.confirmed,
            Level::ZeroRtt => true,
            Level::OneRtt => false,
        };
        // Section 14.1: a server drops Initials in small datagrams. Section 17.2.2: a server's have no token. Section 9: nobody moves
        // before the handshake is confirmed, and servers never do.
        !(gone
            || (long && !self.ids.is_source_right(&at.source))
            || (initial && !is_client && from.bytes < MIN_INITIAL_DATAGRAM)
            || (initial && is_client && !at.token.is_empty())
            || (unknown_address && (is_client || !self.confirmed)))
    }

    /// A server opens 1-RTT packets only once it has the client's Finished (RFC 9001 section 5.7).
    fn has_keys(&self, level: Level) -> bool {
        match level {
            Level::OneRtt => self.one_rtt.is_some() && (self.complete || self.side == Side::Client),
            level => self.spaces[level.space() as usize].keys.is_some(),
        }
    }

    /// Packets that overtook the one that brings their keys.
    fn hold(&mut self, packet: &[u8], level: Level, from: From) {
        let held: usize = self.held.iter().map(|held| held.bytes.len()).sum();
        if self.held.len() >= MAX_HELD || held + packet.len() > MAX_HELD_BYTES {
            self.counts.packets_dropped += 1;
            return;
        }
        let From { addresses, ecn, arrived, .. } = from;
        self.held.push(Held { level, from: addresses, ecn, arrived, bytes: packet.to_vec() });
    }

    /// Opens what waited for keys that are there now.
    fn replay(&mut self, now: Time) {
        while let Some(at) = self.held.iter().position(|held| self.has_keys(held.level)) {
            let Held { from, ecn, arrived, mut bytes, .. } = self.held.remove(at);
            let from = From { addresses: from, ecn, arrived, bytes: bytes.len() };
            if self.lifecycle.is_open() {
                self.on_packets(now, &mut bytes, from);
            }
        }
    }

    fn unprotect<'a>(
        &mut self,
        now: Time,
        packet: &'a mut [u8],
        at: &Protected,
    ) -> Result<Opened<'a>, Refused> {
        let pto = self.pto();
        let space = &self.spaces[at.level.space() as usize];
        match (at.level, &mut self.one_rtt, &space.keys) {
            (Level::OneRtt, Some(one_rtt), _) => one_rtt.open(now, pto, packet, at, space.largest),
            (_, _, Some(keys)) => keys::open(&keys.remote, packet, at, space.largest),
            _ => Err(Refused::Old),
        }
    }

    fn on_opened(&mut self, now: Time, opened: &Opened<'_>, at: &Protected, from: From, size: usize) {
        let space = at.level.space();
        if self.spaces[space as usize].receiver.is_duplicate(opened.number) {
            self.counts.duplicates += 1;
            return;
        }
        if at.level != Level::OneRtt {
            self.ids.on_opened(at.source);
        }
        if !self.lifecycle.is_open() {
            return self.look_for_close(now, opened.payload, at.level);
        }
        self.counts.packets_received += 1;
        self.counts.ce_received += u64::from(from.ecn == Ecn::Ce);
        self.idle.on_received(now);
        self.validate_address(at);
        if at.level == Level::Handshake && self.side == Side::Server {
            self.discard(now, Space::Initial);
        }
        let mut seen = Seen::new(opened.generation, at.destination);
        if let Err(error) = self.on_frames(now, opened.payload, at.level, &mut seen) {
            return self.fail(now, error);
        }
        self.acknowledge(at.level, opened.number, &seen, from);
        let Opened { number, .. } = *opened;
        let (level, bytes, ecn) = (at.level, size as u64, from.ecn);
        self.observe(now, &Observation::Received { level, number, bytes, ecn });
        if at.level == Level::OneRtt && self.lifecycle.is_open() {
            self.on_path(now, from.addresses, (number, seen.probing), from.bytes as u64, &seen.challenges);
        }
    }

    /// Section 8.1: whoever has Handshake keys, or an unpredictable ID of this end, has received what was sent to that address. It is the one
    /// in use: nobody moves before the handshake is confirmed.
    fn validate_address(&mut self, at: &Protected) {
        let knows_id = at.destination == self.ids.local() && at.destination.len() >= UNPREDICTABLE;
        if self.side == Side::Server && !self.confirmed && (at.level == Level::Handshake || knows_id) {
            self.paths.active_mut().validate();
        }
    }

    fn on_frames(&mut self, now: Time, payload: &[u8], level: Level, seen: &mut Seen) -> Result<(), Error> {
        for frame in Frames::new(payload, level, self.extensions)? {
            let frame = frame?;
            let kind = frame.frame_type();
            seen.note(kind);
            self.observe(now, &Observation::Frame(&frame));
            self.on_frame(now, level, &frame, seen)?;
            if !self.lifecycle.is_open() {
                break;
            }
        }
        Ok(())
    }

    /// Notes a packet, so that it is acknowledged.
    fn acknowledge(&mut self, level: Level, number: u64, seen: &Seen, from: From) {
        let space = &mut self.spaces[level.space() as usize];
        space.largest = space.largest.max(Some(number));
        if !seen.eliciting {
            return space.receiver.on_bare_packet(from.arrived, number, from.ecn);
        }
        let now = space.receiver.on_packet(from.arrived, number, from.ecn, 0);
        // Section 13.2.1: packets of the handshake are acknowledged at once.
        space.ack_now |= now || seen.immediate || level != Level::OneRtt;
    }

    /// A connection that this end has closed waits for the peer's CONNECTION_CLOSE alone.
    fn look_for_close(&mut self, now: Time, payload: &[u8], level: Level) {
        let Ok(mut frames) = Frames::new(payload, level, self.extensions) else { return };
        let close =
            |frame| matches!(frame, Ok(Frame::ConnectionClose { .. } | Frame::ApplicationClose { .. }));
        if frames.any(close) {
            let pto = self.pto();
            self.lifecycle.on_peer_close(now, pto);
        }
    }
}

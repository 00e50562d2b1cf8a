//! Reception: a datagram, its packets, and their protection (RFC 9000 section 12.2, RFC 9001
//! sections 5.5 to 5.7).

use units::{Ecn, Time};

use crate::connection::close::State;
use crate::connection::early::Origin;
use crate::connection::frames::Seen;
use crate::connection::path::Addresses;
use crate::connection::state::{Arrival, Connection, extensions};
use crate::connection::tap::Observation;
use crate::crypto::keys::{Opened, Refused};
use crate::error::Error;
use crate::level::{Level, Side, Space};
use crate::wire::frame::Frame;
use crate::wire::frames::Frames;
use crate::wire::header::{MIN_INITIAL_DATAGRAM, Parsed, Protected, parse};

/// Length of a connection ID that proves an address, in bytes (section 8.1: 64 bits).
const UNPREDICTABLE: usize = 8;
/// Minimum length of a stateless reset, in bytes (section 10.3).
const MIN_RESET: usize = 21;

impl Connection {
    /// Processes a datagram for this connection. Its contents cannot make this fail: unreadable
    /// packets are dropped, and protocol violations close the connection.
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
        let from = Origin { addresses, ecn, arrived: arrived.min(now), bytes: bytes.len() };
        self.on_packets(now, bytes, from);
        self.replay(now);
    }

    fn on_packets(&mut self, now: Time, mut rest: &mut [u8], from: Origin) {
        let mut destination = None;
        while !rest.is_empty() {
            match parse(rest, self.settings.config.connection_id_len) {
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

    fn on_protected(&mut self, now: Time, packet: &mut [u8], at: &Protected, from: Origin) {
        if !self.is_welcome(at, from) {
            self.counts.packets_dropped += 1;
            return;
        }
        if !self.has_keys(at.level) {
            self.counts.packets_dropped += u64::from(!self.early.push(at.level, from, packet));
            return;
        }
        let size = packet.len();
        // With zero-length IDs, only the connection itself can recognise a stateless reset. Opening
        // changes the packet even if it fails, so its end is copied first.
        let last = packet.last_chunk().copied().filter(|_| at.level == Level::OneRtt && size >= MIN_RESET);
        let before = self.keys.generation();
        let largest = self.spaces[at.level.space() as usize].largest;
        match self.keys.open(now, self.loss.pto(), packet, at, largest) {
            Ok(opened) => self.on_opened(now, &opened, at, from, size),
            Err(Refused::Fatal(error)) => self.fail(now, error),
            Err(_) if last.is_some_and(|last| self.ids.remote.is_reset(&last)) => {
                self.on_stateless_reset(now);
            }
            Err(_) => self.counts.packets_dropped += 1,
        }
        self.observe_keys(now, before);
    }

    /// Checks that a packet is acceptable, as far as that is known before it is opened.
    fn is_welcome(&self, at: &Protected, from: Origin) -> bool {
        let is_client = self.side == Side::Client;
        let long = at.level != Level::OneRtt;
        let initial = at.level == Level::Initial;
        let unknown_address = self.paths.find(from.addresses).is_none();
        let gone = match at.level {
            Level::Initial => !self.keys.has(Level::Initial),
            Level::Handshake => self.is_confirmed(),
            Level::ZeroRtt => true,
            Level::OneRtt => false,
        };
        // Section 14.1: a server drops Initials in small datagrams. Section 17.2.2: Initials of a
        // server have no token. Section 9: nobody migrates before the handshake is confirmed, and
        // servers never do.
        !(gone
            || (long && !self.ids.handshake.is_source_right(&at.source))
            || (initial && !is_client && from.bytes < MIN_INITIAL_DATAGRAM)
            || (initial && is_client && !at.token.is_empty())
            || (unknown_address && (is_client || !self.is_confirmed())))
    }

    /// Reports whether packets of a level can be opened. A server opens 1-RTT packets only once it
    /// has the client's Finished (RFC 9001 section 5.7).
    fn has_keys(&self, level: Level) -> bool {
        let waits = level == Level::OneRtt && self.side == Side::Server && !self.is_connected();
        self.keys.has(level) && !waits
    }

    /// Processes buffered packets whose keys are available now.
    fn replay(&mut self, now: Time) {
        while let Some(at) = self.early.first(|level| self.has_keys(level)) {
            let (from, mut bytes) = self.early.remove(at);
            if self.lifecycle.is_open() {
                self.on_packets(now, &mut bytes, from);
            }
        }
    }

    fn on_opened(&mut self, now: Time, opened: &Opened<'_>, at: &Protected, from: Origin, size: usize) {
        let space = at.level.space();
        if self.spaces[space as usize].receiver.is_duplicate(opened.number) {
            self.counts.duplicates += 1;
            return;
        }
        if at.level != Level::OneRtt {
            self.ids.handshake.on_opened(at.source);
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

    /// Validates the active path's address if the packet proves it (section 8.1). A peer that has
    /// Handshake keys, or an unpredictable ID of this end, has received packets at that address. It
    /// is the active path's, since nobody migrates before the handshake is confirmed.
    fn validate_address(&mut self, at: &Protected) {
        let knows_id = at.destination == self.ids.handshake.local() && at.destination.len() >= UNPREDICTABLE;
        if self.side == Side::Server && !self.is_confirmed() && (at.level == Level::Handshake || knows_id) {
            self.paths.active_mut().validate();
        }
    }

    fn on_frames(&mut self, now: Time, payload: &[u8], level: Level, seen: &mut Seen) -> Result<(), Error> {
        for frame in Frames::new(payload, level, extensions(&self.settings.config))? {
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

    /// Records a packet, so that it is acknowledged.
    fn acknowledge(&mut self, level: Level, number: u64, seen: &Seen, from: Origin) {
        let space = &mut self.spaces[level.space() as usize];
        space.largest = space.largest.max(Some(number));
        if !seen.eliciting {
            return space.receiver.on_bare_packet(from.arrived, number, from.ecn);
        }
        let now = space.receiver.on_packet(from.arrived, number, from.ecn, 0);
        // Section 13.2.1: Initial and Handshake packets are acknowledged immediately.
        space.ack_now |= now || seen.immediate || level != Level::OneRtt;
    }

    /// Looks for the peer's CONNECTION_CLOSE, after this end has closed the connection.
    fn look_for_close(&mut self, now: Time, payload: &[u8], level: Level) {
        let Ok(mut frames) = Frames::new(payload, level, extensions(&self.settings.config)) else { return };
        let close =
            |frame| matches!(frame, Ok(Frame::ConnectionClose { .. } | Frame::ApplicationClose { .. }));
        if frames.any(close) {
            self.lifecycle.on_peer_close(now, self.loss.pto());
        }
    }
}

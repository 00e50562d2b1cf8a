//! Transmission: builds a datagram of up to three packets, pads, seals and records it (RFC 9000
//! sections 12.2, 14.1, RFC 9001 section 5).

use std::ops::Range;

use recovery::{Limit, SendDecision, SpaceId};
use units::{Ecn, Time};

use crate::connection::event::Ended;
use crate::connection::path::{Addresses, PathId};
use crate::connection::sent_frames::SentFrames;
use crate::connection::spaces::space_id;
use crate::connection::state::{Connection, Transmit};
use crate::connection::tap::Observation;
use crate::crypto::keys;
use crate::crypto::update::OneRtt;
use crate::error::Error;
use crate::level::{Level, Side, Space};
use crate::streams::table::MIN_DATA;
use crate::wire::codec::Writer;
use crate::wire::connection_id::ConnectionId;
use crate::wire::frame::{FIXED_STREAM_HEADER, Frame};
use crate::wire::header::{MIN_INITIAL_DATAGRAM, Outgoing, Placed};
use crate::wire::packet_number;

/// Minimum size of a packet that fills the rest of a window, in bytes: header and tag, the largest
/// STREAM header, and enough data.
const LEAST_PACKET: u64 = (1 + ConnectionId::MAX_LEN + 4 + 16 + FIXED_STREAM_HEADER + MIN_DATA) as u64;
/// Minimum space for a packet, in bytes, whatever its header.
const LEAST_ROOM: u64 = (1 + ConnectionId::MAX_LEN + 4 + MIN_ROOM / 2 + 16) as u64;
/// Encryption levels of the packets of a datagram, in order.
pub(super) const LEVELS: [Level; 3] = [Level::Initial, Level::Handshake, Level::OneRtt];
/// Minimum space for a datagram, in bytes.
const MIN_ROOM: usize = 64;

/// A packet that is written, but not sealed.
pub(super) struct Draft {
    level: Level,
    placed: Placed,
    /// Start of the packet in the datagram, and its length without the tag.
    start: usize,
    len: usize,
    tag_len: usize,
    eliciting: bool,
    padded: bool,
    /// Range of its frames in the connection's `items`.
    items: Range<usize>,
}

/// Result of writing the frames of a packet.
#[derive(Clone, Copy, Default)]
pub(super) struct WrittenFrames {
    pub(super) eliciting: bool,
    /// Whether the datagram must be expanded to 1200 bytes (section 8.2.1).
    pub(super) expand: bool,
}

/// A datagram under construction.
#[derive(Default)]
pub(super) struct Datagram {
    /// At most one packet for each level, in order.
    drafts: [Option<Draft>; LEVELS.len()],
    expand: bool,
}

impl Datagram {
    fn iter(&self) -> impl Iterator<Item = &Draft> {
        self.drafts.iter().flatten()
    }

    fn end(&self) -> usize {
        self.iter().last().map_or(0, |last| last.start + last.len + last.tag_len)
    }

    /// Reports whether nothing was written.
    pub(super) fn is_empty(&self) -> bool {
        self.iter().next().is_none()
    }

    /// Appends a packet.
    fn push(&mut self, draft: Draft) {
        if let Some(free) = self.drafts.iter_mut().find(|place| place.is_none()) {
            *free = Some(draft);
        }
    }

    /// Pads the last packet.
    fn pad(&mut self, buf: &mut [u8], to: usize) {
        let missing = to.min(buf.len()).saturating_sub(self.end());
        if let Some(last) = self.drafts.iter_mut().flatten().last().filter(|_| missing > 0) {
            let from = last.start + last.len;
            buf[from..from + missing].fill(0);
            last.len += missing;
            last.padded = true;
        }
    }
}

impl Connection {
    /// Writes the next datagram into `buf`, which must hold at least 1200 bytes.
    ///
    /// Call this after every other call that may produce output, until it returns `None`.
    pub fn poll_transmit(&mut self, now: Time, buf: &mut [u8]) -> Option<Transmit> {
        self.pacing = None;
        if buf.len() < MIN_INITIAL_DATAGRAM {
            return None;
        }
        if let Some((transmit, bytes)) = self.waiting.take_if(|waiting| waiting.1.len() <= buf.len()) {
            buf[..bytes.len()].copy_from_slice(&bytes);
            return Some(transmit);
        }
        self.collect_retirements();
        let closing = self.transmit_close(now, buf);
        if closing.is_some() || !self.lifecycle.is_open() {
            return closing;
        }
        let transmit = self.transmit_elsewhere(now, buf).or_else(|| self.transmit_active(now, buf));
        self.limit_amplification();
        if transmit.is_none() {
            self.sender.end_response();
        }
        transmit
    }

    /// Writes up to `most` datagrams that the system can send at once (GSO). They have the same
    /// addresses, ECN field and size; only the last may be smaller.
    ///
    /// The number is limited by window, pacer and `buf`. The end of `buf` makes no datagram shorter
    /// than the first.
    pub fn poll_burst(&mut self, now: Time, buf: &mut [u8], most: usize) -> Option<Transmit> {
        let mut all = self.poll_transmit(now, buf)?;
        let size = all.len;
        for _ in 1..most {
            let (_, rest) = buf.split_at_mut(all.len);
            if rest.len() < size {
                break;
            }
            let Some(next) = self.poll_transmit(now, rest) else { break };
            let joins = (next.from, next.to, next.ecn) == (all.from, all.to, all.ecn) && next.len <= size;
            if !joins {
                self.waiting = Some((next, rest[..next.len].to_vec()));
                break;
            }
            all.len += next.len;
            all.segment_size = Some(size);
            if next.len < size {
                break;
            }
        }
        Some(all)
    }

    /// Stops loss recovery from sending probes that the amplification limit forbids.
    pub(super) fn limit_amplification(&mut self) {
        let least = if self.confirmed { MIN_ROOM } else { MIN_INITIAL_DATAGRAM } as u64;
        let limited = self.paths.active().budget() < least;
        self.sender.set_amplification_limited(limited);
    }

    fn transmit_active(&mut self, now: Time, buf: &mut [u8]) -> Option<Transmit> {
        let path = self.paths.active_id();
        let Some((addresses, room)) = self.room(path, buf.len()) else {
            self.sender.on_limited(Limit::Amplification);
            self.skip_challenge(now, path);
            return None;
        };
        let pending = LEVELS.into_iter().any(|level| self.has_pending(level));
        let allowed = if pending { self.may_send(now) } else { None };
        if allowed.is_none() && !self.has_due(now) {
            self.note_limit(pending);
            return None;
        }
        let (may, room) = (allowed.is_some(), allowed.map_or(room, |most| room.min(most)));
        let buf = &mut buf[..room];
        let mut datagram = Datagram::default();
        self.items.clear();
        for level in LEVELS {
            // An ACK-eliciting Initial of a server fills a datagram, or waits.
            let full = level != Level::Initial || room >= MIN_INITIAL_DATAGRAM;
            self.draft(now, level, buf, &mut datagram, |connection, w| {
                connection.write_frames(now, level, may && full, w)
            });
        }
        if datagram.is_empty() {
            self.note_limit(pending);
            return None;
        }
        Some(self.send(now, buf, datagram, (path, addresses)))
    }

    /// Tells loss recovery that nothing more is sent now, although congestion control may allow it.
    fn note_limit(&mut self, pending: bool) {
        if !pending {
            let held = self.streams.is_held_back();
            self.sender.on_limited(if held { Limit::FlowControl } else { Limit::Application });
        }
    }

    /// Reports whether something may be due that congestion control does not hold back: an ACK, a
    /// frame of the active path, or a step before the next header.
    ///
    /// Most calls after the last datagram end here.
    fn has_due(&self, now: Time) -> bool {
        let path = self.paths.active();
        // The packet that ends a handshake is recorded after its space has discarded its keys.
        let owes = |level: &Level| {
            let space = &self.spaces[level.space() as usize];
            space.owes_ack(now) && (*level == Level::OneRtt || space.keys.is_some())
        };
        LEVELS.iter().any(owes)
            || path.has_response()
            || path.timer() <= now
            || self.sender.next_number(space_id(Space::Application)) >= self.skip_at
            || self.one_rtt.as_ref().is_some_and(OneRtt::wants_update)
    }

    /// Returns the addresses of a path, and the maximum size of a datagram on it now.
    pub(super) fn room(&self, path: PathId, most: usize) -> Option<(Addresses, usize)> {
        let known = self.paths.get(path)?;
        let budget = usize::try_from(known.budget()).unwrap_or(usize::MAX);
        let size = usize::try_from(self.path_info.max_datagram_size).unwrap_or(usize::MAX);
        let room = budget.min(size).min(most);
        (room >= MIN_ROOM).then(|| (known.addresses(), room))
    }

    /// Returns the maximum size of an ACK-eliciting datagram that may be sent now, or `None` if it
    /// must wait.
    fn may_send(&mut self, now: Time) -> Option<usize> {
        let wanted = self.wanted(now);
        let (decision, bytes) = match self.sender.can_send(now, wanted) {
            SendDecision::WindowFull => {
                let rest = self.rest_of_window(now)?;
                (self.sender.can_send(now, rest), rest)
            }
            decision => (decision, self.room_beside(wanted)),
        };
        match decision {
            SendDecision::Now => Some(usize::try_from(bytes).unwrap_or(usize::MAX)),
            SendDecision::WindowFull => None,
            SendDecision::At(at) => {
                self.pacing = Some(at);
                None
            }
        }
    }

    /// Returns the size of the next packet, to be checked by congestion control. It is that of a
    /// full packet, or that of the waiting messages if there is nothing else to send.
    ///
    /// Otherwise a packet of audio would wait for the pacer until a full packet could be sent. The
    /// size is full until the handshake is confirmed, since its datagrams are padded. It is also
    /// full if a full packet would exceed the window and an ACK or a path frame waits, which might
    /// not fit.
    fn wanted(&self, now: Time) -> u64 {
        let full = self.path_info.max_datagram_size;
        let alone = self.confirmed && self.has_messages_alone();
        let Some(one_rtt) = self.one_rtt.as_ref().filter(|_| alone) else { return full };
        let has_news = self.spaces[Space::Application as usize].receiver.has_unacked();
        if self.window_left() < full && (has_news || self.has_due(now)) {
            return full;
        }
        let space = space_id(Space::Application);
        let number_len = self.number_len(space, self.sender.next_number(space));
        let destination = self.remote_ids.as_ref().map_or(0, |ids| ids.current().len());
        let packet = 1 + destination + number_len + self.datagrams_out.in_frames() + one_rtt.tag_len();
        full.min(packet as u64)
    }

    fn has_messages_alone(&self) -> bool {
        !self.datagrams_out.is_empty() && LEVELS.iter().all(|level| !self.has_more_than_messages(*level))
    }

    /// Returns the maximum size of a packet for which `wanted` bytes were requested. An ACK may be
    /// added as far as the window allows. A packet always gets some minimum space.
    fn room_beside(&self, wanted: u64) -> u64 {
        self.window_left().max(wanted).max(LEAST_ROOM).min(self.path_info.max_datagram_size)
    }

    /// Returns the rest of the congestion window.
    fn window_left(&self) -> u64 {
        self.sender.window().saturating_sub(self.sender.bytes_in_flight())
    }

    /// Returns the rest of a window that cannot hold a full packet, if smaller packets may fill it.
    ///
    /// `None` while an ACK is due, which might not fit beside the data. `None` also before the
    /// handshake is confirmed, since its datagrams are padded.
    fn rest_of_window(&self, now: Time) -> Option<u64> {
        let due = self.spaces[Space::Application as usize].owes_ack(now);
        if !self.settings.recovery.small_last_packet || !self.confirmed || due {
            return None;
        }
        let rest = self.window_left();
        (rest >= LEAST_PACKET && rest < self.path_info.max_datagram_size).then_some(rest)
    }

    /// Adds a packet of this level to the datagram, if there are keys and space, and if `fill`
    /// writes anything.
    pub(super) fn draft(
        &mut self,
        now: Time,
        level: Level,
        buf: &mut [u8],
        datagram: &mut Datagram,
        fill: impl FnOnce(&mut Self, &mut Writer<'_>) -> WrittenFrames,
    ) {
        let start = datagram.end();
        let Some((tag_len, min_payload)) = self.sealing(level) else { return };
        let items = self.items.len();
        let token = std::mem::take(&mut self.token);
        let header = self.header(now, level).map(|header| Outgoing { token: &token, ..header });
        let drafted =
            header.and_then(|header| self.write_packet(buf, start, tag_len, &header, min_payload, fill));
        self.token = token;
        let Some((placed, len, filled)) = drafted else { return };
        let initial = level == Level::Initial && (self.side == Side::Client || filled.eliciting);
        datagram.expand |= filled.expand || initial;
        let items = items..self.items.len();
        let eliciting = filled.eliciting;
        datagram.push(Draft { level, placed, start, len, tag_len, eliciting, padded: false, items });
    }

    /// Writes header and frames. `None` if they do not fit, or if there is nothing to send.
    fn write_packet(
        &mut self,
        buf: &mut [u8],
        start: usize,
        tag_len: usize,
        header: &Outgoing<'_>,
        min_payload: impl Fn(usize) -> usize,
        fill: impl FnOnce(&mut Self, &mut Writer<'_>) -> WrittenFrames,
    ) -> Option<(Placed, usize, WrittenFrames)> {
        if buf.len() < start + header.size() + MIN_ROOM / 2 + tag_len {
            return None;
        }
        let end = buf.len() - tag_len;
        let mut w = Writer::new(&mut buf[start..end]);
        let placed = header.encode(&mut w).ok()?;
        let body = w.position();
        let filled = fill(self, &mut w);
        if w.position() == body {
            return None;
        }
        let missing = (body + min_payload(header.number_len)).saturating_sub(w.position());
        Frame::Padding(missing).encode(&mut w).ok()?;
        Some((placed, w.position(), filled))
    }

    /// Returns the tag length of a level, and its minimum payload as a function of the packet
    /// number length. `None` without keys.
    fn sealing(&self, level: Level) -> Option<(usize, impl Fn(usize) -> usize + use<>)> {
        // Both depend on the lengths of tag and sample, which are 16 bytes in every TLS 1.3 suite.
        // A session without cryptography has no sample.
        let (tag_len, least) = match level {
            Level::OneRtt => {
                let one_rtt = self.one_rtt.as_ref()?;
                (one_rtt.tag_len(), one_rtt.min_payload(0))
            }
            level => {
                let keys = self.spaces[level.space() as usize].keys.as_ref()?;
                (keys.local.packet.tag_len(), keys::min_payload(&keys.local, 0))
            }
        };
        Some((tag_len, move |number_len: usize| least.saturating_sub(number_len).max(1)))
    }

    fn header(&mut self, now: Time, level: Level) -> Option<Outgoing<'static>> {
        let space = space_id(level.space());
        let mut key_phase = false;
        if level == Level::OneRtt {
            if self.sender.next_number(space) >= self.skip_at {
                self.sender.skip_number(space);
                self.skip_later(true);
            }
            let before = self.generation();
            match self.one_rtt.as_mut()?.prepare(now) {
                Ok(phase) => key_phase = phase,
                Err(_) => {
                    self.give_up(Ended::KeysUsedUp);
                    return None;
                }
            }
            if self.generation() != before {
                self.observe(now, &Observation::Keys(self.generation()));
            }
        }
        let number = self.sender.next_number(space);
        let number_len = self.number_len(space, number);
        let destination = match (&self.remote_ids, level) {
            (Some(ids), Level::OneRtt) => ids.current(),
            _ => self.ids.remote(),
        };
        let source = self.ids.local();
        Some(Outgoing { level, destination, source, token: &[], number, number_len, key_phase, spin: false })
    }

    /// Returns the length of an encoded packet number, in bytes.
    ///
    /// 1-RTT packets use at least two bytes. One byte is too short for a packet that 128 others
    /// overtake (RFC 9000 section 17.1). Also, if the length changed with the window,
    /// retransmissions would be one byte too large or too small.
    fn number_len(&self, space: SpaceId, number: u64) -> usize {
        let enough = packet_number::length(number, self.sender.largest_acked(space));
        match (self.config.fixed_sizes, space) {
            (true, _) => 4,
            (false, SpaceId::Application) => enough.max(2),
            (false, _) => enough,
        }
    }

    /// Pads, seals and records a datagram.
    pub(super) fn send(
        &mut self,
        now: Time,
        buf: &mut [u8],
        mut datagram: Datagram,
        (path, addresses): (PathId, Addresses),
    ) -> Transmit {
        if datagram.expand {
            datagram.pad(buf, MIN_INITIAL_DATAGRAM);
        }
        let len = datagram.end();
        let in_flight = datagram.iter().any(|draft| draft.eliciting || draft.padded);
        let ecn = if in_flight { self.sender.datagram_mark(now) } else { self.sender.bare_mark() };
        for draft in datagram.iter() {
            if let Err(error) = self.seal(buf, draft) {
                // Sealing only fails because of a bug. Nothing can be sent with such keys.
                self.fail(now, error);
            }
            self.note(now, draft, ecn);
        }
        if datagram.iter().any(|draft| draft.eliciting) {
            self.idle.on_sent(now);
        }
        // RFC 9001 section 4.9.1.
        if self.side == Side::Client && datagram.iter().any(|draft| draft.level == Level::Handshake) {
            self.discard(now, Space::Initial);
        }
        if let Some(path) = self.paths.get_mut(path) {
            path.on_sent(len as u64);
        }
        self.counts.datagrams_sent += 1;
        self.counts.bytes_sent += len as u64;
        Transmit { from: addresses.local, to: addresses.remote, ecn, len, segment_size: None }
    }

    fn seal(&mut self, buf: &mut [u8], draft: &Draft) -> Result<(), Error> {
        let packet = &mut buf[draft.start..draft.start + draft.len + draft.tag_len];
        match (draft.level, &mut self.one_rtt, &self.spaces[draft.level.space() as usize].keys) {
            (Level::OneRtt, Some(one_rtt), _) => one_rtt.seal(packet, &draft.placed),
            (_, _, Some(keys)) => keys::seal(&*keys.local.header, &*keys.local.packet, packet, &draft.placed),
            _ => Ok(()),
        }
    }

    fn note(&mut self, now: Time, draft: &Draft, ecn: Ecn) {
        let space = draft.level.space();
        let bytes = (draft.len + draft.tag_len) as u64;
        let in_flight = draft.eliciting || draft.padded;
        let items = &self.items[draft.items.clone()];
        let number = if in_flight && self.lifecycle.is_open() {
            let contents = SentFrames::new(items);
            self.sender.on_sent_in(now, space_id(space), bytes, ecn, contents, draft.eliciting)
        } else {
            self.sender.on_bare_sent(space_id(space), ecn)
        };
        debug_assert_eq!(number, draft.placed.number, "the header says what loss recovery counts");
        if draft.eliciting {
            let probes = &mut self.spaces[space as usize].probes;
            *probes = probes.saturating_sub(1);
        }
        if let Some(tap) = &mut self.tap {
            tap.on(now, &Observation::Sent { level: draft.level, number, bytes, ecn, in_flight, items });
        }
    }
}

//! Transmission: builds a datagram of up to three packets, pads, seals and records it (RFC 9000
//! sections 12.2, 14.1, RFC 9001 section 5).

use std::mem;

use recovery::Limit;
use units::{Ecn, Time};

use crate::connection::datagram::{Datagram, Draft, LEVELS, MIN_ROOM, WrittenFrames};
use crate::connection::event::Ended;
use crate::connection::larger_datagrams::MtuProbe;
use crate::connection::path::{Addresses, PathId};
use crate::connection::sent_frames::{FrameWriter, SentFrame, SentFrames};
use crate::connection::spaces::space_id;
use crate::connection::state::{Connection, Transmit};
use crate::connection::tap::Observation;
use crate::crypto::update::OneRtt;
use crate::level::{Level, Side, Space};
use crate::wire::codec::Writer;
use crate::wire::frame::{FIXED_STREAM_HEADER, Frame};
use crate::wire::header::MIN_INITIAL_DATAGRAM;

impl Connection {
    /// Writes the next datagram into `buf`, which must hold at least 1200 bytes.
    ///
    /// Call this after every other call that may produce output, until it returns `None`.
    pub fn poll_transmit(&mut self, now: Time, buf: &mut [u8]) -> Option<Transmit> {
        self.loss.pacing = None;
        if buf.len() < MIN_INITIAL_DATAGRAM {
            return None;
        }
        if let Some((transmit, bytes)) = self.waiting.take_if(|waiting| waiting.1.len() <= buf.len()) {
            buf[..bytes.len()].copy_from_slice(&bytes);
            return Some(transmit);
        }
        let closing = self.transmit_close(now, buf);
        if closing.is_some() || !self.lifecycle.is_open() {
            return closing;
        }
        let transmit = self.transmit_elsewhere(now, buf).or_else(|| self.transmit_active(now, buf));
        self.limit_amplification();
        if transmit.is_none() {
            self.loss.sender.end_response();
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
        let least = if self.is_confirmed() { MIN_ROOM } else { MIN_INITIAL_DATAGRAM } as u64;
        let limited = self.paths.active().budget() < least;
        self.loss.sender.set_amplification_limited(limited);
    }

    fn transmit_active(&mut self, now: Time, buf: &mut [u8]) -> Option<Transmit> {
        let path = self.paths.active_id();
        let Some((addresses, room)) = self.room(path, buf.len()) else {
            self.loss.sender.on_limited(Limit::Amplification);
            self.skip_challenge(now, path);
            return None;
        };
        let probe = self.probe_mtu(now, buf, (path, addresses));
        if let MtuProbe::Sent(transmit) = probe {
            return Some(transmit);
        }
        let pending = LEVELS.into_iter().any(|level| self.has_pending(level));
        let waits = matches!(probe, MtuProbe::Waits);
        let allowed = if pending && !waits { self.may_send(now) } else { None };
        if allowed.is_none() && !self.has_due(now) {
            self.note_limit(pending);
            return None;
        }
        let (may, most) = (allowed.is_some(), allowed.unwrap_or(usize::MAX));
        let room = room.min(most.max(MIN_INITIAL_DATAGRAM));
        let buf = (&mut buf[..room], most);
        let transmit = self.assemble(now, buf, (path, addresses), LEVELS, |this, level, out| {
            // An ACK-eliciting Initial of a server fills a datagram, or waits.
            let full = level != Level::Initial || room >= MIN_INITIAL_DATAGRAM;
            this.write_frames(now, level, may && full, out)
        });
        if transmit.is_none() {
            self.note_limit(pending);
        }
        transmit
    }

    /// Tells loss recovery that nothing more is sent now, although congestion control may allow it.
    fn note_limit(&mut self, pending: bool) {
        if !pending {
            let held = self.streams.is_held_back();
            self.loss.sender.on_limited(if held { Limit::FlowControl } else { Limit::Application });
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
            space.owes_ack(now) && (*level == Level::OneRtt || self.keys.has(*level))
        };
        LEVELS.iter().any(owes)
            || path.has_response()
            || path.timer() <= now
            || self.loss.wants_skip()
            || self.keys.one_rtt.as_ref().is_some_and(OneRtt::wants_update)
    }

    /// Returns the addresses of a path, and the maximum size of a datagram on it now. That is at
    /// least the size of an Initial, even if 1-RTT packets are smaller.
    pub(super) fn room(&self, path: PathId, most: usize) -> Option<(Addresses, usize)> {
        let known = self.paths.get(path)?;
        let budget = usize::try_from(known.budget()).unwrap_or(usize::MAX);
        let room = budget.min(self.packet_size().max(MIN_INITIAL_DATAGRAM)).min(most);
        (room >= MIN_ROOM).then(|| (known.addresses(), room))
    }

    /// Returns the maximum size of a 1-RTT packet that is not padded.
    fn packet_size(&self) -> usize {
        usize::try_from(self.loss.full()).unwrap_or(usize::MAX)
    }

    /// Returns the maximum size of an ACK-eliciting datagram that may be sent now, or `None` if it
    /// must wait.
    ///
    /// Nothing fills the rest of a window while an ACK is due, which might not fit beside the data,
    /// or before the handshake is confirmed, since its datagrams are padded.
    fn may_send(&mut self, now: Time) -> Option<usize> {
        let wanted = self.wanted(now);
        if self.settings.recovery.offload.is_on() {
            self.loss.sender.set_waiting(self.waiting());
        }
        let due = self.spaces[Space::Application as usize].owes_ack(now);
        let fills = self.settings.recovery.small_last_packet && self.is_confirmed() && !due;
        self.loss.may_send(now, wanted, fills)
    }

    /// Returns the bytes of new stream data that wait, in full packets and the rest, as they count
    /// in the window.
    fn waiting(&self) -> u64 {
        let Some(one_rtt) = self.keys.one_rtt.as_ref().filter(|_| self.is_confirmed()) else { return 0 };
        let (_, number_len) = self.loss.next_number(space_id(Space::Application));
        let around = 1
            + self.ids.destination(Level::OneRtt).len()
            + number_len
            + FIXED_STREAM_HEADER
            + one_rtt.tag_len();
        let (bytes, full) = (self.streams.waiting(), self.loss.full());
        let payload = full.saturating_sub(around as u64).max(1);
        let rest = if bytes.is_multiple_of(payload) { 0 } else { bytes % payload + around as u64 };
        (bytes / payload).saturating_mul(full).saturating_add(rest)
    }

    /// Returns the size of the next packet, to be checked by congestion control. It is that of a
    /// full packet, or that of the waiting messages if there is nothing else to send.
    ///
    /// Otherwise a packet of audio would wait for the pacer until a full packet could be sent. The
    /// size is full until the handshake is confirmed, since its datagrams are padded. It is also
    /// full if a full packet would exceed the window and an ACK or a path frame waits, which might
    /// not fit.
    fn wanted(&self, now: Time) -> u64 {
        let full = self.loss.full();
        let alone = !self.messages.waiting.is_empty()
            && self.is_confirmed()
            && LEVELS.iter().all(|level| !self.has_more_than_messages(*level));
        let Some(one_rtt) = self.keys.one_rtt.as_ref().filter(|_| alone) else { return full };
        let has_news = self.spaces[Space::Application as usize].receiver.has_unacked();
        if self.loss.window_left() < full && (has_news || self.has_due(now)) {
            return full;
        }
        let (_, number_len) = self.loss.next_number(space_id(Space::Application));
        let destination = self.ids.destination(Level::OneRtt).len();
        let packet = 1 + destination + number_len + self.messages.waiting.in_frames() + one_rtt.tag_len();
        full.min(packet as u64)
    }

    /// Writes, seals and records a datagram with a packet of each of these levels for which there
    /// are keys and space, and for which `fill` writes anything.
    ///
    /// A 1-RTT packet alone in its datagram has at most `most` bytes before it is padded.
    pub(super) fn assemble(
        &mut self,
        now: Time,
        (buf, most): (&mut [u8], usize),
        path: (PathId, Addresses),
        levels: impl IntoIterator<Item = Level>,
        mut fill: impl FnMut(&mut Self, Level, &mut FrameWriter<'_>) -> WrittenFrames,
    ) -> Option<Transmit> {
        let mut datagram = Datagram::new(mem::take(&mut self.items));
        let alone = buf.len().min(most).min(self.packet_size());
        for level in levels {
            let room = if level == Level::OneRtt && datagram.is_empty() { alone } else { buf.len() };
            if let Some(draft) = self.draft(now, level, &mut buf[..room], &mut datagram, &mut fill) {
                datagram.push(draft);
            }
        }
        let transmit = (!datagram.is_empty()).then(|| self.send(now, buf, &mut datagram, path));
        self.items = datagram.items;
        transmit
    }

    /// Writes a packet, but does not seal it.
    pub(super) fn draft(
        &mut self,
        now: Time,
        level: Level,
        buf: &mut [u8],
        datagram: &mut Datagram,
        fill: impl FnOnce(&mut Self, Level, &mut FrameWriter<'_>) -> WrittenFrames,
    ) -> Option<Draft> {
        let (start, first) = (datagram.end(), datagram.items.len());
        let (tag_len, min_payload) = self.keys.sealing(level)?;
        let key_phase = level == Level::OneRtt && self.prepare_one_rtt(now)?;
        let header = self.ids.header(level, self.loss.next_number(space_id(level.space())), key_phase);
        if buf.len() < start + header.size() + MIN_ROOM / 2 + tag_len {
            return None;
        }
        let end = buf.len() - tag_len;
        let w = Writer::new(&mut buf[start..end]);
        let mut out = FrameWriter { w, items: &mut datagram.items };
        let placed = header.encode(&mut out.w).ok()?;
        let body = out.w.position();
        let WrittenFrames { eliciting, expand } = fill(self, level, &mut out);
        if out.w.position() == body {
            return None;
        }
        let least = min_payload.saturating_sub(placed.number_len).max(1);
        Frame::Padding((body + least).saturating_sub(out.w.position())).encode(&mut out.w).ok()?;
        let len = out.w.position();
        datagram.expand |= expand || (level == Level::Initial && (self.side == Side::Client || eliciting));
        let items = first..datagram.items.len();
        Some(Draft { placed, start, len, tag_len, eliciting, padded: false, items })
    }

    /// Skips a packet number and updates the keys if either is due. Returns the Key Phase bit, or
    /// `None` if the keys are used up.
    fn prepare_one_rtt(&mut self, now: Time) -> Option<bool> {
        self.loss.skip_if_due(&mut self.random);
        let before = self.keys.generation();
        let Ok(key_phase) = self.keys.one_rtt.as_mut()?.prepare(now) else {
            self.give_up(Ended::KeysUsedUp);
            return None;
        };
        self.observe_keys(now, before);
        Some(key_phase)
    }

    /// Pads, seals and records a datagram.
    pub(super) fn send(
        &mut self,
        now: Time,
        buf: &mut [u8],
        datagram: &mut Datagram,
        (path, addresses): (PathId, Addresses),
    ) -> Transmit {
        if datagram.expand {
            datagram.pad(buf, MIN_INITIAL_DATAGRAM);
        }
        let len = datagram.end();
        let in_flight = datagram.iter().any(|draft| draft.eliciting || draft.padded);
        let sender = &mut self.loss.sender;
        let ecn = if in_flight { sender.datagram_mark(now) } else { sender.bare_mark() };
        for draft in datagram.iter() {
            if let Err(error) = self.keys.seal(&mut buf[draft.range()], &draft.placed) {
                // Sealing only fails because of a bug. Nothing can be sent with such keys.
                self.fail(now, error);
            }
            self.note(now, draft, &datagram.items[draft.items.clone()], ecn);
        }
        if datagram.iter().any(|draft| draft.eliciting) {
            self.idle.on_sent(now);
        }
        // RFC 9001 section 4.9.1.
        if self.side == Side::Client && datagram.iter().any(|draft| draft.placed.level == Level::Handshake) {
            self.discard(now, Space::Initial);
        }
        if let Some(path) = self.paths.get_mut(path) {
            path.on_sent(len as u64);
        }
        self.counts.datagrams_sent += 1;
        self.counts.bytes_sent += len as u64;
        Transmit { from: addresses.local, to: addresses.remote, ecn, len, segment_size: None }
    }

    fn note(&mut self, now: Time, draft: &Draft, items: &[SentFrame], ecn: Ecn) {
        let level = draft.placed.level;
        let space = level.space();
        let bytes = draft.range().len() as u64;
        let in_flight = draft.eliciting || draft.padded;
        let number = if in_flight && self.lifecycle.is_open() {
            let contents = SentFrames::new(items);
            self.loss.sender.on_sent_in(now, space_id(space), bytes, ecn, contents, draft.eliciting)
        } else {
            self.loss.sender.on_bare_sent(space_id(space), ecn)
        };
        debug_assert_eq!(number, draft.placed.number, "the header says what loss recovery counts");
        if draft.eliciting {
            let probes = &mut self.spaces[space as usize].probes;
            *probes = probes.saturating_sub(1);
        }
        self.observe(now, &Observation::Sent { level, number, bytes, ecn, in_flight, items });
    }
}

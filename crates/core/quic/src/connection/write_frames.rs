//! Selection and order of the frames in a packet.

use recovery::{AckFrame, DEFAULT_ACK_DELAY_EXPONENT};
use units::Time;

use crate::connection::path::{Path, PathId};
use crate::connection::sent_frames::SentFrame;
use crate::connection::state::Connection;
use crate::connection::tap::Observation;
use crate::connection::transmit::WrittenFrames;
use crate::level::{Level, Space};
use crate::streams::datagram::FRAME;
use crate::streams::outbox::Chunk;
use crate::streams::table::MAX_CONTROL;
use crate::wire::ack::AckToSend;
use crate::wire::codec::Writer;
use crate::wire::frame::{Frame, StreamFrame};
use crate::wire::frame_type::FrameType;
use crate::wire::receive_timestamps::Stamp;
use crate::wire::transport_parameters::TransportParameters;
use crate::wire::varint;

/// Maximum size of an ACK with one range and ECN counts, in bytes.
const MIN_ACK: usize = 56;
/// Size of a CRYPTO frame without its data: type, offset, length.
const CRYPTO_HEADER: usize = 1 + 8 + 4;
/// Probes that remain in flight after a long silence: two for each timeout, which doubles from a
/// millisecond to an hour.
const PROBES: u64 = 48;
/// Additional bytes of an ACK with timestamps besides the timestamps: a type of four bytes instead
/// of one.
const STAMPS_TYPE: usize = 3;

impl Connection {
    /// Reports whether there is something ACK-eliciting to send at this level.
    pub(super) fn has_pending(&self, level: Level) -> bool {
        let has_messages = level == Level::OneRtt && self.one_rtt.is_some() && !self.datagrams_out.is_empty();
        has_messages || self.has_more_than_messages(level)
    }

    /// Reports whether there is something ACK-eliciting to send at this level, besides messages.
    pub(super) fn has_more_than_messages(&self, level: Level) -> bool {
        let space = &self.spaces[level.space() as usize];
        let said = space.probes > 0 || space.crypto.has_pending();
        match level {
            Level::OneRtt => self.one_rtt.is_some() && (said || self.has_application_pending()),
            _ => space.keys.is_some() && said,
        }
    }

    fn has_application_pending(&self) -> bool {
        self.announcements.is_pending()
            || self.streams.has_urgent()
            || (self.streams.has_patient() && !self.will_acknowledge())
    }

    /// Reports whether an ACK will be sent soon. Credit is granted long before it is needed, so it
    /// waits for that ACK.
    ///
    /// A packet just for credit would carry the ACK too early. Then ACKs would no longer follow
    /// every second packet.
    fn will_acknowledge(&self) -> bool {
        let space = &self.spaces[Space::Application as usize];
        space.receiver.has_unacked() && !space.ack_now
    }

    /// Writes the frames of a packet. ACK-eliciting frames are written only if they `may` be sent.
    pub(super) fn write_frames(
        &mut self,
        now: Time,
        level: Level,
        may: bool,
        w: &mut Writer<'_>,
    ) -> WrittenFrames {
        let mut filled = WrittenFrames::default();
        let start = w.position();
        self.write_ack(now, level, may, w);
        let after_ack = w.position();
        if level == Level::OneRtt {
            filled.expand = self.write_path_frames(now, w);
        }
        let probe = self.spaces[level.space() as usize].probes > 0;
        if may {
            let crypto = &mut self.spaces[level.space() as usize].crypto;
            if probe && level != Level::OneRtt && !crypto.has_pending() {
                // Each probe of the handshake repeats everything unacknowledged, not only the first
                // probe. aioquic closes a connection whose first packet to arrive is a PING.
                crypto.resend();
            }
            self.write_crypto(level, w);
            if level == Level::OneRtt {
                self.write_announcements(w);
                self.write_controls(w);
                self.write_datagrams(w);
                self.write_streams(w);
            }
            // A probe must be ACK-eliciting (RFC 9002 section 6.2.4).
            if probe && w.position() == after_ack {
                self.put(Frame::Ping, SentFrame::Ping, w);
            }
        }
        filled.eliciting = w.position() > after_ack || self.pings(start, w);
        filled
    }

    /// Reports whether an ACK was written together with a PING.
    fn pings(&self, start: usize, w: &Writer<'_>) -> bool {
        w.position() > start && self.items.last() == Some(&SentFrame::Ping)
    }

    /// Writes a frame if it fits, and reports whether it did.
    fn put(&mut self, frame: Frame<'_>, item: SentFrame, w: &mut Writer<'_>) -> bool {
        let written = frame.encode(w).is_ok();
        if written {
            self.items.push(item);
        }
        written
    }

    /// Writes an ACK if one is due. Also if there is something new to acknowledge and the packet is
    /// sent anyway: it `may` be, and carries something else.
    fn write_ack(&mut self, now: Time, level: Level, may: bool, w: &mut Writer<'_>) {
        let space = &self.spaces[level.space() as usize];
        let due = space.owes_ack(now);
        if !(due || (may && space.receiver.has_unacked())) || w.remaining() < MIN_ACK {
            return;
        }
        let leaves = may && self.has_pending(level);
        if !(due || leaves) {
            return;
        }
        let exponent =
            if level == Level::OneRtt { self.config.ack_delay_exponent } else { DEFAULT_ACK_DELAY_EXPONENT };
        let space = &mut self.spaces[level.space() as usize];
        space.ack_now = false;
        let mut frame = std::mem::take(&mut self.ack_frame);
        space.receiver.write_ack(now, &mut frame);
        let delay = AckFrame::encode_delay(frame.ack_delay, exponent);
        let mut ack =
            AckToSend { ranges: &frame.ranges, delay: delay.min(varint::MAX), ecn: frame.ecn, stamps: None };
        while ack.ranges.len() > 1 && ack.size() > w.remaining() {
            ack.ranges = &ack.ranges[1..];
        }
        let mut stamps = 0;
        if level == Level::OneRtt && !frame.timestamps.is_empty() && !ack.ranges.is_empty() {
            let format = self.peer.as_ref().map(TransportParameters::stamp_format).unwrap_or_default();
            let budget = w.remaining().saturating_sub(ack.size() + STAMPS_TYPE);
            let all = frame
                .timestamps
                .iter()
                .map(|&(number, nanos)| Stamp { micros: u64::try_from(nanos).unwrap_or(0) / 1000, number });
            let largest = ack.ranges.last().map_or(0, |range| range.1);
            stamps = self.stamps.fill(all, largest, format, budget);
            ack.stamps = (stamps > 0).then_some(&self.stamps);
        }
        if !ack.ranges.is_empty() && ack.encode(w).is_ok() {
            if let Some(tap) = &mut self.tap {
                tap.on(now, &Observation::Acknowledges { ranges: ack.ranges, delay: ack.delay });
            }
            let receipt = self.spaces[level.space() as usize].receiver.receipt(stamps);
            self.items.extend(receipt.map(SentFrame::Ack));
            // Any other ACK-eliciting packet has the same effect, even one in flight already. The
            // exception is an experiment with its own rule.
            let alone = self.settings.ack.ping_every.is_some() || self.sender.bytes_in_flight() == 0;
            if frame.ping && !leaves && alone {
                self.put(Frame::Ping, SentFrame::Ping, w);
            }
        }
        self.ack_frame = frame;
    }

    /// Writes challenges and responses of the active path. Returns whether the datagram must be
    /// expanded (RFC 9000 section 8.2).
    fn write_path_frames(&mut self, now: Time, w: &mut Writer<'_>) -> bool {
        let path = self.paths.active_id();
        self.write_path_frames_on(now, path, w)
    }

    /// Writes challenges and responses of any path.
    pub(super) fn write_path_frames_on(&mut self, now: Time, path: PathId, w: &mut Writer<'_>) -> bool {
        let pto = self.pto();
        // The peer can trigger any number of these frames, and each is stored until it is
        // acknowledged or lost. So congestion control holds them back here (section 8.2.2). They
        // still need credit on a new path while packets of the old path, and probes after a long
        // silence, fill the window. So they may use a second window, plus space for those probes.
        let room = self.sender.window().saturating_mul(2) + PROBES * self.path_info.max_datagram_size;
        let may = self.sender.bytes_in_flight() < room;
        let Some(known) = self.paths.get_mut(path) else { return false };
        let mut expand = false;
        // A challenge that cannot be sent counts as lost, so its timer continues.
        let challenge = known.next_challenge(now, pto, &mut self.random);
        if let Some(challenge) = challenge.filter(|_| may) {
            expand |= challenge.expand;
            self.put(Frame::PathChallenge(challenge.data), SentFrame::PathChallenge, w);
        }
        while may && w.remaining() >= 9 {
            let response = self.paths.get_mut(path).and_then(Path::next_response);
            let Some(data) = response else { break };
            expand = true;
            self.put(Frame::PathResponse(data), SentFrame::PathResponse, w);
        }
        expand
    }

    fn write_crypto(&mut self, level: Level, w: &mut Writer<'_>) {
        let crypto = &mut self.spaces[level.space() as usize].crypto;
        while let Some(room) = w.remaining().checked_sub(CRYPTO_HEADER).filter(|room| *room > 0) {
            let Some(chunk) = crypto.next(room) else { return };
            let Chunk { offset, len, .. } = chunk;
            w.varint(FrameType::CRYPTO.0);
            w.varint(offset);
            w.varint(len as u64);
            crypto.copy(offset, w.claim(len));
            self.items.push(SentFrame::Crypto(chunk));
        }
    }

    /// Writes frames that are sent once per connection, or rarely.
    fn write_announcements(&mut self, w: &mut Writer<'_>) {
        self.announcements.write(&self.local_ids, &mut self.items, w);
        if self.announcements.asks_frequency() {
            self.write_ack_frequency(w);
        }
        self.announcements.write_tokens(&mut self.items, w);
    }

    fn write_ack_frequency(&mut self, w: &mut Writer<'_>) {
        let (Some(request), Some(peer)) = (self.config.ack_frequency.request, &self.peer) else { return };
        let least = peer.min_ack_delay.unwrap_or(0);
        let delay =
            request.max_ack_delay.map_or(peer.max_ack_delay * 1000, |delay| delay.0 / 1000).max(least);
        let frame = Frame::AckFrequency {
            sequence: 0,
            threshold: request.threshold,
            max_ack_delay: delay,
            reordering_threshold: request.reordering_threshold,
        };
        if self.put(frame, SentFrame::AckFrequency, w) {
            self.announcements.ask_frequency(false);
            self.sender.set_max_ack_delay(units::Duration::from_micros(delay));
            self.compute_pto();
        }
    }

    fn write_controls(&mut self, w: &mut Writer<'_>) {
        while w.remaining() >= MAX_CONTROL {
            let Some((control, frame)) = self.streams.next_control() else { return };
            self.put(frame, SentFrame::Control(control), w);
        }
    }

    fn write_datagrams(&mut self, w: &mut Writer<'_>) {
        while let Some(room) = w.remaining().checked_sub(FRAME) {
            let Some(data) = self.datagrams_out.pop_within(room) else { return };
            self.put(Frame::Datagram { data: &data, length: true }, SentFrame::Datagram(data.len()), w);
        }
    }

    fn write_streams(&mut self, w: &mut Writer<'_>) {
        let fixed = self.config.fixed_sizes;
        while let Some((id, chunk)) = self.streams.next_data(w.remaining(), fixed) {
            let Chunk { offset, len, fin } = chunk;
            let frame = StreamFrame { id: id.0, offset, data: &[], fin, length: true };
            if let Ok(out) = frame.reserve(w, len, fixed) {
                self.streams.copy(id, offset, out);
            }
            self.items.push(SentFrame::Stream(id, chunk));
        }
    }
}

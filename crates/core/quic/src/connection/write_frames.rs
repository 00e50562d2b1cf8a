//! Selection and order of the frames in a packet.

use units::Time;

use crate::connection::datagram::WrittenFrames;
use crate::connection::path::PathId;
use crate::connection::sent_frames::{FrameWriter, SentFrame};
use crate::connection::state::Connection;
use crate::connection::tap::Observation;
use crate::level::{Level, Space};
use crate::streams::outbox::Chunk;
use crate::streams::table::MAX_CONTROL;
use crate::wire::frame::{Frame, StreamFrame};
use crate::wire::frame_type::FrameType;

/// Minimum size of an ACK with one range and ECN counts, in bytes.
const MIN_ACK: usize = 56;
/// Size of a CRYPTO frame without its data: type, offset, length.
const CRYPTO_HEADER: usize = 1 + 8 + 4;

impl Connection {
    /// Reports whether there is something ACK-eliciting to send at this level.
    pub(super) fn has_pending(&self, level: Level) -> bool {
        let has_messages =
            level == Level::OneRtt && self.keys.has(level) && !self.messages.waiting.is_empty();
        has_messages || self.has_more_than_messages(level)
    }

    /// Reports whether there is something ACK-eliciting to send at this level, besides messages.
    pub(super) fn has_more_than_messages(&self, level: Level) -> bool {
        let space = &self.spaces[level.space() as usize];
        let said = space.probes > 0 || space.crypto.has_pending();
        self.keys.has(level) && (said || (level == Level::OneRtt && self.has_application_pending()))
    }

    fn has_application_pending(&self) -> bool {
        self.ids.is_pending()
            || self.server_frames.is_pending()
            || self.ack_frequency.pending
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
        out: &mut FrameWriter<'_>,
    ) -> WrittenFrames {
        let mut filled = WrittenFrames::default();
        let pings = self.write_ack(now, level, may, out);
        let after_ack = out.w.position();
        if level == Level::OneRtt {
            filled.expand = self.write_path_frames(now, self.paths.active_id(), out);
        }
        let probe = self.spaces[level.space() as usize].probes > 0;
        if may {
            let crypto = &mut self.spaces[level.space() as usize].crypto;
            if probe && level != Level::OneRtt && !crypto.has_pending() {
                // Each probe of the handshake repeats everything unacknowledged, not only the first
                // probe. aioquic closes a connection whose first packet to arrive is a PING.
                crypto.resend();
            }
            self.write_crypto(level, out);
            if level == Level::OneRtt {
                self.write_announcements(out);
                self.write_controls(out);
                self.messages.write(out);
                self.write_streams(out);
            }
            // A probe must be ACK-eliciting (RFC 9002 section 6.2.4).
            if probe && out.w.position() == after_ack {
                out.put(Frame::Ping, SentFrame::Ping);
            }
        }
        filled.eliciting = pings || out.w.position() > after_ack;
        filled
    }

    /// Writes an ACK if one is due. Also if there is something new to acknowledge and the packet is
    /// sent anyway: it `may` be, and carries something else. Returns whether a PING was added.
    fn write_ack(&mut self, now: Time, level: Level, may: bool, out: &mut FrameWriter<'_>) -> bool {
        let space = &self.spaces[level.space() as usize];
        let due = space.owes_ack(now);
        if !(due || (may && space.receiver.has_unacked())) || out.w.remaining() < MIN_ACK {
            return false;
        }
        let leaves = may && self.has_pending(level);
        if !(due || leaves) {
            return false;
        }
        let space = &mut self.spaces[level.space() as usize];
        space.ack_now = false;
        let written = self.acks.write(now, level, &mut space.receiver, &mut out.w);
        let Some((ack, receipt, ping)) = written else { return false };
        if let Some(tap) = &mut self.tap {
            tap.on(now, &Observation::Acknowledges { ranges: ack.ranges, delay: ack.delay });
        }
        out.items.extend(receipt.map(SentFrame::Ack));
        // Any other ACK-eliciting packet has the same effect, even one in flight already. The
        // exception is an experiment with its own rule.
        let alone = self.settings.ack.ping_every.is_some() || self.loss.sender.bytes_in_flight() == 0;
        ping && !leaves && alone && out.put(Frame::Ping, SentFrame::Ping)
    }

    /// Writes challenges and responses of a path. Returns whether the datagram must be expanded
    /// (RFC 9000 section 8.2).
    pub(super) fn write_path_frames(&mut self, now: Time, path: PathId, out: &mut FrameWriter<'_>) -> bool {
        let may = self.loss.may_probe_paths();
        let Some(path) = self.paths.get_mut(path) else { return false };
        let mut expand = false;
        // A challenge that cannot be sent counts as lost, so its timer continues.
        let challenge = path.next_challenge(now, self.loss.pto(), &mut self.random);
        if let Some(challenge) = challenge.filter(|_| may) {
            expand |= challenge.expand;
            out.put(Frame::PathChallenge(challenge.data), SentFrame::PathChallenge);
        }
        while may && out.w.remaining() >= 9 {
            let Some(data) = path.next_response() else { break };
            expand = true;
            out.put(Frame::PathResponse(data), SentFrame::PathResponse);
        }
        expand
    }

    fn write_crypto(&mut self, level: Level, out: &mut FrameWriter<'_>) {
        let crypto = &mut self.spaces[level.space() as usize].crypto;
        while let Some(room) = out.w.remaining().checked_sub(CRYPTO_HEADER).filter(|room| *room > 0) {
            let Some(chunk) = crypto.next(room) else { return };
            let Chunk { offset, len, .. } = chunk;
            out.w.varint(FrameType::CRYPTO.0);
            out.w.varint(offset);
            out.w.varint(len as u64);
            crypto.copy(offset, out.w.claim(len));
            out.items.push(SentFrame::Crypto(chunk));
        }
    }

    /// Writes frames that are sent once per connection, or rarely.
    fn write_announcements(&mut self, out: &mut FrameWriter<'_>) {
        self.server_frames.write_done(out);
        self.ids.write(out);
        if let Some(delay) = self.ack_frequency.write(out) {
            self.loss.set_max_ack_delay(delay);
        }
        self.server_frames.write_tokens(out);
    }

    fn write_controls(&mut self, out: &mut FrameWriter<'_>) {
        while out.w.remaining() >= MAX_CONTROL {
            let Some((control, frame)) = self.streams.next_control() else { return };
            out.put(frame, SentFrame::Control(control));
        }
    }

    fn write_streams(&mut self, out: &mut FrameWriter<'_>) {
        let fixed = self.settings.config.fixed_sizes;
        while let Some((id, chunk)) = self.streams.next_data(out.w.remaining(), fixed) {
            let Chunk { offset, len, fin } = chunk;
            let frame = StreamFrame { id: id.0, offset, data: &[], fin, length: true };
            if let Ok(data) = frame.reserve(&mut out.w, len, fixed) {
                self.streams.copy(id, offset, data);
            }
            out.items.push(SentFrame::Stream(id, chunk));
        }
    }
}

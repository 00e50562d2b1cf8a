//! Opening a connection: an Initial or a SYN, its retransmissions, and the reply.

use recovery::{AckEffects, AckFrame, SpaceId};
use scenario::Route;
use scenario::trace;
use units::{Ecn, Time};

use super::{Flow, Shared};
use crate::endpoints::handshake::{END_OF_HANDSHAKE, Ending, HANDSHAKE_PACKET, Handshake, NO_STREAM};
use crate::engine::links::Links;
use crate::packet::{Chunk, Content, Data, Feedback};

impl Flow {
    #[inline(never)]
    pub(super) fn answer_handshake(&mut self, now: Time, number: u64, shared: &mut Shared) {
        let bytes = self.transport.handshake_payload();
        let packet = trace::Handshake { number, bytes };
        self.record.on_handshake_received(now, packet);
        self.record.on_handshake_answered(now, packet);
        self.send_back(now, Feedback { number, content: Content::Open }, shared);
    }

    /// Notes that the Initial or SYN of this number is answered.
    #[cold]
    pub(super) fn opened(
        &mut self,
        now: Time,
        number: u64,
        handshake: &Handshake,
        out: &mut AckEffects<Chunk>,
    ) {
        if handshake.counts() {
            let frame = AckFrame { ranges: vec![(number, number)], ..AckFrame::default() };
            // It acknowledges only what was sent, so nothing can reject it.
            let _ = self.sender.on_ack_in(now, SpaceId::Initial, &frame, None, out);
            self.sender.discard(now, SpaceId::Initial);
            self.sender.on_handshake_confirmed(now);
            self.ending = Ending::Due;
        } else if let Some(rtt) = handshake.answered(now, number) {
            self.sender.on_handshake(now, rtt, out);
        }
    }

    #[cold]
    pub(super) fn open_if_due(&mut self, now: Time, links: &mut Links) {
        if self.handshake.as_ref().is_some_and(|handshake| handshake.due() <= now) {
            self.open(now, links);
        }
    }

    /// Sends an Initial or a SYN, the first or a retransmission.
    #[inline(never)]
    fn open(&mut self, now: Time, links: &mut Links) {
        let Some(handshake) = &mut self.handshake else { return };
        let Route { first, last } = self.route;
        let size = self.transport.handshake_bytes();
        let number = handshake.open(now);
        let bare = Data::bare(self.id, size, last, number, now);
        let bytes = self.transport.handshake_payload();
        if handshake.counts() {
            self.sender.on_sent_in(now, SpaceId::Initial, bytes.into(), Ecn::NotEct, NO_STREAM, true);
            // Nothing else can be sent before it is answered.
            self.sender.mark_app_limited();
        }
        if let Some(idle) = &mut self.idle {
            idle.on_sent(now);
        }
        self.record.on_handshake_sent(now, trace::Handshake { number, bytes }, size);
        let packet = Data { connection: self.connection, ..bare }.into_handshake();
        let entry = usize::from(first);
        match links.push(now, entry, packet) {
            Ok(admitted) => {
                if let Some(queue_time) = admitted.queue_time {
                    self.record.on_queued(now, entry, queue_time);
                }
            }
            Err(_) => self.record.on_dropped(now),
        }
    }

    /// Returns the bytes of the handshake's end that the next datagram carries besides its packet.
    pub(super) fn end_of_handshake(&self) -> u32 {
        if self.ending == Ending::Due { END_OF_HANDSHAKE.min(self.transport.payload() / 2) } else { 0 }
    }

    /// Sends the end of the handshake with the datagram that leaves now. Returns its bytes.
    pub(super) fn end_handshake(&mut self, now: Time) -> u32 {
        let bytes = self.end_of_handshake();
        if bytes > 0 {
            let in_flight = bytes.min(HANDSHAKE_PACKET).into();
            self.sender.on_sent_in(now, SpaceId::Handshake, in_flight, Ecn::NotEct, NO_STREAM, true);
            self.sender.on_handshake_confirmed(now);
            self.ending = Ending::InFlight;
        }
        bytes
    }

    /// Discards the handshake keys, and the packets sent with them, at the first ACK or timer.
    #[inline]
    pub(super) fn forget_handshake(&mut self, now: Time) {
        if self.ending == Ending::InFlight {
            self.sender.discard(now, SpaceId::Handshake);
            self.sender.on_handshake_confirmed(now);
            self.ending = Ending::None;
        }
    }

    /// Nothing leaves before the connection is open. It is opened when data is first available.
    #[inline(never)]
    pub(super) fn wait_for_handshake(&mut self, now: Time, links: &mut Links) {
        let begun = self.handshake.as_ref().is_some_and(Handshake::has_begun);
        if !begun && self.fresh_chunk(now).is_some() {
            self.open(now, links);
        }
    }
}

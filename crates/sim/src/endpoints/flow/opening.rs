//! Opening a connection: an Initial or a SYN, repeats of it, and the answer.

use recovery::{AckEffects, AckFrame, SpaceId};
use scenario::Route;
use scenario::trace;
use units::{Ecn, Time};

use super::{Flow, Shared};
use crate::endpoints::handshake::{END_OF_HANDSHAKE, Ending, HANDSHAKE_PACKET, Handshake, NO_STREAM};
use crate::engine::links::Links;
use crate::packet::{Chunk, Data, Feedback, Says};

impl Flow {
    #[inline(never)]
    pub(super) fn answer_handshake(&mut self, now: Time, number: u64, shared: &mut Shared) {
        let bytes = self.transport.handshake_payload();
        let packet = trace::Handshake { number, bytes };
        self.record.on_handshake_received(now, packet);
        self.record.on_handshake_answered(now, packet);
        self.send_back(now, Feedback { number, says: Says::Open }, shared);
    }

    /// The Initial or SYN of this number is answered.
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
            // Only of what was sent: there is nothing that could refuse it.
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

    /// An Initial or a SYN leaves, the first or a repeat.
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
        self.record.on_handshake_sent(now, trace::Handshake { number, bytes }, size);
        let packet = Data { connection: self.connection, ..bare }.of_handshake();
        let entry = usize::from(first);
        match links.push(now, entry, packet) {
            Ok(admitted) => {
                if let Some(stay) = admitted.stay {
                    self.record.on_queued(now, entry, stay);
                }
            }
            Err(_) => self.record.on_dropped(now),
        }
    }

    /// What the next datagram carries besides its packet.
    pub(super) fn end_of_handshake(&self) -> u32 {
        if self.ending == Ending::Due { END_OF_HANDSHAKE.min(self.transport.payload() / 2) } else { 0 }
    }

    /// The same, when that datagram leaves.
    pub(super) fn end_handshake(&mut self, now: Time) -> u32 {
        let bytes = self.end_of_handshake();
        if bytes > 0 {
            let in_flight = bytes.min(HANDSHAKE_PACKET).into();
            self.sender.on_sent_in(now, SpaceId::Handshake, in_flight, Ecn::NotEct, NO_STREAM, true);
            self.sender.on_handshake_confirmed(now);
            self.ending = Ending::UnderWay;
        }
        bytes
    }

    /// The first ACK has come, or a timer is due: the keys of the handshake go, and with them what was sent with them.
    #[inline]
    pub(super) fn forget_handshake(&mut self, now: Time) {
        if self.ending == Ending::UnderWay {
            self.sender.discard(now, SpaceId::Handshake);
            self.sender.on_handshake_confirmed(now);
            self.ending = Ending::None;
        }
    }

    /// Nothing leaves before the connection is open; it is opened for the first that wants to.
    #[inline(never)]
    pub(super) fn wait_for_handshake(&mut self, now: Time, links: &mut Links) {
        let begun = self.handshake.as_ref().is_some_and(Handshake::has_begun);
        if !begun && self.fresh_chunk(now).is_some() {
            self.open(now, links);
        }
    }
}

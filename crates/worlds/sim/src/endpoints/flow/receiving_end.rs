//! The receiving end of a flow: packets that arrive, acknowledgements, and their return path.
//!
//! If the sender is ahead ([`Flow::act_ahead`]) arriving packets may wait. They are needed only
//! when their acknowledgement would arrive, when a sample is taken, or when a retransmission
//! leaves. The latter counts as redundant if the receiver already has the data. Packets that stayed
//! with the flow while its sender was ahead ([`super::scheduled`]) arrive later, in the flow's own
//! turns.

use scenario::Transport;
use units::{Duration, Time};

use super::{Flow, Shared, Stage};
use crate::packet::{ACK_ALONE, Data, Feedback};

/// Number of additional packets behind the last link after which the receiving end catches up with
/// the present again.
const WAITING: usize = 32;

impl Flow {
    /// Takes a packet that leaves its last link. Reports whether that may change the time of the
    /// flow's next turn.
    pub(crate) fn on_delivery(&mut self, now: Time, data: &Data, shared: &mut Shared) -> bool {
        self.stored = self.stored.saturating_sub(1);
        if self.propagation_delay == Duration::ZERO && !self.ahead {
            self.catch_up(now, shared);
            self.receive(now, data, shared);
            return true;
        }
        let first = self.arriving.is_empty() && self.scheduled.leaves().is_none();
        self.arriving.push_back((now + self.propagation_delay, *data));
        let too_many = self.ahead && self.arriving.len() >= self.too_many;
        if too_many {
            self.catch_up_before_turn(now, shared);
        }
        first || too_many
    }

    /// Takes a copy of a packet that leaves its last link. A QUIC receiver recognises its number
    /// and discards it; TCP answers. Deviation: it skips the delay beyond the links. Its cost there
    /// and on links behind the one that copied it is not counted.
    #[cold]
    pub(crate) fn on_copy(&mut self, now: Time, data: &Data, shared: &mut Shared) {
        self.changed = true;
        self.catch_up_before_turn(now, shared);
        let is_tcp = matches!(self.transport, Transport::Tcp { .. });
        if is_tcp && self.stage != Stage::Done && data.connection == self.connection && !data.is_handshake() {
            self.receiver.on_packet(now, data);
            self.record.ecn.add(data.ecn);
            self.acknowledge(now, shared);
        }
    }

    /// Catches up with the present if packets may wait: receives what has arrived by now, and sends
    /// acknowledgements that were due before now.
    pub(super) fn catch_up(&mut self, now: Time, shared: &mut Shared) {
        if self.waits() {
            self.receive_until(now, now, shared);
        }
    }

    /// Does the same before a turn of the flow. Packets that arrive from behind the links at this
    /// very time come later, like everything that flows do.
    pub(super) fn catch_up_before_turn(&mut self, now: Time, shared: &mut Shared) {
        if self.waits() {
            let beyond = Duration(u64::from(self.propagation_delay > Duration::ZERO));
            self.receive_until(now - beyond, now, shared);
        }
    }

    /// Reports whether due packets may wait. Packets that come directly from a link are received
    /// before any turn.
    fn waits(&self) -> bool {
        self.ahead
            || self.scheduled.leaves().is_some()
            || (self.propagation_delay == Duration::ZERO && self.next_arrival() < Time::NEVER)
    }

    /// Receives packets that arrive by `arrived`, each at its own time, and sends acknowledgements
    /// due before `now`.
    fn receive_until(&mut self, arrived: Time, now: Time, shared: &mut Shared) {
        while self.next_arrival() <= arrived
            && let Some((at, data)) = self.arrive()
        {
            self.acknowledge_late(at, shared);
            self.receive(at, &data, shared);
        }
        self.acknowledge_late(now, shared);
        self.too_many = self.arriving.len() + WAITING;
    }

    /// Returns the time of the next event at this end: a packet arrives or a delayed
    /// acknowledgement is due.
    #[inline]
    pub(super) fn next_far(&self) -> Time {
        self.receiver.timer().unwrap_or(Time::NEVER).min(self.next_arrival())
    }

    /// Returns the arrival of the next packet, if it has left its last link or its arrival is
    /// known.
    #[inline]
    pub(super) fn next_arrival(&self) -> Time {
        let behind = self.arriving.front().map_or(Time::NEVER, |first| first.0);
        behind.min(self.scheduled.arrival())
    }

    /// Takes that packet.
    #[inline]
    fn arrive(&mut self) -> Option<(Time, Data)> {
        match self.arriving.front() {
            Some(first) if first.0 < self.scheduled.arrival() => self.arriving.pop_front(),
            _ => {
                let (at, packet) = self.scheduled.arrive()?;
                Some((at, packet.data(self.id, self.route.last)))
            }
        }
    }

    fn receive(&mut self, now: Time, data: &Data, shared: &mut Shared) {
        self.changed = true;
        if self.stage == Stage::Done || data.connection != self.connection {
            return;
        }
        if data.is_handshake() {
            return self.answer_handshake(now, data.pn, shared);
        }
        if data.chunk == ACK_ALONE {
            return self.receiver.forget_below(data.pn);
        }
        let (start, end) = (data.chunk.offset, data.chunk.offset + u64::from(data.chunk.len));
        let (fresh, mut must_ack, contiguous) = self.receiver.on_packet(now, data);
        must_ack |= self.written == 0 && self.setup.ends_handshake;
        let transport = self.transport;
        self.record.on_packet(now, || data.arrival(transport));
        let stream = self.source.is_reliable().then_some((end, contiguous));
        self.record.on_received(now, now - data.sent, fresh, data.ecn, stream);
        if self.source.on_received(now, (start, end), contiguous, &mut self.record) {
            self.finish(now);
        } else if must_ack {
            self.acknowledge(now, shared);
        }
    }

    /// Sends the delayed acknowledgement due before this time, unless the flow is done.
    fn acknowledge_late(&mut self, before: Time, shared: &mut Shared) {
        if self.stage != Stage::Done {
            self.acknowledge_due(before, shared);
        }
    }

    fn acknowledge_due(&mut self, before: Time, shared: &mut Shared) {
        if let Some(due) = self.receiver.timer().filter(|due| *due < before) {
            self.acknowledge(due, shared);
        }
    }

    /// Processes all that is due at this end by now, including the delayed acknowledgement, even if
    /// the last packet has just arrived.
    pub(super) fn receive_due(&mut self, now: Time, shared: &mut Shared) {
        self.receive_until(now, now, shared);
        self.acknowledge_due(now + Duration(1), shared);
        if let Some(feedback) = self.back.jitter.leaving(now) {
            self.send_back(now, feedback, shared);
        }
    }

    fn acknowledge(&mut self, now: Time, shared: &mut Shared) {
        let content = self.receiver.acknowledge(now, &mut shared.pool, || {
            self.back.is_plain() && self.record.trace.is_none() // a log contains each in full
        });
        let feedback = Feedback { number: self.written, content };
        self.written += 1;
        // No packet arrives twice, so the receiver's totals are those of all arrivals, except
        // packets below the number that it has forgotten.
        let forgets = self.setup.ack.ping_every.is_some();
        debug_assert!(self.connection > 0 || forgets || feedback.ecn() == self.record.ecn);
        if self.back.jitter.is_on() {
            return self.back.jitter.hold(now, feedback);
        }
        self.send_back(now, feedback, shared);
    }

    #[inline(always)] // moves its argument
    pub(super) fn send_back(&mut self, now: Time, feedback: Feedback, shared: &mut Shared) {
        self.record.on_feedback_sent(now);
        self.record.on_feedback_leaving(now, || feedback.ack());
        match self.back.entry() {
            None => self.back.delay(now, feedback),
            Some(link) => self.send_back_over(now, feedback, link, shared),
        }
    }

    #[inline(never)]
    fn send_back_over(&mut self, now: Time, feedback: Feedback, link: usize, shared: &mut Shared) {
        let handshake = self.transport.handshake_bytes();
        let Some(packet) = self.back.ack_packet(now, feedback, handshake) else { return };
        if shared.links.push(now, link, packet).is_err() {
            self.on_feedback_dropped(&packet, shared);
        }
    }

    /// Takes feedback that leaves its last link.
    pub(crate) fn on_feedback_delivery(&mut self, now: Time, number: u64) {
        if let Some(feedback) = self.back.take(number) {
            self.back.delay(now, feedback);
        }
    }

    pub(crate) fn on_feedback_dropped(&mut self, packet: &Data, shared: &mut Shared) {
        self.record.on_feedback_dropped(packet.sent);
        if let Some(feedback) = self.back.take(packet.pn) {
            shared.pool.take(feedback.content);
        }
    }
}

//! The receiving end of a flow: packets that arrive, acknowledgements, and their way back.
//!
//! Where the sender is ahead ([`Flow::act_ahead`]) what arrives may wait: nobody asks before its acknowledgement would arrive, a sample is taken,
//! or a repeat leaves, of which it is counted whether the receiver has it already. What stayed with the flow while its sender was ahead
//! ([`super::under_way`]) arrives in the flow's own turns afterwards.

use scenario::Transport;
use units::{Duration, Time};

use super::{Flow, Shared, Stage};
use crate::packet::{ACK_ALONE, Data, Feedback};

/// So many more packets behind the last link than there were when the receiving end came to the present last, and it does so again.
const WAITING: usize = 32;

impl Flow {
    /// A packet leaves its last link. Whether that may move the time of the flow's next turn.
    pub(crate) fn on_delivery(&mut self, now: Time, data: &Data, shared: &mut Shared) -> bool {
        if self.propagation_delay == Duration::ZERO && !self.ahead {
            self.catch_up(now, shared);
            self.receive(now, data, shared);
            return true;
        }
        let first = self.arriving.is_empty() && self.under_way.leaves().is_none();
        self.arriving.push_back((now + self.propagation_delay, *data));
        let too_many = self.ahead && self.arriving.len() >= self.too_many;
        if too_many {
            self.catch_up_before_turn(now, shared);
        }
        first || too_many
    }

    /// A second one of a packet that leaves its last link. A QUIC receiver knows its number and throws it away; TCP answers. Deviation: it comes
    /// without the delay beyond the links, and what it costs there and on links behind the one that made it is not counted.
    #[cold]
    pub(crate) fn on_copy(&mut self, now: Time, data: &Data, shared: &mut Shared) {
        self.news = true;
        self.catch_up_before_turn(now, shared);
        let is_tcp = matches!(self.transport, Transport::Tcp { .. });
        if is_tcp && self.stage != Stage::Done && data.connection == self.connection && !data.is_handshake() {
            self.receiver.on_packet(now, data);
            self.record.ecn.add(data.ecn);
            self.acknowledge(now, shared);
        }
    }

    /// Where something may wait, this end comes to the present: what has arrived by now is received, and what was to be acknowledged before
    /// now has been.
    pub(super) fn catch_up(&mut self, now: Time, shared: &mut Shared) {
        if self.waits() {
            self.receive_until(now, now, shared);
        }
    }

    /// The same before a turn of the flow: what comes from behind the links at this very time comes later, like all that flows do.
    pub(super) fn catch_up_before_turn(&mut self, now: Time, shared: &mut Shared) {
        if self.waits() {
            let beyond = Duration(u64::from(self.propagation_delay > Duration::ZERO));
            self.receive_until(now - beyond, now, shared);
        }
    }

    /// Whether there may be something that is due and waits: what comes right from a link is received before anybody's turn.
    fn waits(&self) -> bool {
        self.ahead
            || self.under_way.leaves().is_some()
            || (self.propagation_delay == Duration::ZERO && self.next_arrival() < Time::NEVER)
    }

    /// What has arrived by one time is received, each packet at its own, and what was to be acknowledged before the other.
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

    /// When the next packet arrives that has left its last link, or will and says when.
    #[inline]
    pub(super) fn next_arrival(&self) -> Time {
        let behind = self.arriving.front().map_or(Time::NEVER, |first| first.0);
        behind.min(self.under_way.arrival())
    }

    /// That packet.
    #[inline]
    fn arrive(&mut self) -> Option<(Time, Data)> {
        match self.arriving.front() {
            Some(first) if first.0 < self.under_way.arrival() => self.arriving.pop_front(),
            _ => {
                let (at, packet) = self.under_way.arrive()?;
                Some((at, packet.data(self.id, self.route.last)))
            }
        }
    }

    fn receive(&mut self, now: Time, data: &Data, shared: &mut Shared) {
        self.news = true;
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
        let bytes = self.transport.window_bytes(data.chunk.len);
        self.record.on_packet(now, || data.arrival(bytes));
        let stream = self.source.is_reliable().then_some((end, contiguous));
        self.record.on_received(now, now - data.sent, fresh, data.ecn, stream);
        if self.source.on_received(now, (start, end), contiguous, &mut self.record) {
            self.finish(now);
        } else if must_ack {
            self.acknowledge(now, shared);
        }
    }

    /// The delayed acknowledgement that was due before this time; none once the flow is done.
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

    /// All that is due at this end by now, the delayed acknowledgement too, even if the last packet has just come.
    pub(super) fn receive_due(&mut self, now: Time, shared: &mut Shared) {
        self.receive_until(now, now, shared);
        self.acknowledge_due(now + Duration(1), shared);
        if let Some(feedback) = self.back.jitter.leaving(now) {
            self.send_back(now, feedback, shared);
        }
    }

    fn acknowledge(&mut self, now: Time, shared: &mut Shared) {
        let says = self.receiver.acknowledge(now, &mut shared.spent, || {
            self.back.is_plain() && self.record.trace.is_none() // a log has each in full
        });
        let feedback = Feedback { number: self.written, says };
        self.written += 1;
        // No packet arrives twice, so the receiver's totals are those of all that arrived; but for what comes below that which it has forgotten.
        let forgets = self.setup.ack.ping_every.is_some();
        debug_assert!(self.connection > 0 || forgets || feedback.ecn() == self.record.ecn);
        if self.back.jitter.is_on() {
            return self.back.jitter.hold(now, feedback);
        }
        self.send_back(now, feedback, shared);
    }

    #[inline(always)] // moves what it is given
    pub(super) fn send_back(&mut self, now: Time, feedback: Feedback, shared: &mut Shared) {
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
        self.record.on_feedback_sent(now);
        if shared.links.push(now, link, packet).is_err() {
            self.on_feedback_dropped(now, packet.pn, shared);
        }
    }

    /// The feedback of this number leaves its last link.
    pub(crate) fn on_feedback_delivery(&mut self, now: Time, number: u64) {
        if let Some(feedback) = self.back.take(number) {
            self.back.delay(now, feedback);
        }
    }

    pub(crate) fn on_feedback_dropped(&mut self, now: Time, number: u64, shared: &mut Shared) {
        self.record.on_feedback_dropped(now);
        if let Some(feedback) = self.back.take(number) {
            shared.spent.take(feedback.says);
        }
    }
}

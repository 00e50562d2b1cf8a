//! The sending end of a flow: application, acknowledgements, timers, departing packets.
//!
//! Acknowledgements that arrive within the delay behind the last return link have left already:
//! nothing that happens on the links until then reaches the sender. It therefore acts ahead of time
//! where nothing else can change its actions, and its packets wait for their departure
//! ([`super::scheduled`]). The flow's memory is then fetched once for many packets, instead of
//! again after every turn of another flow.

use link::{QueueTime, Transit};
use recovery::{AckEffects, Payload, SendDecision, SpaceId};
use scenario::trace::Metrics;
use scenario::{Route, SentPacket, allowed_rate};
use units::{Ecn, Time};

use super::scheduled::Packet;
use super::{Flow, Shared, Stage};
use crate::endpoints::handshake::{Handshake, NO_STREAM};
use crate::engine::links::Links;
use crate::packet::{ACK_ALONE, Chunk, Content, Feedback, MTU_PROBE};

/// Number of scheduled packets at which a sender stops running ahead.
const AHEAD: usize = 32;

/// Size of the frame in a packet with only an ACK, as on the return path.
const ACK_FRAME: u32 = 20;

/// Result of entering the first link.
enum Entry {
    /// Stored in the link, with the time in the queue where known.
    Stored(Option<QueueTime>),
    /// Kept by the flow.
    Kept(Transit),
    Refused,
}

impl Flow {
    /// Returns the time of the next event at the sending end.
    pub(super) fn next_act(&self) -> Time {
        self.near_next.min(self.source.next()).min(self.back.next_arrival())
    }

    /// Computes [`Flow::near_next`].
    fn due_near(&self) -> Time {
        let handshake = self.handshake.as_ref().map(Handshake::due);
        let others = [handshake, self.stop, self.idle_at()];
        others.into_iter().flatten().fold(self.pacer_at.min(self.timer_at), Time::min)
    }

    /// Returns the time at which the idle timeout closes the connection. Deviation: only the sender
    /// of the data has one.
    fn idle_at(&self) -> Option<Time> {
        self.idle.as_ref().map(|idle| idle.deadline(self.sender.timers().pto))
    }

    /// Reports whether only acknowledgements can change what the sender does next, and those arrive
    /// after a delay.
    fn can_run_ahead(&self) -> bool {
        self.stage == Stage::Running
            && self.handshake.is_none()
            && self.idle.is_none()
            && self.source.can_run_ahead(self.fresh)
            && self.back.is_plain()
    }

    /// Processes what is due at the sending end, and what will be due before unknown
    /// acknowledgements can arrive. It stops before `bound`, when the flow is next observed, and
    /// before the flow's stop.
    pub(super) fn act_ahead(&mut self, now: Time, bound: Time, shared: &mut Shared) {
        if self.next_act() <= now {
            self.act(now, shared);
        }
        let bound = bound.min(self.stop.unwrap_or(Time::NEVER));
        let near = bound.min(now + self.back.lag());
        let known = match shared.takes_long_turns {
            true => self.arrivals_known_until(now, &shared.links),
            false => now,
        };
        self.ahead = self.can_run_ahead();
        while self.ahead && self.scheduled.waiting() < AHEAD {
            let next = self.next_act();
            if next >= near {
                if !shared.takes_long_turns {
                    break;
                }
                // Whether a retransmission is redundant depends on the receiver at its departure,
                // so that the receiver must not be ahead of it.
                let known = if self.scheduled.has_repeat() { now } else { known };
                let far = self.next_far();
                if far + self.back.lag() <= next && far < known.min(bound) {
                    self.receive_due(far, shared);
                    continue;
                }
                if next >= bound.min(far.min(known) + self.back.lag()) {
                    break;
                }
            }
            self.act(next, shared);
            self.ahead = self.can_run_ahead();
        }
    }

    /// Returns a time before which no packet arrives that has not left yet.
    #[inline]
    fn arrivals_known_until(&self, now: Time, links: &Links) -> Time {
        let Route { first, last } = self.route;
        if first != last || self.stored > 0 {
            return now;
        }
        now.max(links.last_delivery(first.into()) + self.propagation_delay)
    }

    /// Processes what is due at the sending end.
    fn act(&mut self, now: Time, shared: &mut Shared) {
        self.changed = true;
        // Whether `timer_at` is up to date.
        let mut settled = false;
        if self.source.next() <= now {
            self.on_application(now);
        }
        if self.handshake.is_some() {
            self.open_if_due(now, &mut shared.links);
        }
        if let Some(feedback) = self.back.arrived(now) {
            if let Some(idle) = &mut self.idle {
                idle.on_received(now);
            }
            self.on_feedback(now, feedback, shared);
            self.timer_at = self.timer();
            settled = true;
        }
        if self.timer_at <= now {
            self.forget_handshake(now);
            self.sender.on_timer(now, &mut shared.effects);
            self.apply(now, &shared.effects);
            settled = false;
        }
        if self.stop.is_some_and(|stop| stop <= now) {
            self.finish(now);
        } else if self.idle_at().is_some_and(|due| due <= now) {
            self.stage = Stage::Done;
            self.record.on_closed(now);
        }
        let sent = self.sender.stats().sent;
        if self.stage == Stage::Running {
            self.send(now, &mut shared.links);
            self.sender.end_response();
        }
        // A refused send changes no timer, unless the sender was idle: then the controller is
        // notified.
        if !settled || self.sender.stats().sent != sent || self.sender.bytes_in_flight() == 0 {
            self.timer_at = self.timer();
        }
        self.near_next = self.due_near();
        if let Some(why) = self.sender.controller().failure() {
            self.fail(now, why);
        }
    }

    /// Ends the flow, and with it the run, because the controller has failed.
    #[cold]
    fn fail(&mut self, now: Time, why: String) {
        self.stage = Stage::Done;
        self.record.broken = Some((now, why));
    }

    /// Returns the next timer of loss recovery or of the controller. A handshake has its own.
    fn timer(&self) -> Time {
        if self.handshake.is_some() {
            return Time::NEVER;
        }
        self.sender.next_timer().unwrap_or(Time::NEVER)
    }

    /// Lets the application act.
    #[inline(never)]
    fn on_application(&mut self, now: Time) {
        let sender = &self.sender;
        if self.source.on_time(now, self.fresh, || allowed_rate(sender), &mut self.record) {
            self.reconnect();
        }
    }

    fn on_feedback(&mut self, now: Time, feedback: Feedback, shared: &mut Shared) {
        let bytes = self.transport.handshake_payload();
        self.record.on_feedback(now, || feedback.event(bytes));
        let Shared { effects, pool, .. } = shared;
        let inline;
        let (frame, ack) = match &feedback.content {
            Content::Quic(frame) => (Some(&**frame), None),
            Content::InlineQuic(inline) => (Some(pool.read(inline, self.sender.acked_ranges())), None),
            Content::Tcp(ack) => (None, Some(&**ack)),
            Content::InlineTcp(ack) => {
                inline = ack.whole();
                (None, Some(&inline))
            }
            Content::Open => {
                // The connection is already open: a retransmission was answered too.
                let Some(handshake) = self.handshake.take() else { return };
                self.opened(now, feedback.number, &handshake, effects);
                (None, None)
            }
        };
        if let Some(frame) = frame {
            if frame.ping {
                self.answer_ping(now, frame.ranges.last().map_or(0, |newest| newest.1 + 1));
            }
            self.sender.on_ack(now, frame, self.resend.min_offset(), effects);
            self.forget_handshake(now);
        }
        if let Some(ack) = ack {
            self.sender.on_tcp_ack(now, ack, effects);
            if !self.resend.is_empty() {
                self.resend.drop_covered(ack);
            }
        }
        shared.pool.take(feedback.content);
        self.apply(now, &shared.effects);
        let rtt = shared.effects.rtt;
        self.record.on_acknowledged(
            now,
            rtt.map(|sample| (sample, self.sender.rtt().variation())),
            &self.sender.timers(),
        );
        self.record.on_metrics(now, |spare| Metrics::new(&self.sender, rtt, spare));
    }

    /// Sends a packet with only an ACK, which acknowledges a packet that acknowledged everything
    /// below `below`. It is not in flight: it only crosses the links and tells the receiver that
    /// its ACK was read. Deviation: it takes no packet number.
    #[inline(never)]
    fn answer_ping(&mut self, now: Time, below: u64) {
        let size = self.transport.wire_bytes(ACK_FRAME);
        self.record.on_ack_sent(now, size);
        self.scheduled.push(Packet::new(now, below, ACK_ALONE, size, self.connection));
    }

    /// Applies the effects of loss recovery.
    fn apply(&mut self, now: Time, effects: &AckEffects<Chunk>) {
        for (_, chunk) in &effects.late {
            self.arrived_late.insert(chunk.range().start, chunk.range().end);
        }
        if !effects.late.is_empty() {
            let arrived = &self.arrived_late;
            self.resend.retain(|c| !arrived.holds(c.range().start, c.range().end));
        }
        for &(pn, detection, chunk) in &effects.lost {
            self.record.on_lost(now, pn, detection);
            if chunk == NO_STREAM || (self.searches && chunk == MTU_PROBE) {
                continue;
            }
            if !self.source.is_reliable() {
                self.source.on_lost(now, chunk.offset, &mut self.record);
            } else if !self.arrived_late.holds(chunk.range().start, chunk.range().end) {
                self.resend.push_back(chunk);
            }
        }
        self.record.on_reaction(now, self.sender.control(), effects.congestion);
        if effects.probe && self.resend.is_empty() && self.fresh_chunk(now).is_none() {
            self.probe();
        }
    }

    /// Queues a probe when there is nothing new to send: a retransmission or, for unreliable data,
    /// a PING.
    fn probe(&mut self) {
        if self.source.is_reliable() {
            // A probe for the MTU, alone in flight, is repeated as a PING of the usual size.
            let ping = self.searches.then_some(MTU_PROBE);
            let chunk = self.sender.probe_payload().or(ping);
            chunk.into_iter().for_each(|chunk| self.resend.push_back(chunk));
        } else {
            self.resend.push_back(Chunk { offset: self.fresh, len: 0 });
        }
    }

    pub(super) fn fresh_chunk(&mut self, now: Time) -> Option<Chunk> {
        let full = u64::from(self.transport.payload() - self.end_of_handshake());
        let offered = self.source.offered(now, self.fresh, &mut self.record);
        (offered > 0).then(|| Chunk { offset: self.fresh, len: offered.min(full) as u32 })
    }

    /// Returns the bytes of new data that wait, as they count in the window.
    #[cold]
    fn waiting(&mut self, now: Time) -> u64 {
        let offered = self.source.offered(now, self.fresh, &mut self.record);
        let (full, rest) =
            (offered / u64::from(self.transport.payload()), offered % u64::from(self.transport.payload()));
        let last = if rest > 0 { self.transport.window_bytes(rest as u32).into() } else { 0 };
        full.saturating_mul(self.transport.mds().into()).saturating_add(last)
    }

    /// Sends until window, pacer or application stops it.
    fn send(&mut self, now: Time, links: &mut Links) {
        self.pacer_at = Time::NEVER;
        if self.handshake.is_some() {
            return self.wait_for_handshake(now, links);
        }
        loop {
            if self.searches && self.waits_for_mtu_probe(now) {
                return;
            }
            let repeat = self.resend.front();
            let Some(mut chunk) = repeat.or_else(|| self.fresh_chunk(now)) else {
                self.sender.mark_app_limited();
                return;
            };
            if self.searches {
                chunk.len = chunk.len.min(self.transport.payload());
            }
            let mut bytes = u64::from(self.transport.window_bytes(chunk.len));
            if self.setup.recovery.offload.is_on() {
                let waiting = if repeat.is_some() { 0 } else { self.waiting(now) };
                self.sender.set_waiting(waiting);
            }
            let mut decision = self.sender.can_send(now, bytes);
            if decision == SendDecision::WindowFull
                && let Some(len) = self.fitting()
            {
                chunk.len = len;
                bytes = u64::from(self.transport.window_bytes(len));
                decision = self.sender.can_send(now, bytes);
            }
            match decision {
                SendDecision::Now => {}
                SendDecision::WindowFull => return,
                SendDecision::At(at) => {
                    self.pacer_at = at;
                    return;
                }
            }
            if let Some(whole) = repeat {
                self.resend.pop_front();
                if chunk.len < whole.len {
                    let (offset, len) = (whole.offset + u64::from(chunk.len), whole.len - chunk.len);
                    self.resend.push_front(Chunk { offset, len });
                }
            } else {
                self.fresh += u64::from(chunk.len);
            }
            // A PING repeats no data.
            self.transmit(now, chunk, bytes, repeat.is_some_and(|chunk| chunk.len > 0));
        }
    }

    /// Returns the payload of a packet that just fits into the rest of the window, if smaller
    /// packets may fill it.
    fn fitting(&self) -> Option<u32> {
        if !self.small_last_packet {
            return None;
        }
        let room = self.sender.window().saturating_sub(self.sender.bytes_in_flight());
        let bare = u64::from(self.transport.window_bytes(0));
        room.checked_sub(bare).filter(|len| *len > 0).and_then(|len| u32::try_from(len).ok())
    }

    fn transmit(&mut self, now: Time, chunk: Chunk, bytes: u64, repeat: bool) {
        let size = self.transport.wire_bytes(chunk.len) + self.end_handshake(now);
        let sent = self.sender.on_sent(now, bytes, chunk, repeat);
        self.schedule(now, (chunk, bytes, size), sent, repeat);
    }

    /// Schedules the departure of a packet that loss recovery has recorded.
    #[inline(always)]
    pub(super) fn schedule(
        &mut self,
        now: Time,
        (chunk, bytes, size): (Chunk, u64, u32),
        (pn, ecn): (u64, Ecn),
        repeat: bool,
    ) {
        if let Some(idle) = &mut self.idle {
            idle.on_sent(now);
        }
        if pn >= self.skip_behind {
            self.leave_number_out(pn);
        }
        let Chunk { offset, len } = chunk;
        self.record.on_sent(now, SentPacket { pn, bytes: bytes as u32, wire: size, offset, len });
        let least_unacked = self.sender.least_unacked();
        let mut packet = Packet::new(now, pn, chunk, size, self.connection);
        (packet.ecn, packet.repeat, packet.least_unacked) = (ecn, repeat, least_unacked);
        self.scheduled.push(packet);
    }

    /// Skips the next packet number.
    #[cold]
    fn leave_number_out(&mut self, pn: u64) {
        self.sender.skip_number(SpaceId::Application);
        self.skip_behind = (pn + 1).saturating_add(self.setup.next_skip(true));
    }

    /// Moves departing packets into the first link.
    pub(super) fn depart(&mut self, now: Time, shared: &mut Shared) {
        while let Some(packet) = self.scheduled.due(now) {
            let ack_alone = packet.chunk == ACK_ALONE;
            let (queue_time, arrival) = match self.enter(now, &packet, shared) {
                Entry::Stored(queue_time) => {
                    self.stored += 1;
                    (queue_time, None)
                }
                Entry::Kept(Transit { queue_time, delivery, ecn }) => {
                    shared.links.on_kept(self.route.first.into(), delivery);
                    (Some(queue_time), Some((delivery + self.propagation_delay, ecn)))
                }
                Entry::Refused => {
                    self.on_refused(now, ack_alone);
                    (None, None)
                }
            };
            self.scheduled.leave(now, queue_time.filter(|_| !ack_alone), arrival);
            if packet.repeat {
                self.scheduled.leave_repeat();
                self.catch_up(now, shared);
                if self.receiver.holds(&packet.chunk) {
                    self.record.on_redundant(now);
                }
            }
        }
    }

    /// Moves a packet into its first link. While the sender is ahead, only the link can change the
    /// arrival. If a single link knows the arrival at once, the packet stays with the flow.
    #[inline(always)]
    fn enter(&self, now: Time, packet: &Packet, shared: &mut Shared) -> Entry {
        let Route { first, last } = self.route;
        if self.ahead && first == last {
            match shared.links.transit(now, first.into(), packet.size, packet.ecn) {
                Some(Ok(transit)) => return Entry::Kept(transit),
                Some(Err(_)) => return Entry::Refused,
                None => {}
            }
        }
        match shared.links.push_data(now, first.into(), packet.data(self.id, last)) {
            Ok(admitted) => Entry::Stored(admitted.queue_time),
            Err(_) => Entry::Refused,
        }
    }

    /// Counts a packet that the first link drops.
    #[cold]
    fn on_refused(&mut self, now: Time, ack_alone: bool) {
        if ack_alone {
            self.record.on_ack_dropped(now);
        } else {
            self.record.on_dropped(now);
        }
    }

    /// Counts the queue times reported by the first link.
    pub(super) fn settle(&mut self) {
        let entry = usize::from(self.route.first);
        self.scheduled
            .take_queue_times()
            .for_each(|(sent, queue_time)| self.record.on_queued(sent, entry, queue_time));
    }
}

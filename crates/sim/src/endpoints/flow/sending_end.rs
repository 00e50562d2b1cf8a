//! The sending end of a flow: application, acknowledgements, timers, packets that leave.
//!
//! Acknowledgements that arrive within the delay behind the last link of the way back have left already: nothing that happens on the links until
//! then tells the sender anything. So it acts ahead of time where nothing else can change what it does, and its packets wait for theirs
//! ([`super::under_way`]). A flow's memory is then fetched once for many packets, where others' turns come between any two.

use link::{Carried, Stay};
use recovery::{AckEffects, Payload, SendDecision, SpaceId};
use scenario::trace::Metrics;
use scenario::{Route, SentPacket};
use units::Time;

use super::under_way::Packet;
use super::{Flow, Shared, Stage};
use crate::endpoints::handshake::{Handshake, NO_STREAM};
use crate::engine::links::Links;
use crate::packet::{ACK_ALONE, Chunk, Feedback, Says};
use crate::traffic::application::allowed_rate;

/// A sender that has decided on so many packets goes no further ahead.
const AHEAD: usize = 32;

/// The frame in a packet that holds an ACK alone, as long as those of the way back.
const ACK_FRAME: u32 = 20;

/// What became of a packet at its first link.
enum Entry {
    /// It waits there, for so long where that is known.
    Stored(Option<Stay>),
    /// It stays with the flow.
    Carried(Carried),
    Refused,
}

impl Flow {
    /// When something happens next at the sending end.
    pub(super) fn next_act(&self) -> Time {
        self.near_next.min(self.source.next()).min(self.back.next_arrival())
    }

    /// What [`Flow::near_next`] holds.
    fn due_near(&self) -> Time {
        let handshake = self.handshake.as_ref().map(Handshake::due);
        let others = [handshake, self.stop];
        others.into_iter().flatten().fold(self.pacer_at.min(self.timer_at), Time::min)
    }

    /// Whether nothing but acknowledgements can change what the sender does next, and those come after a delay.
    fn leads(&self) -> bool {
        self.stage == Stage::Running
            && self.handshake.is_none()
            && self.source.leads(self.fresh)
            && self.back.is_plain()
    }

    /// The sending end does what is due, and what will be before the acknowledgements that have not left yet can arrive; not what is due at
    /// `bound`, when somebody looks at it, or when it is stopped.
    pub(super) fn act_ahead(&mut self, now: Time, bound: Time, shared: &mut Shared) {
        if self.next_act() <= now {
            self.act(now, shared);
        }
        let horizon = bound.min(now + self.back.lag()).min(self.stop.unwrap_or(Time::NEVER));
        self.ahead = self.leads();
        while self.ahead && self.under_way.waiting() < AHEAD {
            let next = self.next_act();
            if next >= horizon {
                break;
            }
            self.act(next, shared);
            self.ahead = self.leads();
        }
    }

    /// The sending end does what is due.
    fn act(&mut self, now: Time, shared: &mut Shared) {
        self.news = true;
        // Whether `timer_at` holds what it must.
        let mut settled = false;
        if self.source.next() <= now {
            self.on_application(now);
        }
        if self.handshake.is_some() {
            self.open_if_due(now, &mut shared.links);
        }
        if let Some(feedback) = self.back.arrived(now) {
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
        }
        let sent = self.sender.stats().sent;
        if self.stage == Stage::Running {
            self.send(now, &mut shared.links);
            self.sender.answered();
        }
        // What is only asked for moves no timer, unless the sender was idle: then the controller is told.
        if !settled || self.sender.stats().sent != sent || self.sender.bytes_in_flight() == 0 {
            self.timer_at = self.timer();
        }
        self.near_next = self.due_near();
    }

    /// When a timer of loss recovery or of the controller is due. A handshake has its own.
    fn timer(&self) -> Time {
        if self.handshake.is_some() {
            return Time::NEVER;
        }
        self.sender.next_timer().unwrap_or(Time::NEVER)
    }

    /// The application has something to do.
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
        let Shared { effects, spent, .. } = shared;
        let brief;
        let (frame, ack) = match &feedback.says {
            Says::Quic(frame) => (Some(&**frame), None),
            Says::BriefQuic(brief) => (Some(spent.read(brief, self.sender.acked_ranges())), None),
            Says::Tcp(ack) => (None, Some(&**ack)),
            Says::BriefTcp(ack) => {
                brief = ack.whole();
                (None, Some(&brief))
            }
            Says::Open => {
                // It is open already: a repeat was answered too.
                let Some(handshake) = self.handshake.take() else { return };
                self.opened(now, feedback.number, &handshake, effects);
                (None, None)
            }
        };
        if let Some(frame) = frame {
            if frame.ping {
                self.answer_ping(now, frame.ranges.last().map_or(0, |newest| newest.1 + 1));
            }
            self.sender.on_ack(now, frame, self.resend.least(), effects);
            self.forget_handshake(now);
        }
        if let Some(ack) = ack {
            self.sender.on_tcp_ack(now, ack, effects);
            if !self.resend.is_empty() {
                self.resend.drop_covered(ack);
            }
        }
        shared.spent.take(feedback.says);
        self.apply(now, &shared.effects);
        let rtt = shared.effects.rtt;
        self.record.on_acknowledged(
            now,
            rtt.map(|sample| (sample, self.sender.rtt().variation())),
            &self.sender.timers(),
        );
        self.record.on_metrics(now, |spare| Metrics::of(&self.sender, rtt, spare));
    }

    /// A packet with an ACK alone, of a packet that acknowledged what is below this number. It is not in flight: all that it does is cross the
    /// links, and tell the receiver that it is read. Deviation: it takes no packet number.
    #[inline(never)]
    fn answer_ping(&mut self, now: Time, below: u64) {
        let size = self.transport.wire_bytes(ACK_FRAME);
        self.record.on_ack_sent(now, size);
        self.under_way.push(Packet::new(now, below, ACK_ALONE, size, self.connection));
    }

    /// Takes over what loss recovery found out.
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
            if chunk == NO_STREAM {
                continue;
            }
            if !self.source.is_reliable() {
                self.source.on_lost(now, chunk.offset, &mut self.record);
            } else if !self.arrived_late.holds(chunk.range().start, chunk.range().end) {
                self.resend.push_back(chunk);
            }
        }
        if self.record.awaits_end_of_slow_start() {
            self.record.on_slow_start(self.sender.control(), effects.congestion.is_some());
        }
        if let Some(cause) = effects.congestion {
            self.record.on_reduced(now, cause, self.sender.control().cwnd);
        }
        if effects.probe && self.resend.is_empty() && self.fresh_chunk(now).is_none() {
            self.probe();
        }
    }

    /// Nothing new to send, and the peer must answer: a repeat or, where nothing is repeated, a PING.
    fn probe(&mut self) {
        if self.source.is_reliable() {
            self.sender.probe_payload().into_iter().for_each(|chunk| self.resend.push_back(chunk));
        } else {
            self.resend.push_back(Chunk { offset: self.fresh, len: 0 });
        }
    }

    pub(super) fn fresh_chunk(&mut self, now: Time) -> Option<Chunk> {
        let full = u64::from(self.transport.payload() - self.end_of_handshake());
        let offered = self.source.offered(now, self.fresh, &mut self.record);
        (offered > 0).then(|| Chunk { offset: self.fresh, len: offered.min(full) as u32 })
    }

    /// Sends until window, pacer or application stop it.
    fn send(&mut self, now: Time, links: &mut Links) {
        self.pacer_at = Time::NEVER;
        if self.handshake.is_some() {
            return self.wait_for_handshake(now, links);
        }
        loop {
            let repeat = self.resend.front();
            let Some(mut chunk) = repeat.or_else(|| self.fresh_chunk(now)) else {
                self.sender.mark_app_limited();
                return;
            };
            let mut bytes = u64::from(self.transport.window_bytes(chunk.len));
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
            // A PING repeats nothing.
            self.transmit(now, chunk, bytes, repeat.is_some_and(|chunk| chunk.len > 0));
        }
    }

    /// The payload of a packet that just fits into what is left of the window, where smaller packets may fill it.
    fn fitting(&self) -> Option<u32> {
        if !self.setup.recovery.small_last_packet {
            return None;
        }
        let room = self.sender.window().saturating_sub(self.sender.bytes_in_flight());
        let bare = u64::from(self.transport.window_bytes(0));
        room.checked_sub(bare).filter(|len| *len > 0).and_then(|len| u32::try_from(len).ok())
    }

    fn transmit(&mut self, now: Time, chunk: Chunk, bytes: u64, repeat: bool) {
        let size = self.transport.wire_bytes(chunk.len) + self.end_handshake(now);
        let (pn, ecn) = self.sender.on_sent(now, bytes, chunk, repeat);
        if pn >= self.skip_behind {
            self.leave_number_out(pn);
        }
        let Chunk { offset, len } = chunk;
        self.record.on_sent(now, SentPacket { pn, bytes: bytes as u32, wire: size, offset, len });
        let least_unacked = self.sender.least_unacked();
        let mut packet = Packet::new(now, pn, chunk, size, self.connection);
        (packet.ecn, packet.repeat, packet.least_unacked) = (ecn, repeat, least_unacked);
        self.under_way.push(packet);
    }

    /// The number behind this one is no packet's.
    #[cold]
    fn leave_number_out(&mut self, pn: u64) {
        self.sender.skip_number(SpaceId::Application);
        self.skip_behind = (pn + 1).saturating_add(self.setup.next_skip(true));
    }

    /// What leaves now enters the first link.
    pub(super) fn depart(&mut self, now: Time, shared: &mut Shared) {
        while let Some(packet) = self.under_way.due(now) {
            let ack_alone = packet.chunk == ACK_ALONE;
            let (stay, arrival) = match self.enter(now, &packet, shared) {
                Entry::Stored(stay) => (stay, None),
                Entry::Carried(Carried { stay, delivery, ecn }) => {
                    (Some(stay), Some((delivery + self.propagation_delay, ecn)))
                }
                Entry::Refused => {
                    self.on_refused(now, ack_alone);
                    (None, None)
                }
            };
            self.under_way.leave(now, stay.filter(|_| !ack_alone), arrival);
            if packet.repeat {
                self.catch_up(now, shared);
                if self.receiver.holds(&packet.chunk) {
                    self.record.on_redundant(now);
                }
            }
        }
    }

    /// A packet enters its first link. Of a sender that is ahead nothing but the links can change what arrives: over one link that says when that
    /// is, it stays with the flow.
    #[inline(always)]
    fn enter(&self, now: Time, packet: &Packet, shared: &mut Shared) -> Entry {
        let Route { first, last } = self.route;
        if self.ahead && first == last {
            match shared.links.carry(now, first.into(), packet.size, packet.ecn) {
                Some(Ok(carried)) => return Entry::Carried(carried),
                Some(Err(_)) => return Entry::Refused,
                None => {}
            }
        }
        match shared.links.push_data(now, first.into(), packet.data(self.id, last)) {
            Ok(admitted) => Entry::Stored(admitted.stay),
            Err(_) => Entry::Refused,
        }
    }

    /// The first link has no room.
    #[cold]
    fn on_refused(&mut self, now: Time, ack_alone: bool) {
        if ack_alone {
            self.record.on_ack_dropped(now);
        } else {
            self.record.on_dropped(now);
        }
    }

    /// What the first link has said of packets is counted.
    pub(super) fn settle(&mut self) {
        let entry = usize::from(self.route.first);
        self.under_way.take_stays().for_each(|(sent, stay)| self.record.on_queued(sent, entry, stay));
    }
}

//! One flow: application, sender, the way back, receiver, and the counters of what happened.

mod opening;

use std::collections::VecDeque;

use congestion::PathInfo;
use recovery::{AckEffects, Paced, Payload, Reassembly, SendDecision, Sender, Stats};
use scenario::trace::Metrics;
use scenario::{Back, FlowConfig, FlowSample, Record, Route, Scenario, SentPacket, Transport};
use units::{Duration, Time};

use crate::endpoints::ack_jitter::AckJitter;
use crate::endpoints::ack_path::AckPath;
use crate::endpoints::handshake::{Ending, Handshake, NO_STREAM};
use crate::endpoints::receiver::{Receiver, Spent};
use crate::endpoints::resend::Resend;
use crate::endpoints::setup::{Rules, Setup};
use crate::engine::links::Links;
use crate::packet::{Chunk, Data, Fault, Feedback, Says};
use crate::traffic::application::{Source, allowed_rate};

/// The frame in a packet that holds an ACK alone, as long as those of the way back.
const ACK_FRAME: u32 = 20;

/// The connection of packets that arrive at nobody.
const NO_CONNECTION: u32 = u32::MAX;

/// Whether a flow still takes part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Waiting,
    Running,
    Done,
}

/// What flows have in common: the links, and memory that none of them needs between two events.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) links: Links,
    effects: AckEffects<Chunk>,
    /// Acknowledgements that have been read, to be written anew.
    spent: Spent,
}

impl Shared {
    pub(crate) fn new(links: Links) -> Self {
        Self { links, effects: AckEffects::default(), spent: Spent::default() }
    }
}

/// One flow.
#[derive(Debug)]
#[repr(C)] // in this order: what every packet touches lies together, before what few do
pub(crate) struct Flow {
    stage: Stage,
    /// Which connection it is on, from 0.
    connection: u32,
    id: u32,
    route: Route,
    transport: Transport,
    stop: Option<Time>,
    /// When the sending end acts next of its own, beside its application. What arrives at the other end does not move it.
    near_next: Time,
    pacer_at: Time,
    /// When a timer of loss recovery or of the controller is due, as of the sender's last turn.
    timer_at: Time,
    /// It has had a turn, or a packet has arrived, since it was sampled last.
    news: bool,
    /// Next new byte of the stream.
    fresh: u64,
    /// ACKs written on this connection.
    written: u64,
    propagation_delay: Duration,
    /// Lost, to be sent again.
    resend: Resend,
    /// Beyond the last link, for flows whose way is longer than that of their links.
    propagating: VecDeque<(Time, Data)>,
    /// Until the connection is open.
    handshake: Option<Handshake>,
    ending: Ending,
    source: Source,
    back: AckPath,
    sender: Sender<Chunk>,
    receiver: Receiver,
    pub(crate) record: Record,
    setup: Box<Setup>,
    /// What the senders of the connections before counted.
    closed: Stats,
    /// What arrived although its packet had been declared lost: not to be sent again, whatever becomes of its repeats.
    arrived_late: Reassembly,
}

impl Flow {
    /// Packets are numbered by their sender: data with `id`, feedback with `feedback_id`.
    pub(crate) fn new(
        id: u32,
        feedback_id: u32,
        mut config: FlowConfig,
        scenario: &Scenario,
        rules: &mut Rules,
    ) -> Self {
        config.route = scenario.bounded(config.route);
        let back = config.back.map(|back| Back { route: scenario.bounded(back.route), ..back });
        let path = PathInfo {
            max_datagram_size: u64::from(config.transport.mds()),
            paced: config.recovery.paced == Paced::Always,
            seed: scenario.seed.wrapping_add(u64::from(id)),
        };
        let source = Source::new(id, &config, scenario);
        let delay = scenario.delay(config.route);
        let delay_back = back.map_or(Duration::ZERO, |back| scenario.delay(back.route));
        let forward = (config.rtt / 2).min(config.rtt - delay_back).max(delay);
        let setup = Setup::new(config, path, rules);
        let config = &setup.config;
        Self {
            id,
            transport: config.transport,
            route: config.route,
            stop: config.stop,
            stage: Stage::Waiting,
            source,
            connection: 0,
            closed: Stats::default(),
            handshake: setup.handshake(),
            ending: Ending::None,
            sender: setup.sender(path),
            fresh: 0,
            resend: Resend::default(),
            arrived_late: Reassembly::default(),
            pacer_at: Time::NEVER,
            timer_at: Time::NEVER,
            near_next: config.start,
            news: true,
            receiver: Receiver::new(&setup),
            propagating: VecDeque::new(),
            propagation_delay: forward - delay,
            back: AckPath::new(
                feedback_id,
                AckJitter::new(id, config.ack.jitter, scenario.seed),
                back,
                config.rtt - forward - delay_back,
            ),
            written: 0,
            record: Record::new(&config.application, scenario),
            setup: Box::new(setup),
        }
    }

    /// A guest takes its place: from now on it keeps the record, and nothing else. When it was to begin and to stop.
    pub(crate) fn give_way(&mut self) -> (Time, Option<Time>) {
        self.stage = Stage::Done;
        (self.setup.config.start, self.stop)
    }

    /// The ways of data and of feedback: the number of who sends among the senders of packets, the links, the delay behind them.
    pub(crate) fn ways(&self) -> [(u32, Option<Route>, Duration); 2] {
        [(self.id, Some(self.route), self.propagation_delay), self.back.way()]
    }

    /// What a guest in its place counts.
    pub(crate) fn set_stats(&mut self, stats: Stats) {
        self.closed = stats;
    }

    pub(crate) fn sender(&self) -> &Sender<Chunk> {
        &self.sender
    }

    /// How it stands at the time of a sample, unless it is as it was at the one before.
    pub(crate) fn sample(&mut self, now: Time) -> Option<FlowSample> {
        if !std::mem::take(&mut self.news) {
            return None;
        }
        let owd = self.record.take_owd();
        let rtt = self.sender.rtt();
        let sampled = |rtt: Duration| self.sender.rtt().is_sampled().then_some(rtt);
        Some(FlowSample {
            running: self.record.started <= now && !self.is_done(),
            cwnd: Some(self.sender.control().cwnd),
            bytes_in_flight: Some(self.sender.bytes_in_flight()),
            smoothed_rtt: sampled(rtt.smoothed()),
            latest_rtt: sampled(rtt.latest()),
            delivered: self.record.delivered,
            made: self.record.media.as_ref().map(|_| self.record.made),
            owd,
        })
    }

    pub(crate) fn is_done(&self) -> bool {
        self.stage == Stage::Done
    }

    /// When something happens next.
    pub(crate) fn next(&self) -> Time {
        if self.stage == Stage::Done {
            return Time::NEVER;
        }
        if self.stage == Stage::Waiting {
            return self.near_next;
        }
        let due = |time: Option<Time>| time.unwrap_or(Time::NEVER);
        let propagated = self.propagating.front().map(|d| d.0);
        let far = due(self.receiver.timer()).min(due(propagated)).min(self.back.next());
        self.near_next.min(self.source.next()).min(far)
    }

    /// What [`Flow::near_next`] holds.
    fn due_near(&self) -> Time {
        let handshake = self.handshake.as_ref().map(Handshake::due);
        let others = [handshake, self.stop];
        others.into_iter().flatten().fold(self.pacer_at.min(self.timer_at), Time::min)
    }

    /// Does what is due.
    pub(crate) fn on_time(&mut self, now: Time, shared: &mut Shared) {
        self.news = true;
        if self.stage == Stage::Waiting {
            self.stage = Stage::Running;
            self.record.started = now;
        }
        // What happens at the receiver's end lets nothing leave at the sender's, and its pacer knows nothing of it.
        let mut acts = self.near_next <= now;
        // Whether `timer_at` holds what it must.
        let mut settled = false;
        if self.source.next() <= now {
            acts = true;
            self.on_application(now);
        }
        if self.handshake.is_some() {
            self.open_if_due(now, &mut shared.links);
        }
        if self.propagating.front().is_some_and(|d| d.0 <= now)
            && let Some((_, data)) = self.propagating.pop_front()
        {
            self.receive(now, &data, shared);
        }
        self.acknowledge_late(now, shared);
        if let Some(feedback) = self.back.jitter.leaving(now) {
            self.send_back(now, feedback, shared);
        }
        if let Some(feedback) = self.back.arrived(now) {
            acts = true;
            self.on_feedback(now, feedback, shared);
            self.timer_at = self.timer();
            settled = true;
        }
        if !acts {
            return;
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

    /// From here on it is a new connection; of the old one nothing is heard any more.
    fn reconnect(&mut self) {
        self.connection += 1;
        self.closed += self.sender.stats();
        let first = self.setup.path;
        let path = PathInfo { seed: first.seed ^ (u64::from(self.connection) << 32), ..first };
        (self.handshake, self.ending) = (self.setup.handshake(), Ending::None);
        self.sender = self.setup.sender(path);
        self.timer_at = Time::NEVER;
        self.receiver = Receiver::new(&self.setup);
        self.fresh = 0;
        self.resend.clear();
        self.arrived_late = Reassembly::default();
        self.back.forget();
        self.written = 0;
        self.record.on_reconnect();
    }

    /// Of the senders of all its connections.
    pub(crate) fn stats(&self) -> Stats {
        let mut stats = self.closed.clone();
        stats += self.sender.stats();
        stats
    }

    /// A packet leaves its last link.
    pub(crate) fn on_delivery(&mut self, now: Time, data: &Data, shared: &mut Shared) {
        self.news = true;
        if self.propagation_delay == Duration::ZERO {
            self.receive(now, data, shared);
        } else {
            self.propagating.push_back((now + self.propagation_delay, *data));
        }
    }

    /// A second one of a packet that leaves its last link. A QUIC receiver knows its number and throws it away; TCP answers. Deviation: it comes
    /// without the delay beyond the links, and what it costs there and on links behind the one that made it is not counted.
    #[cold]
    pub(crate) fn on_copy(&mut self, now: Time, data: &Data, shared: &mut Shared) {
        self.news = true;
        let is_tcp = matches!(self.transport, Transport::Tcp { .. });
        if is_tcp && self.stage != Stage::Done && data.connection == self.connection && !data.is_handshake() {
            self.receiver.on_packet(now, data);
            self.record.ecn.add(data.ecn);
            self.acknowledge(now, shared);
        }
    }

    fn receive(&mut self, now: Time, data: &Data, shared: &mut Shared) {
        if self.stage == Stage::Done || data.connection != self.connection {
            return;
        }
        if data.is_handshake() {
            return self.answer_handshake(now, data.pn, shared);
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

    fn finish(&mut self, now: Time) {
        self.stage = Stage::Done;
        self.record.finished = Some(now);
    }

    fn acknowledge_late(&mut self, now: Time, shared: &mut Shared) {
        if self.receiver.timer().is_some_and(|due| due <= now) {
            self.acknowledge(now, shared);
        }
    }

    fn acknowledge(&mut self, now: Time, shared: &mut Shared) {
        let says = self.receiver.acknowledge(now, &mut shared.spent);
        let feedback = Feedback { number: self.written, says };
        self.written += 1;
        // No packet arrives twice, so the receiver's totals are those of all that arrived.
        debug_assert!(self.connection > 0 || feedback.ecn() == self.record.ecn);
        if self.back.jitter.is_on() {
            return self.back.jitter.hold(now, feedback);
        }
        self.send_back(now, feedback, shared);
    }

    #[inline(always)] // moves what it is given
    fn send_back(&mut self, now: Time, feedback: Feedback, shared: &mut Shared) {
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

    fn on_feedback(&mut self, now: Time, feedback: Feedback, shared: &mut Shared) {
        let bytes = self.transport.handshake_payload();
        self.record.on_feedback(now, || feedback.event(bytes));
        let Shared { links, effects, spent } = shared;
        let brief;
        let (frame, ack) = match &feedback.says {
            Says::Quic(frame) => (Some(&**frame), None),
            Says::BriefQuic(brief) => (Some(spent.read(brief)), None),
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
                self.answer_ping(now, links);
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

    /// A packet with an ACK alone. It is not in flight and nobody cares whether it arrives: all that it does is cross the links.
    /// Deviation: it takes no packet number.
    #[inline(never)]
    fn answer_ping(&mut self, now: Time, links: &mut Links) {
        let Route { first, last } = self.route;
        let size = self.transport.wire_bytes(ACK_FRAME);
        let packet = Data { connection: NO_CONNECTION, ..Data::bare(self.id, size, last, 0, now) };
        self.record.on_ack_sent(now, size);
        if links.push(now, usize::from(first), packet).is_err() {
            self.record.on_ack_dropped(now);
        }
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

    fn fresh_chunk(&mut self, now: Time) -> Option<Chunk> {
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
            self.transmit(now, chunk, bytes, repeat.is_some_and(|chunk| chunk.len > 0), links);
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

    fn transmit(&mut self, now: Time, chunk: Chunk, bytes: u64, repeat: bool, links: &mut Links) {
        let size = self.transport.wire_bytes(chunk.len) + self.end_handshake(now);
        let (pn, ecn) = self.sender.on_sent(now, bytes, chunk, repeat);
        let Chunk { offset, len } = chunk;
        self.record.on_sent(now, SentPacket { pn, bytes: bytes as u32, wire: size, offset, len });
        if repeat && self.receiver.holds(&chunk) {
            self.record.on_redundant(now);
        }
        let least_unacked = self.sender.least_unacked();
        let (entry, last_link) = (usize::from(self.route.first), self.route.last);
        let (flow, connection, sent) = (self.id, self.connection, now);
        let fault = Fault::NONE;
        let data = Data { flow, size, last_link, connection, pn, sent, chunk, ecn, fault, least_unacked };
        match links.push_data(now, entry, data) {
            Ok(admitted) => {
                if let Some(stay) = admitted.stay {
                    self.record.on_queued(now, entry, stay);
                }
            }
            Err(_) => self.record.on_dropped(now),
        }
    }
}

//! One flow: application, sender, the way back, receiver, and the counters of what happened.

mod opening;
mod receiving_end;
mod sending_end;
mod under_way;

use std::collections::VecDeque;

use congestion::PathInfo;
use recovery::{AckEffects, Paced, Reassembly, Sender, Stats};
use scenario::{Back, FlowConfig, FlowSample, Record, Route, Scenario, Transport};
use units::{Duration, Time};

use crate::endpoints::ack_jitter::AckJitter;
use crate::endpoints::ack_path::AckPath;
use crate::endpoints::flow::under_way::UnderWay;
use crate::endpoints::handshake::{Ending, Handshake};
use crate::endpoints::receiver::{Receiver, Spent};
use crate::endpoints::resend::Resend;
use crate::endpoints::setup::{Rules, Setup};
use crate::engine::links::Links;
use crate::packet::{Chunk, Data};
use crate::traffic::application::Source;

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
#[repr(C, align(128))] // in this order: what every packet touches lies together, before what few do
pub(crate) struct Flow {
    stage: Stage,
    /// Its sender is ahead of the links, and what arrives may wait.
    ahead: bool,
    /// Its sender has acted, or a packet was received, since it was sampled last.
    news: bool,
    id: u32,
    route: Route,
    /// Which connection it is on, from 0.
    connection: u32,
    /// Behind the last link, for flows whose way is longer than that of their links.
    propagation_delay: Duration,
    /// What its sender has decided to send, and of what arrives over one link that which stays with the flow.
    under_way: UnderWay,
    /// All else that is behind the last link: on its way to the receiver, or waiting to be received.
    arriving: VecDeque<(Time, Data)>,
    /// So many of them are too many.
    too_many: usize,
    transport: Transport,
    stop: Option<Time>,
    /// When the sending end acts next of its own, beside its application. What arrives at the other end does not move it.
    near_next: Time,
    pacer_at: Time,
    /// When a timer of loss recovery or of the controller is due, as of the sender's last turn.
    timer_at: Time,
    /// Next new byte of the stream.
    fresh: u64,
    /// ACKs written on this connection.
    written: u64,
    /// The packet number behind which one is left out.
    skip_behind: u64,
    /// Lost, to be sent again.
    resend: Resend,
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
        let mut setup = Setup::new(config, path, rules);
        let skip_behind = setup.next_skip(false);
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
            arriving: VecDeque::new(),
            too_many: 0,
            under_way: UnderWay::default(),
            ahead: false,
            propagation_delay: forward - delay,
            back: AckPath::new(
                feedback_id,
                AckJitter::new(id, config.ack.jitter, scenario.seed),
                back,
                config.rtt - forward - delay_back,
            ),
            written: 0,
            skip_behind,
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
    pub(crate) fn sample(&mut self, now: Time, shared: &mut Shared) -> Option<FlowSample> {
        if self.next_arrival() <= now {
            self.catch_up_before_turn(now, shared);
        }
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
        match self.stage {
            Stage::Done => return Time::NEVER,
            Stage::Waiting => return self.near_next,
            Stage::Running => {}
        }
        // Its sender has nothing else to do before.
        if let Some(leaves) = self.under_way.leaves() {
            return leaves;
        }
        let due = |time: Option<Time>| time.unwrap_or(Time::NEVER);
        let far = due(self.receiver.timer()).min(self.next_arrival());
        let far = if self.ahead { far + self.back.lag() } else { far.min(due(self.back.jitter.next())) };
        far.min(self.next_act())
    }

    /// Does what is due. Nothing may be ahead of `bound`.
    pub(crate) fn on_time(&mut self, now: Time, bound: Time, shared: &mut Shared) {
        if self.stage == Stage::Waiting {
            self.stage = Stage::Running;
            self.record.started = now;
        }
        self.depart(now, shared);
        if self.under_way.leaves().is_some() {
            return;
        }
        self.receive_due(now, shared);
        self.settle();
        self.act_ahead(now, bound, shared);
        self.depart(now, shared);
    }

    /// The run ends now.
    pub(crate) fn conclude(&mut self, now: Time, shared: &mut Shared) {
        if !self.is_done() {
            self.receive_due(now, shared);
        }
        self.settle();
        self.record.stats = self.stats();
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
        self.skip_behind = self.setup.next_skip(false);
        self.record.on_reconnect();
    }

    /// Of the senders of all its connections.
    pub(crate) fn stats(&self) -> Stats {
        let mut stats = self.closed.clone();
        stats += self.sender.stats();
        stats
    }

    fn finish(&mut self, now: Time) {
        self.stage = Stage::Done;
        self.record.finished = Some(now);
    }
}

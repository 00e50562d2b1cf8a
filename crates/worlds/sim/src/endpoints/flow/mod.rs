//! One flow: application, sender, return path, receiver, and counters.

mod larger_datagrams;
mod opening;
mod receiving_end;
mod scheduled;
mod sending_end;

use std::collections::VecDeque;

use congestion::PathInfo;
use recovery::{AckEffects, IdleTimer, Paced, Reassembly, Sender, Stats};
use scenario::guest::Snapshot;
use scenario::signal::Journal;
use scenario::{
    Back, FlowConfig, FlowSample, FlowSnapshot, Record, Route, Scenario, Source, Transport, trace_datagrams,
};
use units::{Duration, Time};

use crate::endpoints::ack_jitter::AckJitter;
use crate::endpoints::ack_path::AckPath;
use crate::endpoints::flow::scheduled::Scheduled;
use crate::endpoints::handshake::{Ending, Handshake};
use crate::endpoints::receiver::{AckPool, Receiver};
use crate::endpoints::resend::Resend;
use crate::endpoints::setup::{Rules, Setup};
use crate::engine::links::Links;
use crate::packet::{Chunk, Data};

/// Stage of a flow in the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Waiting,
    Running,
    Done,
}

/// State shared by all flows: the links, and memory that none of them needs between two events.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) links: Links,
    effects: AckEffects<Chunk>,
    /// Memory of acknowledgements that have been read, for reuse.
    pool: AckPool,
    /// Whether turns are long: there are so many flows that each waits for memory at its turn.
    takes_long_turns: bool,
}

/// Number of flows from which on their memory exceeds the second-level cache. With fewer flows,
/// long turns cost 3 % of the instructions and save nothing.
const MANY: usize = 256;

impl Shared {
    pub(crate) fn new(links: Links, flows: usize) -> Self {
        let takes_long_turns = flows >= MANY;
        Self { links, effects: AckEffects::default(), pool: AckPool::default(), takes_long_turns }
    }
}

/// One simulated flow.
#[derive(Debug)]
#[repr(C, align(128))] // in this order: fields used by every packet are adjacent and come first
pub(crate) struct Flow {
    stage: Stage,
    /// Whether the sender is ahead of the links, so that arriving packets may wait.
    ahead: bool,
    /// Whether the sender has acted, or a packet was received, since the last sample.
    changed: bool,
    /// Whether a smaller packet may fill the rest of the window.
    small_last_packet: bool,
    id: u32,
    route: Route,
    /// Number of the current connection, from 0.
    connection: u32,
    /// Delay behind the last link, for flows whose path is longer than its links.
    propagation_delay: Duration,
    /// Number of packets that links store. If an AQM drops one, it is never subtracted.
    stored: u32,
    /// Whether it searches for the MTU of the path, so that `transport` changes.
    searches: bool,
    /// Packets that the sender has scheduled, and those in transit over a single link that stay
    /// with the flow.
    scheduled: Scheduled,
    /// All other packets behind the last link: in propagation, or waiting to be received.
    arriving: VecDeque<(Time, Data)>,
    /// Number of arriving packets at which the receiver catches up.
    too_many: usize,
    transport: Transport,
    stop: Option<Time>,
    /// Next time that the sending end acts on its own, its application aside. Arrivals at the other
    /// end do not change it.
    near_next: Time,
    pacer_at: Time,
    /// Next timer of loss recovery or of the controller, as of the sender's last turn.
    timer_at: Time,
    /// Idle timeout, if the flow has one. It waits for the first packet sent.
    idle: Option<Box<IdleTimer>>,
    /// Next new byte of the stream.
    fresh: u64,
    /// Number of ACKs written on this connection.
    written: u64,
    /// Packet number after which the next number is skipped.
    skip_behind: u64,
    /// Lost data to be sent again.
    resend: Resend,
    /// Handshake, until the connection is open.
    handshake: Option<Handshake>,
    ending: Ending,
    source: Source,
    back: AckPath,
    sender: Sender<Chunk>,
    receiver: Receiver,
    pub(crate) record: Record,
    setup: Box<Setup>,
    /// Counters of the senders of previous connections.
    closed: Stats,
    /// Data that arrived although its packet had been declared lost. It is not sent again, whatever
    /// happens to its retransmissions.
    arrived_late: Reassembly,
}

impl Flow {
    /// Creates a flow. Packets are numbered by their sender: data with `id`, feedback with
    /// `feedback_id`.
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
        let journal = scenario.trace.then(Journal::default);
        if let Some(journal) = &journal {
            config.algorithm = journal.watch(&config.algorithm);
        }
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
            idle: config.recovery.idle_timeout.map(|it| Box::new(IdleTimer::new(Time::NEVER, Some(it)))),
            near_next: config.start,
            changed: true,
            receiver: Receiver::new(&setup),
            arriving: VecDeque::new(),
            too_many: 0,
            scheduled: Scheduled::default(),
            stored: 0,
            ahead: false,
            small_last_packet: config.recovery.small_last_packet,
            searches: config.recovery.mtu_search,
            propagation_delay: forward - delay,
            back: AckPath::new(
                feedback_id,
                AckJitter::new(id, config.ack.jitter, scenario.seed),
                back,
                config.rtt - forward - delay_back,
            ),
            written: 0,
            skip_behind,
            record: Record::new(&config.application, scenario).with_journal(journal),
            setup: Box::new(setup),
        }
    }

    /// Hands the flow's place to a guest. From now on the flow only keeps the record. Returns the
    /// start and stop times.
    pub(crate) fn hand_to_guest(&mut self) -> (Time, Option<Time>) {
        self.stage = Stage::Done;
        (self.setup.config.start, self.stop)
    }

    /// Returns the paths of data and of feedback: sender number, links, and the delay behind them.
    pub(crate) fn ways(&self) -> [(u32, Option<Route>, Duration); 2] {
        [(self.id, Some(self.route), self.propagation_delay), self.back.way()]
    }

    /// Sets the counters of the guest in the flow's place.
    pub(crate) fn set_stats(&mut self, stats: Stats) {
        self.closed = stats;
    }

    /// Reports the controller's own variables, and the size of datagrams if it changes.
    pub(crate) fn trace(&self, put: &mut dyn FnMut(&'static str, f64)) {
        trace_datagrams(self.sender.stats(), put);
        self.sender.controller().trace(put);
    }

    /// Returns the state at the time of a sample, or `None` if it has not changed since the
    /// previous one.
    pub(crate) fn sample(&mut self, now: Time, shared: &mut Shared) -> Option<FlowSample> {
        if self.next_arrival() <= now {
            self.catch_up_before_turn(now, shared);
        }
        if !std::mem::take(&mut self.changed) {
            return None;
        }
        let stats = self.stats();
        Some(self.observe().sample(self.runs(now), &mut self.record, &stats))
    }

    /// Returns the state at a pause.
    pub(crate) fn snapshot(&self, now: Time) -> FlowSnapshot {
        let sample = self.observe().at_pause(self.runs(now), &self.record);
        FlowSnapshot { sample, stats: self.stats() }
    }

    /// Returns the state of the sending end.
    fn observe(&self) -> Snapshot {
        let rtt = self.sender.rtt();
        let sampled = |time: Duration| rtt.is_sampled().then_some(time);
        Snapshot {
            cwnd: Some(self.sender.control().cwnd),
            bytes_in_flight: Some(self.sender.bytes_in_flight()),
            pacing_rate: self.sender.pacing_rate(),
            smoothed_rtt: sampled(rtt.smoothed()),
            latest_rtt: sampled(rtt.latest()),
        }
    }

    fn runs(&self, now: Time) -> bool {
        self.record.started <= now && !self.is_done()
    }

    pub(crate) fn is_done(&self) -> bool {
        self.stage == Stage::Done
    }

    /// Reports whether it has ended by itself, so that a run may end without it.
    pub(crate) fn is_complete(&self) -> bool {
        self.is_done() && self.setup.config.complete(self.record.finished).is_some()
    }

    /// Returns the time of the next event.
    pub(crate) fn next(&self) -> Time {
        match self.stage {
            Stage::Done => return Time::NEVER,
            Stage::Waiting => return self.near_next,
            Stage::Running => {}
        }
        // The sender has nothing else to do earlier.
        if let Some(leaves) = self.scheduled.leaves() {
            return leaves;
        }
        let far = self.next_far();
        let jitter = self.back.jitter.next().unwrap_or(Time::NEVER);
        let far = if self.ahead { far + self.back.lag() } else { far.min(jitter) };
        far.min(self.next_act())
    }

    /// Processes what is due. Nothing may run ahead of `bound`.
    pub(crate) fn on_time(&mut self, now: Time, bound: Time, shared: &mut Shared) {
        if self.stage == Stage::Waiting {
            self.stage = Stage::Running;
            self.record.started = now;
        }
        self.depart(now, shared);
        if self.scheduled.leaves().is_some() {
            return;
        }
        self.receive_due(now, shared);
        self.settle();
        self.act_ahead(now, bound, shared);
        self.depart(now, shared);
    }

    /// Brings the record up to date at a pause, after all turns at that time: packets that may wait
    /// are received.
    pub(crate) fn pause(&mut self, now: Time, shared: &mut Shared) {
        if !self.is_done() {
            self.receive_due(now, shared);
        }
    }

    /// Completes the record at the end of the run.
    pub(crate) fn conclude(&mut self, now: Time, shared: &mut Shared) {
        self.pause(now, shared);
        self.settle();
        self.record.stats = self.stats();
    }

    /// Starts a new connection. Nothing more arrives from the old one.
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

    /// Returns the counters of the senders of all its connections.
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

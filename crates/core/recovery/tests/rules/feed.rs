//! A feed that repeats the events of our own sender gives its controller the same signals and
//! windows, over random losses, reordering, late arrivals, marks and timeouts.

use std::sync::{Arc, Mutex};

use crate::common::{Piece, SIZE, piece};
use ackclock_recovery::feed::{ControllerFeed, RttEstimate};
use ackclock_recovery::{AckConfig, AckEffects, AckFrame, Clock, Config, Receiver, SendDecision, Sender};
use congestion::algorithms::bbr::{v1, v3};
use congestion::algorithms::cubic::rfc9438;
use congestion::algorithms::reno::new_reno;
use congestion::{Ack, Cause, Congestion, Control, Controller, Detection, Lost, Parameters, PathInfo, Sent};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use units::{Duration, Ecn, Time};

/// Signals and answers of a controller as text, and the state that the test harness needs.
#[derive(Debug, Default)]
struct Log {
    lines: Vec<String>,
    /// Since the last call: acknowledged packets, the ACK's RTT, delay and marks, collapses with
    /// their RTT, losses before them.
    acked: Vec<(u64, Option<i64>)>,
    ack: Option<(RttEstimate, Duration, u64)>,
    lost: Vec<(u64, Detection)>,
    first_rtt: Option<RttEstimate>,
    collapse: Option<RttEstimate>,
}

/// A controller that records every signal.
#[derive(Clone, Debug)]
struct Logged {
    inner: Box<dyn Controller>,
    log: Arc<Mutex<Log>>,
}

impl Logged {
    fn note(&self, what: &str) {
        let line = format!("{what} -> {:?}", self.inner.control());
        self.log.lock().unwrap().lines.push(line);
    }
}

impl Controller for Logged {
    fn needs(&self) -> congestion::Needs {
        self.inner.needs()
    }
    fn on_path_change(&mut self, _: congestion::PathInfo) {}
    fn on_sent(&mut self, sent: &Sent) {
        self.inner.on_sent(sent);
        self.note(&format!("{sent:?}"));
    }
    fn on_ack(&mut self, ack: &Ack) -> Option<Cause> {
        let asked = self.inner.on_ack(ack);
        self.note(&format!("{ack:?} {asked:?}"));
        let mut log = self.log.lock().unwrap();
        log.acked.extend(ack.packets.iter().map(|p| (p.pn, p.received)));
        let rtt = RttEstimate { latest: ack.latest_rtt, min: ack.min_rtt, smoothed: ack.smoothed_rtt };
        log.ack = Some((rtt, ack.ack_delay, ack.ce));
        log.first_rtt.get_or_insert(rtt);
        asked
    }
    fn on_congestion(&mut self, event: &Congestion) {
        self.inner.on_congestion(event);
        self.note(&format!("{event:?}"));
        let rtt = RttEstimate { latest: None, min: event.min_rtt, smoothed: event.smoothed_rtt };
        let mut log = self.log.lock().unwrap();
        if event.cause == Cause::PersistentCongestion {
            log.collapse = Some(rtt);
        }
        log.first_rtt.get_or_insert(rtt);
    }
    fn on_lost(&mut self, lost: &Lost) {
        self.inner.on_lost(lost);
        self.note(&format!("{lost:?}"));
        self.log.lock().unwrap().lost.extend(lost.packets.iter().map(|p| (p.pn, p.detection)));
    }
    fn on_spurious(&mut self) {
        self.inner.on_spurious();
        self.note("spurious");
    }
    fn control(&self) -> Control {
        self.inner.control()
    }
}

/// A sender, and a feed that receives its events.
#[derive(Debug)]
struct Pair {
    now: Time,
    sender: Sender<Piece>,
    own: Arc<Mutex<Log>>,
    feed: ControllerFeed,
    fed: Arc<Mutex<Log>>,
    effects: AckEffects<Piece>,
    receiver: Receiver,
    /// Packets in transit: number, mark, and the lowest number the sender still waits for.
    forth: Vec<(u64, Ecn, u64)>,
    sent: u64,
}

impl Pair {
    fn new(build: fn(PathInfo) -> Box<dyn Controller>) -> Self {
        let path = PathInfo { max_datagram_size: SIZE, paced: true, seed: 7 };
        let (own, fed) = (Arc::<Mutex<Log>>::default(), Arc::<Mutex<Log>>::default());
        let logged = |log: &Arc<Mutex<Log>>| Box::new(Logged { inner: build(path), log: Arc::clone(log) });
        let config = Config { ecn: Ecn::Ect0, ..Config::quic() };
        Self {
            now: Time::from_millis(1),
            sender: Sender::new(config, logged(&own), path),
            feed: ControllerFeed::new(logged(&fed)),
            own,
            fed,
            effects: AckEffects::default(),
            receiver: Receiver::new(AckConfig::default(), Clock::default(), Duration::from_millis(50)),
            forth: Vec::new(),
            sent: 0,
        }
    }

    fn send(&mut self, at_most: usize) {
        for _ in 0..at_most {
            match self.sender.can_send(self.now, SIZE) {
                SendDecision::Now => {}
                SendDecision::WindowFull => return self.feed.window_full(),
                SendDecision::At(at) if at == Time::NEVER => return,
                SendDecision::At(at) => self.now = at,
            }
            let (pn, ecn) = self.sender.on_sent(self.now, SIZE, piece(self.sent), false);
            self.sent += 1;
            self.feed.sent(self.now, pn, SIZE);
            self.forth.push((pn, ecn, self.sender.least_unacked()));
        }
    }

    /// Delivers the `i`-th packet in transit. An ACK returns at once.
    fn deliver(&mut self, i: usize, ce: bool) {
        if self.forth.is_empty() {
            return;
        }
        let (pn, ecn, least_unacked) = self.forth.remove(i % self.forth.len());
        let ecn = if ce && ecn != Ecn::NotEct { Ecn::Ce } else { ecn };
        if self.receiver.on_packet(self.now, pn, ecn, least_unacked) {
            self.acknowledge();
        }
    }

    fn acknowledge(&mut self) {
        let mut frame = AckFrame::default();
        self.receiver.write_ack(self.now, &mut frame);
        self.sender.on_ack(self.now, &frame, None, &mut self.effects);
        let verdicts = self.verdicts();
        for &(pn, received) in verdicts.acked.iter().rev() {
            self.feed.acked(pn, received);
        }
        self.effects.late.iter().for_each(|late| self.feed.acked(late.0, None));
        let Some((rtt, ack_delay, ce)) = verdicts.ack else { return };
        let first = verdicts.first_rtt.unwrap_or(rtt);
        self.feed.rtt(self.now, RttEstimate { latest: rtt.latest, ..first });
        self.tell_losses(&verdicts, rtt.latest);
        self.feed.end_of_ack(self.now, ack_delay, ce);
    }

    fn on_timer(&mut self) {
        let Some(due) = self.sender.next_timer() else { return };
        self.now = self.now.max(due);
        self.sender.on_timer(self.now, &mut self.effects);
        let verdicts = self.verdicts();
        self.tell_losses(&verdicts, None);
        self.feed.end_of_losses(self.now);
        if self.effects.probe {
            self.send(2);
        }
    }

    fn tell_losses(&mut self, verdicts: &Log, latest: Option<Duration>) {
        verdicts.lost.iter().for_each(|&(pn, detection)| self.feed.lost(pn, detection));
        if let Some(rtt) = verdicts.collapse {
            self.feed.rtt(self.now, RttEstimate { latest, ..rtt });
            self.feed.event(self.now, Cause::PersistentCongestion);
        }
    }

    /// Returns the sender's signals since the last call. Their text is kept.
    fn verdicts(&self) -> Log {
        let mut log = self.own.lock().unwrap();
        let lines = std::mem::take(&mut log.lines);
        std::mem::replace(&mut *log, Log { lines, ..Log::default() })
    }

    fn compare(&self) {
        let (own, fed) = (self.own.lock().unwrap(), self.fed.lock().unwrap());
        for (i, (own, fed)) in own.lines.iter().zip(&fed.lines).enumerate() {
            assert_eq!(own, fed, "line {i}");
        }
        assert_eq!(own.lines.len(), fed.lines.len());
        assert_eq!(self.sender.bytes_in_flight(), self.feed.bytes_in_flight());
    }
}

/// One event. Indices are taken modulo the available number.
#[derive(Clone, Debug)]
enum Op {
    Send(u8),
    Deliver(u8, bool),
    Lose(u8),
    Flush,
    Timer,
    Wait(u16),
    Dry,
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        6 => (1u8..12).prop_map(Op::Send),
        8 => prop_oneof![6 => Just(0u8), 1 => 0u8..5].prop_flat_map(|i| {
            prop::bool::weighted(0.03).prop_map(move |ce| Op::Deliver(i, ce))
        }),
        1 => (0u8..20).prop_map(Op::Lose),
        2 => Just(Op::Flush),
        1 => Just(Op::Timer),
        6 => (0u16..30_000).prop_map(Op::Wait),
        1 => Just(Op::Dry),
    ]
}

fn step(pair: &mut Pair, op: &Op) {
    match *op {
        Op::Send(count) => pair.send(usize::from(count)),
        Op::Deliver(i, ce) => pair.deliver(usize::from(i), ce),
        Op::Lose(i) if !pair.forth.is_empty() => {
            pair.forth.remove(usize::from(i) % pair.forth.len());
        }
        Op::Lose(_) => {}
        // All packets in transit arrive, with an ACK for every second one.
        Op::Flush => (0..pair.forth.len()).for_each(|_| pair.deliver(0, false)),
        Op::Timer => pair.on_timer(),
        Op::Wait(us) => pair.now += Duration::from_micros(u64::from(us)),
        Op::Dry => {
            pair.sender.mark_app_limited();
            pair.feed.app_limited();
        }
    }
}

fn same_signals(build: fn(PathInfo) -> Box<dyn Controller>, ops: &[Op]) -> Pair {
    let mut pair = Pair::new(build);
    for op in ops {
        // Repeated backoff reaches centuries, where nanoseconds overflow 64 bits.
        if pair.now < Time::from_millis(3_600_000) {
            step(&mut pair, op);
        }
    }
    pair.compare();
    pair
}

const CONTROLLERS: [fn(PathInfo) -> Box<dyn Controller>; 4] = [
    |path| new_reno::Params::default().build(path),
    |path| rfc9438::Params::default().build(path),
    |path| v1::Params::default().build(path),
    |path| v3::Params::default().build(path),
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn as_the_sender_tells_it(which in 0usize..4, ops in prop::collection::vec(op(), 1..400)) {
        same_signals(CONTROLLERS[which], &ops);
    }
}

/// The important paths were taken: reductions for losses and marks, late packets, an undo.
#[test]
fn all_kinds_of_signals() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let strategy = prop::collection::vec(op(), 400);
    let mut lines = Vec::new();
    for round in 0..60 {
        let ops = strategy.new_tree(&mut runner).unwrap().current();
        let pair = same_signals(CONTROLLERS[round % 4], &ops);
        lines.append(&mut pair.own.lock().unwrap().lines);
    }
    for word in ["cause: Loss", "cause: Ecn", "spurious", "round_start: true", "late: 1000"] {
        assert!(lines.iter().any(|line| line.contains(word)), "{word}");
    }
}

/// Everything sent for 10 s is lost after an RTT of 50 ms: one reduction for the loss, then the
/// collapse.
#[test]
fn persistent_congestion() {
    for build in CONTROLLERS {
        let mut pair = Pair::new(build);
        pair.send(2);
        pair.now += Duration::from_millis(50);
        step(&mut pair, &Op::Flush);
        for _ in 0..5 {
            pair.now += Duration::from_millis(2000);
            pair.send(1);
            step(&mut pair, &Op::Lose(0));
        }
        pair.send(4);
        pair.now += Duration::from_millis(50);
        step(&mut pair, &Op::Flush);
        pair.compare();
        let lines = &pair.own.lock().unwrap().lines;
        assert_eq!(lines.iter().filter(|line| line.contains("PersistentCongestion")).count(), 1);
    }
}

/// A stack that detects spurious losses reports them, and the feed undoes once. Packet numbers that
/// do not ascend, and events for packets never sent, change nothing.
#[test]
fn what_only_other_stacks_say() {
    let path = PathInfo { max_datagram_size: SIZE, ..PathInfo::default() };
    let mut feed = ControllerFeed::new(new_reno::Params::default().build(path));
    let first = feed.control().cwnd;
    (0..9).for_each(|pn| feed.sent(Time::ZERO, pn, SIZE));
    feed.sent(Time::ZERO, 3, SIZE);
    let now = Time::from_millis(50);
    feed.lost(0, Detection::PacketThreshold);
    feed.lost(77, Detection::PacketThreshold);
    feed.end_of_losses(now);
    assert_eq!(feed.bytes_in_flight(), 8 * SIZE);
    assert!(feed.control().cwnd < first);
    feed.spurious();
    assert_eq!(feed.control().cwnd, first);
    feed.discarded(1);
    feed.discarded(1);
    assert_eq!(feed.bytes_in_flight(), 7 * SIZE);
    feed.event(now, Cause::Timeout);
    feed.end_of_losses(now);
    assert!(feed.control().cwnd <= 2 * SIZE);
}

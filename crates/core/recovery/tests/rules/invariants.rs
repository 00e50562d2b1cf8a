//! Invariants for QUIC and TCP and every option, whatever the network, the peer and the timers do.
//!
//! The sender's accounting agrees with an independent one. There is one reduction per round trip. A
//! gradual reduction sends no more than arrives plus what slow start would. Every packet is
//! resolved in the end.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Arc, Mutex};

use ackclock_recovery::{
    AckConfig, AckEffects, AckFrame, Clock, Config, EcnCounts, Exit, Paced, PacketCount, Payload, Receiver,
    Reduction, Rto, SendDecision, Sender, TcpAck, TcpReceiver, TimeThreshold, Timeout,
};
use congestion::{Ack, Cause, Congestion, Control, Controller, Detection, Lost, PathInfo, Sent};
use proptest::prelude::*;
use units::Ecn;
use units::{Duration, Time};

const FULL: u64 = 1000;

#[derive(Clone, Copy, Debug)]
struct Piece(u64, u64);

impl Payload for Piece {
    fn range(&self) -> Range<u64> {
        self.0..self.1
    }
}

/// Independent accounting, kept by the controller, and a Reno-like window.
#[derive(Debug, Default)]
struct Books {
    /// Bytes of each packet in flight, by number.
    flying: Vec<Option<u64>>,
    in_flight: u64,
    cwnd: u64,
    before: u64,
    /// Packets from this number on were sent after the last reduction.
    boundary: u64,
    /// Newest packet of the losses just reported.
    newest_lost: Option<u64>,
    /// A reduction whose cause is in the next ACK, which must acknowledge a packet from this number
    /// on.
    awaiting: Option<u64>,
    /// Losses can be repaired before they are declared, or prove a timeout wrong.
    tail_probes: bool,
    /// A second hole in a window reduces it again (`Exit::RenoTcp`).
    reduces_again: bool,
    acks: u64,
    /// Bytes of the last ACK.
    acked: u64,
    /// PRR is enabled.
    spreads: bool,
    /// During a gradual reduction: bytes sent since its start, and bytes that have paid for them.
    spread: Option<(u64, u64)>,
}

impl Books {
    fn take(&mut self, pn: u64, bytes: u64) {
        assert_eq!(
            self.flying[pn as usize].take(),
            Some(bytes),
            "packet {pn} acknowledged or lost twice or never sent"
        );
        self.in_flight -= bytes;
    }

    fn reduce(&mut self, event: &Congestion) {
        let newest_lost = self.newest_lost.take();
        let boundary = std::mem::replace(&mut self.boundary, self.flying.len() as u64);
        match event.cause {
            // Packets that a reduction covers must not cause another.
            Cause::Loss if newest_lost >= Some(boundary) || self.reduces_again => {}
            Cause::Loss => {
                assert!(self.tail_probes, "second reduction");
                self.awaiting = Some(boundary); // the loss that a probe repaired
            }
            Cause::Ecn => self.awaiting = Some(boundary),
            Cause::Delay | Cause::Timeout => {}
            Cause::PersistentCongestion => self.boundary = 0,
            other => unreachable!("{other:?}"),
        }
        self.before = self.cwnd;
        self.cwnd = match event.cause {
            Cause::Timeout => FULL,
            Cause::PersistentCongestion => 2 * FULL,
            _ => (self.cwnd / 2).max(2 * FULL),
        };
        let collapsed = matches!(event.cause, Cause::Timeout | Cause::PersistentCongestion);
        let spreads = self.spreads && !collapsed && self.cwnd < self.before;
        // The fast retransmit is free. A controller's own event follows the ACK that it counts.
        let paid = FULL + if event.cause == Cause::Delay { self.acked } else { 0 };
        self.spread = spreads.then_some((0, paid));
    }

    /// Allows bytes without an ACK: probes, and packets that a timer declared lost.
    fn pay(&mut self, bytes: u64) {
        if let Some((_, paid)) = &mut self.spread {
            *paid += bytes;
        }
    }
}

#[derive(Clone, Debug)]
struct Auditor(Arc<Mutex<Books>>);

impl Controller for Auditor {
    fn needs(&self) -> congestion::Needs {
        congestion::Needs { rate_samples: true, ..congestion::Needs::default() }
    }
    fn on_sent(&mut self, sent: &Sent) {
        let mut accounts = self.0.lock().unwrap();
        assert_eq!(sent.pn, accounts.flying.len() as u64);
        accounts.flying.push(Some(sent.bytes));
        accounts.in_flight += sent.bytes;
        assert_eq!(accounts.in_flight, sent.bytes_in_flight);
        if let Some((out, paid)) = &mut accounts.spread {
            *out += sent.bytes;
            // One packet may always be in flight, or no ACK would arrive.
            let alone = if sent.bytes_in_flight <= FULL { *out } else { 0 };
            *paid = alone.max(*paid);
            assert!(*out <= *paid, "{out} bytes sent, {paid} paid for");
        }
    }

    fn on_ack(&mut self, ack: &Ack) -> Option<Cause> {
        let mut accounts = self.0.lock().unwrap();
        for packet in ack.packets {
            accounts.take(packet.pn, packet.bytes);
        }
        assert!(ack.packets.is_sorted_by_key(|p| p.pn));
        assert_eq!(ack.acked, ack.packets.iter().map(|p| p.bytes).sum::<u64>());
        assert!(ack.growth <= ack.acked);
        assert_eq!(accounts.in_flight, ack.bytes_in_flight);
        let newest = ack.packets.last().map_or(0, |p| p.pn);
        if let Some(boundary) = accounts.awaiting.take() {
            assert!(newest >= boundary || ack.late > 0, "second reduction");
            assert_eq!(ack.growth, 0, "no growth in the ACK that reduces");
        }
        accounts.newest_lost = None;
        accounts.acked = ack.acked + ack.late;
        if !ack.in_recovery {
            accounts.spread = None;
        }
        // Packet conservation, plus one packet for an ACK without losses.
        accounts.pay(ack.acked + ack.late + if ack.lost == 0 { FULL } else { 0 });
        accounts.cwnd += ack.growth;
        accounts.acks += 1;
        accounts.acks.is_multiple_of(7).then_some(Cause::Delay)
    }

    fn on_lost(&mut self, lost: &Lost) {
        let mut accounts = self.0.lock().unwrap();
        for packet in lost.packets {
            accounts.take(packet.pn, packet.bytes);
        }
        assert!(lost.packets.is_sorted_by_key(|p| p.pn));
        accounts.newest_lost = lost.packets.last().map(|p| p.pn);
    }

    fn on_congestion(&mut self, event: &Congestion) {
        self.0.lock().unwrap().reduce(event);
    }

    fn on_spurious(&mut self) {
        let mut accounts = self.0.lock().unwrap();
        accounts.cwnd = accounts.cwnd.max(accounts.before);
        accounts.boundary = 0;
        accounts.spread = None;
    }

    fn on_path_change(&mut self, _: PathInfo) {}
    fn control(&self) -> Control {
        let cwnd = self.0.lock().unwrap().cwnd;
        Control { cwnd, pacing_rate: None, ssthresh: u64::MAX, send_quantum: None, wake: Time::NEVER }
    }
}

#[derive(Debug)]
enum Far {
    Quic(Receiver),
    Tcp(TcpReceiver),
}

#[derive(Clone, Debug)]
enum Answer {
    Quic(AckFrame),
    Tcp(TcpAck),
}

#[derive(Clone, Copy, Debug)]
struct Flying {
    pn: u64,
    piece: Piece,
    ecn: Ecn,
    least_unacked: u64,
}

/// One event. Indices are taken modulo the available number.
#[derive(Clone, Debug)]
enum Op {
    Send(u8),
    Deliver(u8, bool),
    Drop(u8),
    Duplicate(u8),
    Answer(u8),
    Repeat(u8),
    Nonsense(Vec<(u64, u64)>, Option<(u64, u64, u64)>),
    Timer,
    Wait(u16),
    Dry,
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        6 => (1u8..12).prop_map(Op::Send),
        8 => (any::<u8>(), prop::bool::weighted(0.05)).prop_map(|(i, ce)| Op::Deliver(i % 4, ce)),
        2 => any::<u8>().prop_map(Op::Drop),
        1 => any::<u8>().prop_map(Op::Duplicate),
        6 => (0u8..3).prop_map(Op::Answer),
        1 => any::<u8>().prop_map(Op::Repeat),
        1 => (nonsense(), prop::option::of((0u64..9, 0u64..9, any::<u64>()))).prop_map(|(r, e)| Op::Nonsense(r, e)),
        2 => Just(Op::Timer),
        4 => any::<u16>().prop_map(Op::Wait),
        1 => Just(Op::Dry),
    ]
}

/// Ranges that are empty, overlapping, descending, reversed, or beyond everything sent.
fn nonsense() -> impl Strategy<Value = Vec<(u64, u64)>> {
    let end = || prop_oneof![0u64..60, 0u64..60_000, any::<u64>()];
    prop::collection::vec((end(), end()), 0..5)
}

fn paced() -> impl Strategy<Value = Paced> {
    prop_oneof![Just(Paced::Always), Just(Paced::ByRate), Just(Paced::Never)]
}

fn config() -> impl Strategy<Value = Config> {
    let time = prop_oneof![
        Just(TimeThreshold::Factor(1.125)),
        Just(TimeThreshold::Factor(1.25)),
        Just(TimeThreshold::Rack),
        Just(TimeThreshold::Vegas),
        Just(TimeThreshold::Off)
    ];
    let count = prop_oneof![Just(None), Just(Some(3)), Just(Some(6)), Just(Some(9))];
    let exit = prop_oneof![Just(Exit::Quic), Just(Exit::NewrenoTcp), Just(Exit::RenoTcp)];
    let timeout = prop_oneof![Just(Timeout::Pto), Just(Timeout::TlpRto), Just(Timeout::Rto)];
    let ecn = prop_oneof![Just(Ecn::NotEct), Just(Ecn::Ect0), Just(Ecn::Ect1)];
    let persistent = prop_oneof![Just(None), Just(Some(3))];
    let reduction = prop_oneof![Just(Reduction::AtOnce), Just(Reduction::Prr)];
    let first = (count, time, exit, timeout, persistent, reduction);
    let rto = prop_oneof![Just(Rto::Linux), Just(Rto::Rfc6298)];
    (first, ecn, any::<[bool; 6]>(), paced(), rto).prop_map(|(first, ecn, flags, paced, rto)| {
        let [undo, restart_after_idle, ecn_validation, early_retransmit, sacked, sack] = flags;
        let (packet_threshold, time_threshold, exit, timeout, persistent_congestion, reduction) = first;
        Config {
            packet_threshold,
            time_threshold,
            exit,
            timeout,
            persistent_congestion,
            reduction,
            ecn,
            undo,
            restart_after_idle,
            ecn_validation,
            early_retransmit,
            packet_count: if sacked { PacketCount::Sacked } else { PacketCount::Numbers },
            sack: sack || timeout == Timeout::Pto || reduction == Reduction::Prr,
            paced,
            rto,
            ..Config::quic()
        }
    })
}

#[derive(Debug)]
struct World {
    now: Time,
    sender: Sender<Piece>,
    out: AckEffects<Piece>,
    accounts: Arc<Mutex<Books>>,
    far: Far,
    /// Acknowledgements of TCP contain SACK blocks.
    sack: bool,
    next_byte: u64,
    resend: VecDeque<Piece>,
    forth: VecDeque<Flying>,
    back: VecDeque<Answer>,
}

impl World {
    fn new(config: Config, tcp: bool) -> Self {
        let config = match config {
            config if !tcp => without_tcp_rules(config),
            config if !config.sack => without_sack(config),
            config => config,
        };
        let sack = config.sack;
        let tail_probes = config.timeout != Timeout::Pto;
        let spreads = config.reduction == Reduction::Prr;
        let reduces_again = config.exit == Exit::RenoTcp;
        let accounts = Books { cwnd: 10 * FULL, tail_probes, reduces_again, spreads, ..Books::default() };
        let accounts = Arc::new(Mutex::new(accounts));
        let path = PathInfo { max_datagram_size: FULL, paced: true, seed: 1 };
        let ack = AckConfig { max_ranges: 4, quick_acks: spreads, ..AckConfig::default() };
        Self {
            now: Time::from_millis(1),
            sender: Sender::new(config, Box::new(Auditor(Arc::clone(&accounts))), path),
            out: AckEffects::default(),
            accounts,
            sack,
            far: if tcp {
                let receiver =
                    TcpReceiver::new(ack, Clock::default(), FULL as u32, Duration::from_millis(30));
                Far::Tcp(if sack { receiver } else { receiver.without_sack() })
            } else {
                Far::Quic(Receiver::new(ack, Clock::default(), Duration::from_millis(50)))
            },
            next_byte: 0,
            resend: VecDeque::new(),
            forth: VecDeque::new(),
            back: VecDeque::new(),
        }
    }

    fn step(&mut self, op: &Op) {
        match op {
            Op::Send(count) => {
                let _ = (0..*count).all(|_| self.send(true));
            }
            Op::Deliver(i, ce) => self.deliver(*i, *ce),
            Op::Drop(i) => drop(pick(&mut self.forth, *i)),
            Op::Duplicate(i) => {
                let copy = self.forth.get(usize::from(*i) % self.forth.len().max(1)).copied();
                self.forth.extend(copy);
            }
            Op::Answer(i) => drop(pick(&mut self.back, *i).map(|a| self.process(&a))),
            Op::Repeat(i) => {
                let copy = self.back.get(usize::from(*i) % self.back.len().max(1)).cloned();
                self.back.extend(copy);
            }
            Op::Nonsense(ranges, ecn) => self.nonsense(ranges, *ecn),
            Op::Timer => self.timer(),
            Op::Wait(ns) => self.now += Duration::from_micros(u64::from(*ns)),
            Op::Dry => self.sender.mark_app_limited(),
        }
        self.audit();
    }

    fn audit(&self) {
        assert_eq!(self.accounts.lock().unwrap().in_flight, self.sender.bytes_in_flight());
        let stats = self.sender.stats();
        assert!(stats.acked + stats.lost() <= stats.sent);
        assert!(self.sender.bytes_in_flight() > 0 || self.sender.next_timer().is_none());
    }

    /// Sends a lost payload or a new one. Returns false if nothing can be sent.
    fn send(&mut self, fresh: bool) -> bool {
        let quic = matches!(self.far, Far::Quic(_));
        let Some(piece) = self.resend.front().copied().or_else(|| fresh.then(|| self.fresh(quic))) else {
            return false;
        };
        let bytes = (piece.1 - piece.0).max(50);
        if self.sender.can_send(self.now, bytes) != SendDecision::Now {
            return false;
        }
        let repeat = self.resend.pop_front().is_some();
        self.next_byte = self.next_byte.max(piece.1);
        let (pn, ecn) = self.sender.on_sent(self.now, bytes, piece, repeat);
        self.forth.push_back(Flying { pn, piece, ecn, least_unacked: self.sender.least_unacked() });
        true
    }

    /// Returns a new piece. Sizes differ, and QUIC sometimes sends a packet without stream data.
    fn fresh(&self, quic: bool) -> Piece {
        let count = self.sender.stats().sent;
        if quic && count % 11 == 3 {
            return Piece(0, 0);
        }
        Piece(self.next_byte, self.next_byte + 200 + count * 37 % 801)
    }

    fn deliver(&mut self, index: u8, ce: bool) {
        let Some(packet) = pick(&mut self.forth, index) else { return };
        let ecn = if ce && packet.ecn != Ecn::NotEct { Ecn::Ce } else { packet.ecn };
        let Piece(start, end) = packet.piece;
        let must = match &mut self.far {
            Far::Quic(r) => r.on_packet(self.now, packet.pn, ecn, packet.least_unacked),
            Far::Tcp(r) => r.on_packet(self.now, packet.pn, ecn, start, end).1,
        };
        if must {
            self.answer();
        }
    }

    fn answer(&mut self) {
        self.back.push_back(match &mut self.far {
            Far::Quic(r) => {
                let mut frame = AckFrame::default();
                r.write_ack(self.now, &mut frame);
                Answer::Quic(frame)
            }
            Far::Tcp(r) => Answer::Tcp(r.ack(self.now)),
        });
    }

    fn process(&mut self, answer: &Answer) {
        match answer {
            Answer::Quic(frame) => {
                let waiting = self.resend.iter().filter(|p| p.0 < p.1).map(|p| p.0).min();
                self.sender.on_ack(self.now, frame, waiting, &mut self.out);
            }
            Answer::Tcp(ack) => {
                self.sender.on_tcp_ack(self.now, ack, &mut self.out);
                self.resend.retain(|p| !ack.covers(p.0, p.1));
            }
        }
        self.resend.extend(self.out.lost.iter().map(|l| l.2));
    }

    fn nonsense(&mut self, ranges: &[(u64, u64)], ecn: Option<(u64, u64, u64)>) {
        let ecn = ecn.map(|(ect0, ect1, ce)| EcnCounts { ect0, ect1, ce });
        let at = |i: usize| ranges.get(i).copied().unwrap_or_default();
        let answer = match self.far {
            Far::Quic(_) => {
                let timestamps = ranges.iter().map(|r| (r.1, i64::MIN)).collect();
                Answer::Quic(AckFrame {
                    ranges: ranges.to_vec(),
                    ack_delay: Duration::MAX,
                    ecn,
                    timestamps,
                    ping: false,
                })
            }
            // A cumulative ACK of everything would end the test. SACKs may be false; the cumulative
            // ACK only repeats itself.
            Far::Tcp(_) => {
                let timestamps = Some((at(3).0, i64::MIN));
                let sacks = if self.sack { [at(0), at(1), at(2)] } else { Default::default() };
                Answer::Tcp(TcpAck {
                    cumulative: 0,
                    sacks,
                    echo: at(3).0,
                    duplicate: at(3).0 % 5 == 0,
                    timestamps,
                    ecn,
                })
            }
        };
        self.process(&answer);
    }

    /// Processes the timer of the sender or the receiver, whichever is first.
    fn timer(&mut self) {
        let far = match &self.far {
            Far::Quic(r) => r.timer(),
            Far::Tcp(r) => r.timer(),
        };
        let near = self.sender.next_timer();
        if let Some(due) = far.filter(|far| near.is_none_or(|near| *far <= near)) {
            self.now = self.now.max(due);
            return self.answer();
        }
        let Some(due) = near else { return };
        self.now = self.now.max(due);
        // Progress: a due timer is processed and is not due again at once.
        for round in 0.. {
            assert!(round < 4, "the timer stays in the past");
            if self.sender.next_timer().is_none_or(|due| due > self.now) {
                break;
            }
            let flying = self.sender.bytes_in_flight();
            self.sender.on_timer(self.now, &mut self.out);
            // A timeout declares one packet of any size lost and allows one of any size (RFC 6298
            // section 5.4).
            let repeat = if self.out.lost.iter().any(|l| l.1 == Detection::Timeout) { FULL } else { 0 };
            let probes = if self.out.probe { 2 * FULL } else { 0 };
            self.accounts.lock().unwrap().pay(repeat.max(flying - self.sender.bytes_in_flight()) + probes);
            self.resend.extend(self.out.lost.iter().map(|l| l.2));
            if self.out.probe {
                if self.resend.is_empty() {
                    self.resend.extend(self.sender.probe_payload());
                }
                assert!(self.send(true), "a probe may leave");
            }
        }
    }

    /// Delivers everything from now on. Every packet is acknowledged or lost in the end.
    fn finish(&mut self) {
        for _ in 0..20_000 {
            while self.send(false) {}
            (0..self.forth.len()).for_each(|_| self.deliver(0, false));
            self.now += Duration::from_millis(10);
            // An RTT of minutes, which some of these networks have, makes the pacer wait for
            // minutes.
            if let SendDecision::At(at) = self.sender.can_send(self.now, FULL) {
                self.now = at;
            }
            while let Some(answer) = self.back.pop_front() {
                self.process(&answer);
            }
            self.audit();
            if self.sender.bytes_in_flight() == 0 && self.resend.is_empty() {
                let stats = self.sender.stats();
                assert_eq!(stats.acked + stats.lost(), stats.sent);
                return;
            }
            self.timer();
        }
        panic!(
            "{} bytes in flight and {} pieces to send never end",
            self.sender.bytes_in_flight(),
            self.resend.len()
        );
    }
}

/// Replaces the rules that need SACK.
fn without_sack(config: Config) -> Config {
    let time_threshold = match config.time_threshold {
        TimeThreshold::Vegas => TimeThreshold::Vegas,
        _ => TimeThreshold::Off,
    };
    let exit = if config.exit == Exit::Quic { Exit::NewrenoTcp } else { config.exit };
    let packet_threshold = config.packet_threshold.or(Some(3));
    Config { packet_threshold, packet_count: PacketCount::Numbers, time_threshold, exit, ..config }
}

/// Replaces the rules that apply to TCP only.
fn without_tcp_rules(config: Config) -> Config {
    let exit = if config.exit == Exit::RenoTcp { Exit::Quic } else { config.exit };
    Config { exit, sack: true, packet_count: PacketCount::Numbers, ..config }
}

fn pick<T>(queue: &mut VecDeque<T>, index: u8) -> Option<T> {
    let index = usize::from(index) % queue.len().max(1);
    queue.remove(index)
}

/// Reports whether every packet is resolved. QUIC's timeout alone never declares a loss: with both
/// thresholds off, packets stay in flight forever.
fn ends(config: &Config) -> bool {
    config.packet_threshold.is_some()
        || config.time_threshold != TimeThreshold::Off
        || config.timeout != Timeout::Pto
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(5000))]

    #[test]
    fn the_books_agree(config in config(), tcp in any::<bool>(), ops in prop::collection::vec(op(), 1..300)) {
        let ends = ends(&config);
        let mut world = World::new(config, tcp);
        for op in &ops {
            // Repeated backoff reaches centuries, where nanoseconds overflow 64 bits.
            if world.now < Time::from_millis(3_600_000) {
                world.step(op);
            }
        }
        if ends {
            world.finish();
        }
    }
}

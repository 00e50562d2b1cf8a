//! The sender's ledger: what has left, what came back, what is lost, and what the controller is told of it.
//!
//! Sans I/O: [`Sender::gate`] says whether a packet may leave, [`Sender::on_sent`] notes it, [`Sender::on_ack`] /
//! [`Sender::on_tcp_ack`] and [`Sender::on_timer`] digest what comes, [`Sender::next_timer`] says when to call again.
//! One packet number space. Inside one ACK the order is RFC 9002 appendix A.7's: RTT, ECN, losses, growth.

use std::ops::Range;

use congestion::{
    Ack, AckedPacket, Cause, Congestion, Control, Controller, Detection, Duration, Lost, LostPacket, Path,
    Sent, Time,
};

use crate::config::{Config, Exit, Paced, Timeout};
use crate::ecn::{Ecn, EcnCounts, Validation};
use crate::epoch::{Epoch, LateAcks};
use crate::loss::{Found, Reordering, Search};
use crate::pacer::Pacer;
use crate::rate::Sampler;
use crate::receiver::AckFrame;
use crate::rtt::Rtt;
use crate::seen::{Seen, Span};
use crate::sent::{Fate, Packet, Payload, SentPackets};
use crate::stats::Stats;
use crate::tcp::TcpAck;

/// Whether a packet may leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gate {
    /// Now.
    Open,
    /// When the pacer says so.
    At(Time),
    /// When the window opens.
    Window,
}

/// What came of an ACK or a timer. Reused between calls.
#[derive(Clone, Debug)]
pub struct Outcome<T> {
    /// Payloads declared lost, to be sent again, with packet number and rule; ascending.
    pub lost: Vec<(u64, Detection, T)>,
    /// Packets declared lost before that have arrived after all: their payloads need not be sent again.
    pub late: Vec<(u64, T)>,
    /// The RTT sample, if there was one.
    pub rtt: Option<Duration>,
    /// The congestion event, if there was one.
    pub congestion: Option<Cause>,
    /// A probe must be sent: [`Sender::gate`] is open for it whatever the window says.
    pub probe: bool,
}

impl<T> Default for Outcome<T> {
    fn default() -> Self {
        Self { lost: Vec::new(), late: Vec::new(), rtt: None, congestion: None, probe: false }
    }
}

impl<T> Outcome<T> {
    fn clear(&mut self) {
        self.lost.clear();
        self.late.clear();
        self.rtt = None;
        self.congestion = None;
        self.probe = false;
    }
}

/// Probes sent on a QUIC probe timeout. RFC 9002 section 6.2.4: one or two.
const PTO_PROBES: u32 = 2;

/// Longest retransmission timeout. RFC 6298 section 2.5: 60 s or more; Linux 120 s.
const MAX_RTO: Duration = Duration::from_secs(120);

/// The ledger of one path.
#[derive(Debug)]
pub struct Sender<T> {
    config: Config,
    controller: Box<dyn Controller>,
    sent: SentPackets<T>,
    rtt: Rtt,
    sampler: Sampler,
    pacer: Pacer,
    ecn: Validation,
    reordering: Reordering,
    late: LateAcks<T>,
    seen: Seen,
    epoch: Epoch,
    /// Packets in flight whose payload had been sent before.
    repeats_in_flight: u64,
    stats: Stats,
    bytes_in_flight: u64,
    largest_acked: Option<u64>,
    /// RTT of the newest packet in the last ACK (RACK.rtt).
    rack_rtt: Duration,
    first_rtt_sample: Option<Time>,
    /// Highest stream byte sent.
    highest_offset: u64,
    round: u64,
    round_end: u64,
    last_sent: Time,
    /// From when the retransmission timeout counts: the last progress.
    progress: Time,
    timeouts: u32,
    tail_probed: bool,
    /// The tail loss probe that repeats a payload still in flight: its number and first byte.
    tail_repeat: Option<(u64, u64)>,
    /// Packets that may leave whatever the window says. What the next ACK finds unused has lapsed.
    probes: u32,
    loss_time: Option<Time>,
    found: Found,
    // Digest of the ACK at hand, kept to reuse their memory.
    acked: Vec<AckedPacket>,
    lost: Vec<LostPacket>,
    spans: Vec<Span>,
    tally: Tally,
}

/// What one ACK newly acknowledges.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    bytes: u64,
    growth: u64,
    ecn: EcnCounts,
    app_limited: bool,
    /// The newest packet that is known to have arrived, and when it left.
    newest: Option<(u64, Time)>,
    /// The packet whose loss a tail loss probe repaired.
    repaired: Option<u64>,
}

/// What an acknowledgement says of the very packet that it takes out of flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Arrival {
    /// It has arrived.
    Certain,
    /// Its payload has arrived, likely with it. ECN counts may lack it.
    Likely,
    /// Its payload has arrived with an earlier transmission.
    Unproven,
}

/// What an ACK says besides packet numbers.
struct Report<'a> {
    ack_delay: Duration,
    ecn: Option<&'a EcnCounts>,
    /// All stream bytes before this one have arrived (matters to [`Exit::NewrenoTcp`] alone).
    cumulative: u64,
    prior_in_flight: u64,
    prior_largest: Option<u64>,
}

impl<T: Payload> Sender<T> {
    /// Nothing sent yet.
    pub fn new(config: Config, controller: Box<dyn Controller>, path: Path) -> Self {
        Self {
            sent: SentPackets::new(),
            rtt: Rtt::new(config.initial_rtt),
            sampler: Sampler::default(),
            pacer: Pacer::new(&config.pacing, path.mds),
            ecn: Validation::new(config.ecn),
            reordering: Reordering::default(),
            late: LateAcks::new(),
            seen: Seen::default(),
            epoch: Epoch::new(config.exit),
            repeats_in_flight: 0,
            stats: Stats::default(),
            bytes_in_flight: 0,
            largest_acked: None,
            rack_rtt: config.initial_rtt,
            first_rtt_sample: None,
            highest_offset: 0,
            round: 0,
            round_end: 0,
            last_sent: Time::ZERO,
            progress: Time::ZERO,
            timeouts: 0,
            tail_probed: false,
            tail_repeat: None,
            probes: 0,
            loss_time: None,
            found: Found::default(),
            acked: Vec::new(),
            lost: Vec::new(),
            spans: Vec::new(),
            tally: Tally::default(),
            config,
            controller,
        }
    }

    /// Whether a packet of `bytes` may leave.
    pub fn gate(&mut self, now: Time, bytes: u64) -> Gate {
        if self.probes > 0 {
            return Gate::Open;
        }
        let control = self.controller.control();
        if self.bytes_in_flight + bytes > control.cwnd {
            return Gate::Window;
        }
        let Some(rate) = self.pacing_rate(&control) else { return Gate::Open };
        match self.pacer.release(now, bytes, rate) {
            at if at <= now => Gate::Open,
            at => Gate::At(at),
        }
    }

    /// Bytes per second, or `None` when this sender does not pace (yet).
    fn pacing_rate(&self, control: &Control) -> Option<f64> {
        if let Some(rate) = control.pacing_rate.filter(|_| self.config.paced != Paced::Never) {
            return Some(rate.bytes_per_sec());
        }
        if self.config.paced != Paced::Always || !self.rtt.is_sampled() {
            return None; // RFC 9002 section 7.7: the initial window may leave at once
        }
        let pacing = &self.config.pacing;
        let factor = if control.slow_start { pacing.slow_start_factor } else { pacing.factor };
        Some(factor * control.cwnd as f64 / self.rtt.smoothed().as_secs_f64().max(1e-9))
    }

    /// A packet leaves; returns its number and mark. `bytes` is what it counts in the window. `repeat` says that its
    /// payload has been sent before; what is not repeated leaves in the order of the stream.
    pub fn on_sent(&mut self, now: Time, bytes: u64, data: T, repeat: bool) -> (u64, Ecn) {
        let pn = self.sent.next_pn();
        let ecn = self.ecn.on_sent(now, self.probe_timeout());
        let snapshot = self.sampler.on_sent(now, bytes, self.bytes_in_flight);
        if self.bytes_in_flight == 0 {
            self.progress = now;
        }
        self.bytes_in_flight += bytes;
        self.highest_offset = self.highest_offset.max(data.range().end);
        if repeat && self.tail_probed && self.probes > 0 {
            self.tail_repeat = Some((pn, data.range().start));
        }
        self.sent.push(Packet { sent: now, bytes, fate: Fate::InFlight, repeat, ecn, snapshot, data });
        self.repeats_in_flight += u64::from(repeat);
        self.last_sent = now;
        self.probes = self.probes.saturating_sub(1);
        self.pacer.on_sent(now, bytes);
        self.stats.sent += 1;
        self.stats.sent_bytes += bytes;
        self.stats.retransmissions += u64::from(repeat);
        let app_limited = self.sampler.is_app_limited();
        self.controller.on_sent(&Sent { now, pn, bytes, bytes_in_flight: self.bytes_in_flight, app_limited });
        (pn, ecn)
    }

    /// The application has nothing to send. Matters while the window has room: a full one limits the sender itself.
    pub fn mark_app_limited(&mut self) {
        if self.bytes_in_flight < self.controller.control().cwnd {
            self.sampler.mark_app_limited(self.bytes_in_flight);
        }
    }

    /// A QUIC ACK arrives. `waiting` is the smallest stream offset that is lost and not yet sent again, if any.
    pub fn on_ack(&mut self, now: Time, frame: &AckFrame, waiting: Option<u64>, out: &mut Outcome<T>) {
        out.clear();
        self.late.prune(now, self.probe_timeout());
        let (prior_in_flight, prior_largest) = (self.bytes_in_flight, self.largest_acked);
        let (period, mut current) = (self.epoch.serial(), 0);
        let mut stamps = frame.timestamps.iter().peekable();
        let mut spans = std::mem::take(&mut self.spans);
        self.seen.take(&frame.ranges, self.sent.next_pn(), &mut spans);
        for &(low, high) in &spans {
            current += self.late.take(low, high, period, &mut out.late);
            for pn in low.max(self.sent.base())..=high {
                while stamps.next_if(|s| s.0 < pn).is_some() {}
                let received = stamps.peek().filter(|s| s.0 == pn).map(|s| s.1);
                self.settle(now, pn, received, Arrival::Certain);
            }
        }
        self.spans = spans;
        if !self.acked.is_empty() {
            let (cumulative, ecn) = (self.cumulative(waiting), frame.ecn.as_ref());
            let ack_delay = frame.ack_delay;
            self.digest(now, &Report { ack_delay, ecn, cumulative, prior_in_flight, prior_largest }, out);
        }
        self.on_late(out.late.len() as u64, current, period);
    }

    /// A TCP acknowledgement arrives.
    pub fn on_tcp_ack(&mut self, now: Time, ack: &TcpAck, out: &mut Outcome<T>) {
        out.clear();
        self.late.prune(now, self.probe_timeout());
        let (prior_in_flight, prior_largest) = (self.bytes_in_flight, self.largest_acked);
        let period = self.epoch.serial();
        let current = self.late.take(ack.echo, ack.echo, period, &mut out.late);
        self.settle_covered(now, ack);
        if !self.acked.is_empty() {
            let (cumulative, ecn) = (ack.cumulative, ack.ecn.as_ref());
            let ack_delay = Duration::ZERO;
            self.digest(now, &Report { ack_delay, ecn, cumulative, prior_in_flight, prior_largest }, out);
        }
        self.on_late(out.late.len() as u64, current, period);
    }

    /// Settles the packets whose payload a TCP acknowledgement covers.
    fn settle_covered(&mut self, now: Time, ack: &TcpAck) {
        let highest = ack.highest();
        let mut repeats = self.repeats_in_flight;
        let mut beyond = false;
        for pn in self.sent.base()..self.sent.next_pn() {
            // Beyond what has arrived, and payloads sent for the first time leave in order: only repeats can be left.
            if beyond && repeats == 0 {
                break;
            }
            let Some(packet) = self.sent.get(pn).filter(|p| p.fate == Fate::InFlight) else { continue };
            let range = packet.data.range();
            repeats -= u64::from(packet.repeat);
            beyond |= !packet.repeat && range.start >= highest;
            if ack.covers(range.start, range.end) {
                let arrival = self.arrival(now, pn, packet, ack.echo);
                // The peer answers the repeat: the original, much older, has not arrived. RFC 8985 section 7.4.
                let repaired =
                    |&(probe, start): &(u64, u64)| probe == ack.echo && start == range.start && pn < probe;
                if self.tail_repeat.as_ref().is_some_and(repaired) {
                    self.tally.repaired = Some(pn);
                }
                self.settle(now, pn, None, arrival);
            }
        }
    }

    /// RFC 8985 section 6.2 step 2: the original may have arrived although its repeat is what still flies.
    fn arrival(&self, now: Time, pn: u64, packet: &Packet<T>, echo: u64) -> Arrival {
        if pn == echo {
            Arrival::Certain
        } else if !packet.repeat || (pn < echo && now - packet.sent >= self.rtt.min()) {
            Arrival::Likely
        } else {
            Arrival::Unproven
        }
    }

    /// Takes one packet out of flight as acknowledged, unless its fate is sealed already.
    fn settle(&mut self, now: Time, pn: u64, received: Option<i64>, arrival: Arrival) {
        let Some(p) = self.sent.get_mut(pn).filter(|p| p.fate == Fate::InFlight) else { return };
        p.fate = Fate::Acked;
        self.repeats_in_flight -= u64::from(p.repeat);
        let (bytes, sent) = (p.bytes, p.sent);
        self.sampler.on_acked(now, pn, sent, bytes, &p.snapshot);
        if arrival == Arrival::Certain {
            self.tally.ecn.add(p.ecn);
        }
        self.tally.app_limited = p.snapshot.app_limited;
        let before_reduction = self.epoch.forbids_growth(pn);
        self.bytes_in_flight -= bytes;
        self.tally.bytes += bytes;
        if !before_reduction && !p.snapshot.app_limited {
            self.tally.growth += bytes;
        }
        if arrival != Arrival::Unproven {
            self.advance(pn, sent);
        }
        self.stats.acked += 1;
        self.acked.push(AckedPacket { pn, bytes, sent, received, before_reduction });
    }

    /// This packet has arrived: what left before it may be missing.
    fn advance(&mut self, pn: u64, sent: Time) {
        if self.largest_acked.is_some_and(|largest| pn < largest) {
            self.reordering.on_reordered();
        }
        self.largest_acked = self.largest_acked.max(Some(pn));
        self.tally.newest = Some((pn, sent));
    }

    fn digest(&mut self, now: Time, report: &Report, out: &mut Outcome<T>) {
        let raised = self.largest_acked > report.prior_largest;
        let newest = self.tally.newest.map_or(0, |n| n.0);
        self.measure(now, raised, report.ack_delay, out);
        let ce = if raised { self.ecn.on_ack(&self.tally.ecn, report.ecn) } else { 0 };
        let round_start = newest >= self.round_end;
        if round_start {
            self.round += 1;
            self.round_end = self.sent.next_pn();
        }
        self.progress = now;
        self.timeouts = 0;
        self.tail_probed = false;
        self.probes = 0;

        self.detect_losses(now, report.prior_in_flight, out);
        self.answer_marks_and_repairs(now, newest, ce, report.prior_in_flight, out);
        if self.epoch.try_exit(newest, report.cumulative) {
            self.reordering.on_recovered();
        }
        self.tell_controller(now, newest, ce, round_start, report, out);
        self.sent.forget_settled();
        self.acked.clear();
        self.lost.clear();
        self.tally = Tally::default();
    }

    /// RTT of the newest packet. A sample for the estimator if it raises the largest acknowledged (RFC 9002
    /// section 5.1); RACK takes every one.
    fn measure(&mut self, now: Time, raised: bool, ack_delay: Duration, out: &mut Outcome<T>) {
        let Some((_, sent)) = self.tally.newest else { return };
        let latest = now - sent;
        self.rack_rtt = latest;
        if raised {
            self.rtt.sample(latest, ack_delay.min(self.config.max_ack_delay));
            self.first_rtt_sample.get_or_insert(now);
            out.rtt = Some(latest);
        }
    }

    /// Reductions for what is no declared loss: CE marks, and a loss that a tail loss probe repaired.
    fn answer_marks_and_repairs(
        &mut self,
        now: Time,
        newest: u64,
        ce: u64,
        prior: u64,
        out: &mut Outcome<T>,
    ) {
        if ce > 0 {
            if !self.epoch.covers(newest) {
                self.reduce(now, Cause::Ecn, prior, out);
            }
            self.epoch.forbid_undo();
        }
        if let Some(pn) = self.tally.repaired {
            if !self.epoch.covers(pn) {
                self.reduce(now, Cause::Loss, prior, out);
            }
            self.epoch.forbid_undo();
        }
    }

    fn tell_controller(
        &mut self,
        now: Time,
        newest: u64,
        ce: u64,
        round_start: bool,
        report: &Report,
        out: &mut Outcome<T>,
    ) {
        let rate = self.sampler.sample(self.rtt.min());
        let asked = self.controller.on_ack(&Ack {
            now,
            packets: &self.acked,
            acked: self.tally.bytes,
            growth: self.tally.growth,
            lost: self.lost.iter().map(|l| l.bytes).sum(),
            prior_in_flight: report.prior_in_flight,
            bytes_in_flight: self.bytes_in_flight,
            latest_rtt: out.rtt,
            min_rtt: self.rtt.min(),
            smoothed_rtt: self.rtt.smoothed(),
            ack_delay: report.ack_delay,
            ce,
            delivered: self.sampler.delivered(),
            rate,
            round: self.round,
            round_start,
            in_recovery: self.epoch.in_recovery(),
            app_limited: self.tally.app_limited,
        });
        // Whatever the controller asks, one reduction per round trip.
        if let Some(cause) = asked.filter(|_| !self.epoch.covers(newest)) {
            self.reduce(now, cause, report.prior_in_flight, out);
        }
    }

    /// Finds losses and answers them.
    fn detect_losses(&mut self, now: Time, prior_in_flight: u64, out: &mut Outcome<T>) {
        let Some(largest_acked) = self.largest_acked else { return };
        let mut found = std::mem::take(&mut self.found);
        Search {
            config: &self.config,
            rtt: &self.rtt,
            reordering: &self.reordering,
            now,
            largest_acked,
            rack_rtt: self.rack_rtt,
            in_recovery: self.epoch.in_recovery(),
        }
        .run(&self.sent, &mut found);
        self.loss_time = found.loss_time;
        if !found.lost.is_empty() {
            self.lose(now, &found.lost, prior_in_flight, out);
        }
        self.found = found;
    }

    /// Declares packets lost (ascending) and reduces the window unless a reduction since their departure covers them.
    fn lose(&mut self, now: Time, lost: &[(u64, Detection)], prior_in_flight: u64, out: &mut Outcome<T>) {
        let persistent = self.is_persistent(lost);
        for &(pn, detection) in lost {
            self.forsake(pn, detection, out);
        }
        self.controller.on_lost(&Lost {
            now,
            packets: &self.lost,
            total_lost: self.sampler.lost(),
            delivered: self.sampler.delivered(),
            bytes_in_flight: self.bytes_in_flight,
        });
        let newest = lost.last().map_or(0, |l| l.0);
        let timeout = lost.last().is_some_and(|l| l.1 == Detection::Timeout);
        if timeout {
            self.reduce(now, Cause::Timeout, prior_in_flight, out);
        } else if !self.epoch.covers(newest) {
            self.reduce(now, Cause::Loss, prior_in_flight, out);
        }
        if persistent {
            self.rtt.reset_min();
            self.reduce(now, Cause::PersistentCongestion, prior_in_flight, out);
        }
        self.epoch.add_losses(lost.len() as u64);
        self.late.prune(now, self.probe_timeout());
        // `out` holds exactly these: both callers clear it first, and each declares losses once.
        for (pn, _, data) in &out.lost {
            self.late.add(*pn, now, self.epoch.serial(), data.clone());
        }
    }

    fn forsake(&mut self, pn: u64, detection: Detection, out: &mut Outcome<T>) {
        let Some(p) = self.sent.get_mut(pn) else { return };
        p.fate = Fate::Lost;
        self.repeats_in_flight -= u64::from(p.repeat);
        let (bytes, sent, snapshot) = (p.bytes, p.sent, p.snapshot);
        self.bytes_in_flight -= bytes;
        self.sampler.on_lost(bytes);
        self.ecn.on_lost(p.ecn);
        out.lost.push((pn, detection, p.data.clone()));
        self.stats.count_loss(detection);
        self.lost.push(LostPacket {
            pn,
            bytes,
            sent,
            detection,
            tx_in_flight: snapshot.tx_in_flight,
            lost_at_send: snapshot.lost,
            app_limited: snapshot.app_limited,
        });
    }

    /// RFC 9002 section 7.6: two of these losses are further apart than the persistent congestion duration and nothing
    /// sent between them was acknowledged.
    fn is_persistent(&self, lost: &[(u64, Detection)]) -> bool {
        let (Some(threshold), Some(first_sample)) =
            (self.config.persistent_congestion, self.first_rtt_sample)
        else {
            return false;
        };
        let duration = self.probe_timeout() * threshold;
        // The first lost packet since the last acknowledged one, and the last lost packet looked at.
        let (mut start, mut previous): (Option<Time>, u64) = (None, 0);
        for &(pn, _) in lost {
            let Some(sent) = self.sent.get(pn).map(|p| p.sent).filter(|s| *s > first_sample) else {
                continue;
            };
            match start {
                Some(since) if self.none_acked(previous, pn) => {
                    if sent - since > duration {
                        return true;
                    }
                }
                _ => start = Some(sent),
            }
            previous = pn;
        }
        false
    }

    fn none_acked(&self, from: u64, to: u64) -> bool {
        (from..to).all(|pn| self.sent.get(pn).is_none_or(|p| p.fate != Fate::Acked))
    }

    fn reduce(&mut self, now: Time, cause: Cause, prior_in_flight: u64, out: &mut Outcome<T>) {
        self.epoch.begin(cause, self.sent.next_pn(), self.highest_offset);
        self.stats.count_reduction(cause);
        out.congestion = Some(cause);
        // What this ACK acknowledged left before the reduction.
        self.tally.growth = 0;
        self.acked.iter_mut().for_each(|p| p.before_reduction = true);
        let (min_rtt, smoothed_rtt) = (self.rtt.min(), self.rtt.smoothed());
        self.controller.on_congestion(&Congestion { now, cause, prior_in_flight, min_rtt, smoothed_rtt });
        if cause == Cause::Loss {
            self.probes = self.probes.max(1); // RFC 9002 section 7.3.2: one packet may leave to speed up recovery
        }
    }

    /// These packets, declared lost before, have arrived after all. `period` is the recovery period they were counted
    /// in: the same ACK may have opened another one, which they do not excuse.
    fn on_late(&mut self, all: u64, current: u64, period: u64) {
        if all == 0 {
            return;
        }
        self.stats.spurious += all;
        self.reordering.on_spurious(self.largest_acked.unwrap_or(0), self.sent.next_pn());
        if period == self.epoch.serial() && self.config.undo && self.epoch.on_spurious(current) {
            self.stats.undone += 1;
            self.controller.on_spurious();
        }
    }

    /// All stream bytes before this one have arrived: as far as the recovery period wants to know.
    fn cumulative(&self, waiting: Option<u64>) -> u64 {
        let until = self.epoch.until_offset();
        if self.config.exit == Exit::Quic || !self.epoch.in_recovery() || waiting.is_some_and(|w| w < until) {
            return 0;
        }
        let missing = |range: Range<u64>| range.start < until && !range.is_empty();
        if self.sent.in_flight().any(|(_, p)| missing(p.data.range())) { 0 } else { until }
    }

    /// When [`Sender::on_timer`] wants to be called.
    pub fn next_timer(&self) -> Option<Time> {
        if self.bytes_in_flight == 0 {
            return None;
        }
        Some(self.loss_time.unwrap_or_else(|| self.timeout_at()))
    }

    /// PTO without backoff: RFC 9002 section 6.2.1.
    fn probe_timeout(&self) -> Duration {
        self.rtt.timeout(self.config.granularity) + self.config.max_ack_delay
    }

    fn timeout_at(&self) -> Time {
        let backoff = 1u64 << self.timeouts.min(20);
        match self.config.timeout {
            Timeout::Pto => self.last_sent + self.probe_timeout() * backoff,
            Timeout::TlpRto => {
                let rto = self.rtt.timeout(self.config.granularity).max(self.config.min_rto);
                let rto_at = self.progress + (rto * backoff).min(MAX_RTO);
                if self.may_probe_tail() { self.tail_probe_at().min(rto_at) } else { rto_at }
            }
        }
    }

    fn may_probe_tail(&self) -> bool {
        !self.tail_probed && self.timeouts == 0 && !self.epoch.in_recovery() && self.rtt.is_sampled()
    }

    /// RFC 8985 section 7.2: two RTTs after the last packet or ACK, and the peer's ACK delay when it flies alone.
    fn tail_probe_at(&self) -> Time {
        let alone = self.sent.in_flight().nth(1).is_none();
        let wait = self.rtt.smoothed() * 2;
        self.last_sent.max(self.progress) + if alone { wait + self.config.min_rto } else { wait }
    }

    /// The time of [`Sender::next_timer`] has come (calling earlier does nothing).
    pub fn on_timer(&mut self, now: Time, out: &mut Outcome<T>) {
        out.clear();
        if self.next_timer().is_none_or(|due| due > now) {
            return;
        }
        let prior_in_flight = self.bytes_in_flight;
        if self.loss_time.is_some() {
            self.detect_losses(now, prior_in_flight, out);
        } else if self.config.timeout == Timeout::Pto {
            self.timeouts += 1;
            self.probe(PTO_PROBES, out);
        } else if self.may_probe_tail() && self.tail_probe_at() <= now {
            self.tail_probed = true;
            self.progress = now; // RFC 8985 section 7.3: the probe re-arms the RTO
            self.probe(1, out);
        } else {
            self.retransmission_timeout(now, prior_in_flight, out);
        }
        self.lost.clear();
        self.sent.forget_settled();
    }

    fn probe(&mut self, count: u32, out: &mut Outcome<T>) {
        self.probes = count;
        self.stats.timeouts += 1;
        out.probe = true;
    }

    /// RFC 6298 section 5: everything outstanding counts as lost.
    fn retransmission_timeout(&mut self, now: Time, prior_in_flight: u64, out: &mut Outcome<T>) {
        self.timeouts += 1;
        self.stats.timeouts += 1;
        self.progress = now;
        let all: Vec<_> = self.sent.in_flight().map(|(pn, _)| (pn, Detection::Timeout)).collect();
        self.lose(now, &all, prior_in_flight, out);
    }

    /// The payload a probe repeats when there is nothing new: the oldest in flight (QUIC), the newest (TCP's TLP).
    pub fn probe_payload(&self) -> Option<T> {
        let mut flying = self.sent.in_flight();
        let packet = match self.config.timeout {
            Timeout::Pto => flying.next(),
            Timeout::TlpRto => flying.next_back(),
        };
        packet.map(|(_, p)| p.data.clone())
    }

    /// Bytes in flight.
    pub fn bytes_in_flight(&self) -> u64 {
        self.bytes_in_flight
    }
    /// The sender cares for no acknowledgement below this packet number.
    pub fn least_unacked(&self) -> u64 {
        self.late.oldest().unwrap_or(u64::MAX).min(self.sent.base())
    }
    /// Round-trip time.
    pub fn rtt(&self) -> &Rtt {
        &self.rtt
    }
    /// The controller.
    pub fn controller(&self) -> &dyn Controller {
        self.controller.as_ref()
    }
    /// Counters since the start.
    pub fn stats(&self) -> &Stats {
        &self.stats
    }
    /// Bytes delivered since the start.
    pub fn delivered(&self) -> u64 {
        self.sampler.delivered()
    }
    /// In a recovery period.
    pub fn in_recovery(&self) -> bool {
        self.epoch.in_recovery()
    }
}

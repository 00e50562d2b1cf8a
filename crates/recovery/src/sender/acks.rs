//! Digesting acknowledgements: what they settle, the measurements they carry, what the controller is told.

use std::ops::Range;

use congestion::{Ack, AckedPacket, Cause};
use units::{Duration, Time};

use super::{Digest, Outcome, Sender};
use crate::config::{Exit, Timeout};
use crate::ecn::EcnCounts;
use crate::late::Verdict;
use crate::receiver::AckFrame;
use crate::sent::{Fate, Packet, Payload};
use crate::tcp::TcpAck;

/// What one ACK newly acknowledges.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tally {
    bytes: u64,
    /// The part of `bytes` that may open the window.
    pub(super) growth: u64,
    ecn: EcnCounts,
    app_limited: bool,
    /// Bytes that had been declared lost.
    late: u64,
    /// The window was full while one of these packets was in flight.
    window_filled: bool,
    /// The newest packet that is known to have arrived, and when it left.
    newest: Option<(u64, Time)>,
    /// When the oldest of them left that was no repeat.
    oldest: Option<Time>,
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
pub(super) struct Report<'a> {
    ack_delay: Duration,
    ecn: Option<&'a EcnCounts>,
    /// All stream bytes before this one have arrived (matters to [`Exit::NewrenoTcp`] alone).
    cumulative: u64,
    /// `SND.UNA` advances; in QUIC the oldest packet arrives, or any where there is no retransmission timer.
    advanced: bool,
    /// The packet that it answers: the newest, or the one that a TCP acknowledgement echoes.
    pub(super) answers: u64,
    is_tcp: bool,
    pub(super) prior_in_flight: u64,
    prior_largest: Option<u64>,
}

impl<T: Payload> Sender<T> {
    /// A QUIC ACK arrives. `waiting` is the smallest stream offset that is lost and not yet sent again, if any.
    pub fn on_ack(&mut self, now: Time, frame: &AckFrame, waiting: Option<u64>, out: &mut Outcome<T>) {
        out.clear();
        self.late.on_numbers();
        self.forget_late(now);
        let (prior_in_flight, prior_largest) = (self.bytes_in_flight, self.largest_acked);
        let (period, oldest) = (self.epoch.serial(), self.sent.base());
        let mut stamps = frame.timestamps.iter().peekable();
        let mut spans = std::mem::take(&mut out.digest.spans);
        self.seen.take(&frame.ranges, self.sent.next_pn(), &mut spans);
        for &(low, high) in &spans {
            self.late.take(low, high, &mut out.digest.late);
            for pn in low.max(self.sent.base())..=high {
                while stamps.next_if(|s| s.0 < pn).is_some() {}
                let received = stamps.peek().filter(|s| s.0 == pn).map(|s| s.1);
                self.settle(now, pn, received, Arrival::Certain, &mut out.digest);
            }
        }
        out.digest.spans = spans;
        if !out.digest.late.is_empty() {
            self.settle_late(now, out);
        }
        if !out.digest.acked.is_empty() || !out.late.is_empty() {
            let flies = self.sent.get(oldest).is_some_and(|p| p.fate == Fate::InFlight);
            let report = Report {
                ack_delay: frame.ack_delay,
                ecn: frame.ecn.as_ref(),
                cumulative: self.cumulative(waiting),
                advanced: !flies || self.config.timeout == Timeout::Pto,
                answers: out.digest.tally.newest.map_or(0, |n| n.0),
                is_tcp: false,
                prior_in_flight,
                prior_largest,
            };
            self.digest(now, &report, out);
        }
        if !out.digest.late.is_empty() {
            self.forgive_late(now, period, prior_largest, out);
        }
    }

    /// A TCP acknowledgement arrives.
    pub fn on_tcp_ack(&mut self, now: Time, ack: &TcpAck, out: &mut Outcome<T>) {
        out.clear();
        self.forget_late(now);
        let (prior_in_flight, prior_largest) = (self.bytes_in_flight, self.largest_acked);
        let period = self.epoch.serial();
        self.late.take_covered(ack, &mut out.digest.late);
        self.settle_covered(now, ack, out);
        if !out.digest.late.is_empty() {
            self.settle_late(now, out);
        }
        let advanced = ack.cumulative > self.unacknowledged || self.config.timeout == Timeout::Pto;
        self.unacknowledged = self.unacknowledged.max(ack.cumulative);
        if !out.digest.acked.is_empty() || !out.late.is_empty() {
            let report = Report {
                ack_delay: Duration::ZERO,
                ecn: ack.ecn.as_ref(),
                cumulative: ack.cumulative,
                advanced,
                answers: ack.echo,
                is_tcp: true,
                prior_in_flight,
                prior_largest,
            };
            self.digest(now, &report, out);
        }
        if !out.digest.late.is_empty() {
            self.forgive_late(now, period, prior_largest, out);
        }
    }

    /// What had been declared lost is delivered all the same.
    #[inline(never)]
    fn settle_late(&mut self, now: Time, out: &mut Outcome<T>) {
        out.digest.late.sort_by_key(|v| v.pn);
        for verdict in &out.digest.late {
            let Verdict { pn, sent, bytes, ecn, ref snapshot, ref data, .. } = *verdict;
            self.sampler.on_acked(now, pn, sent, bytes, snapshot);
            out.digest.tally.ecn.add(ecn);
            out.digest.tally.late += bytes;
            if self.largest_acked.is_none_or(|largest| pn > largest) {
                self.largest_acked = Some(pn);
                out.digest.tally.newest = Some((pn, sent));
            }
            out.late.push((pn, data.clone()));
        }
    }

    /// The peer answers a handshake, before any packet: the first sample of the RTT. The controller hears of it in an ACK that
    /// acknowledges nothing.
    pub fn on_handshake(&mut self, now: Time, rtt: Duration, out: &mut Outcome<T>) {
        out.clear();
        self.variance.sample(rtt, self.rtt.smoothed(), 0, 0);
        self.rtt.sample(now, rtt, Duration::ZERO);
        self.rack_rtt = rtt;
        self.first_rtt_sample.get_or_insert(now);
        out.rtt = Some(rtt);
        let report = Report {
            ack_delay: Duration::ZERO,
            ecn: None,
            cumulative: 0,
            advanced: false,
            answers: 0,
            is_tcp: false,
            prior_in_flight: 0,
            prior_largest: None,
        };
        self.tell_controller(now, 0, 0, false, &report, out);
    }

    /// Settles the packets whose payload a TCP acknowledgement covers.
    fn settle_covered(&mut self, now: Time, ack: &TcpAck, out: &mut Outcome<T>) {
        let mut covered = std::mem::take(&mut out.digest.covered);
        self.sent.covered(ack, &mut covered);
        for &pn in &covered {
            let Some(packet) = self.sent.get(pn) else { continue };
            let (arrival, start) = (self.arrival(now, pn, packet, ack.echo), packet.data.range().start);
            let sent = packet.sent;
            if !packet.repeat {
                out.digest.tally.oldest =
                    Some(out.digest.tally.oldest.map_or(sent, |oldest| oldest.min(sent)));
            } else {
                self.late.on_repeat_settled(start, arrival == Arrival::Unproven, &mut out.digest.late);
            }
            // The peer answers the repeat, and not as a duplicate: the original has not arrived. RFC 8985 section 7.4.
            if self.tail_repeat == Some((ack.echo, start)) && pn < ack.echo && !ack.duplicate {
                out.digest.tally.repaired = Some(pn);
            }
            let received = ack.timestamps.filter(|echoed| echoed.0 == pn).map(|echoed| echoed.1);
            self.settle(now, pn, received, arrival, &mut out.digest);
        }
        out.digest.covered = covered;
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
    #[inline(always)] // once for each packet: a call would cost 3 %
    fn settle(
        &mut self,
        now: Time,
        pn: u64,
        received: Option<i64>,
        arrival: Arrival,
        digest: &mut Digest<T>,
    ) {
        let Some(p) = self.sent.settle(pn, Fate::Acked) else { return };
        let (bytes, sent) = (p.bytes, p.sent);
        // Its bytes came with an earlier transmission that had been given up: they are not delivered twice.
        let start = p.data.range().start;
        let again = arrival == Arrival::Unproven && digest.late.iter().any(|v| v.data.range().start == start);
        if !again {
            self.sampler.on_acked(now, pn, sent, bytes, &p.snapshot);
        }
        if arrival == Arrival::Certain {
            digest.tally.ecn.add(p.ecn);
        }
        digest.tally.app_limited = p.snapshot.app_limited;
        let before_reduction = self.epoch.forbids_growth(pn);
        let filled = pn < self.window_filled;
        digest.tally.window_filled |= filled;
        self.bytes_in_flight -= bytes;
        digest.tally.bytes += bytes;
        if !before_reduction && (filled || !p.snapshot.app_limited) {
            digest.tally.growth += bytes;
        }
        if arrival != Arrival::Unproven {
            self.advance(pn);
            digest.tally.newest = Some((pn, sent));
        }
        self.stats.acked += 1;
        let sent = if self.clock_unit.0 > 1 { Time(sent.0 - sent.0 % self.clock_unit.0) } else { sent };
        digest.acked.push(AckedPacket { pn, bytes, sent, received, before_reduction });
    }

    /// This packet has arrived: what left before it may be missing.
    fn advance(&mut self, pn: u64) {
        if self.largest_acked.is_some_and(|largest| pn < largest) {
            self.reordering.on_reordered();
        }
        self.largest_acked = self.largest_acked.max(Some(pn));
    }

    fn digest(&mut self, now: Time, report: &Report, out: &mut Outcome<T>) {
        let raised = self.largest_acked > report.prior_largest;
        let newest = out.digest.tally.newest.map_or(0, |n| n.0);
        self.measure(now, raised, report, out);
        let ce = if raised { self.ecn.on_ack(&out.digest.tally.ecn, report.ecn) } else { 0 };
        let round_start = newest >= self.round_end;
        if round_start {
            self.round += 1;
            self.round_end = self.sent.next_pn();
        }
        // RFC 6298 section 5.3: a retransmission timer waits for the oldest packet, whatever else arrives.
        if report.advanced {
            self.progress = now;
            self.timeouts = 0;
            // RFC 8985 section 7.3: one probe at a time, until what had left by then has arrived (`tlp_high_seq` in Linux).
            self.tail_probed &= report.is_tcp && self.unacknowledged < self.tail_end;
        }
        self.probes = 0;

        if let Some(suspicion) = self.suspicion.take() {
            self.judge_timeout(now, suspicion, report, out);
        }
        self.detect_losses(now, report.prior_in_flight, out);
        self.answer_marks_and_repairs(now, newest, ce, report.prior_in_flight, out);
        if self.epoch.try_exit(newest, report.cumulative) {
            self.reordering.on_recovered();
            self.prr = None;
        }
        self.tell_controller(now, newest, ce, round_start, report, out);
        if let Some(prr) = &mut self.prr {
            prr.on_ack(
                out.digest.tally.bytes + out.digest.tally.late,
                self.bytes_in_flight,
                report.advanced && out.digest.lost.is_empty(),
            );
        }
        self.sent.forget_settled();
    }

    /// RTT of the newest packet. A sample for the estimator if it raises the largest acknowledged (RFC 9002
    /// section 5.1); RACK takes every one. TCP measures the mean on the oldest packet (RFC 7323 section 4).
    fn measure(&mut self, now: Time, raised: bool, report: &Report, out: &mut Outcome<T>) {
        let Some((_, sent)) = out.digest.tally.newest else { return };
        let latest = now - sent;
        self.rack_rtt = latest;
        if !raised {
            return;
        }
        if report.is_tcp {
            let oldest = now - out.digest.tally.oldest.unwrap_or(sent);
            let (smoothed, edge) = (self.rtt.smoothed(), self.sent.edge());
            self.variance.sample(oldest, smoothed, self.unacknowledged, edge);
            self.rtt.sample_apart(now, latest, oldest);
        } else {
            self.rtt.sample(now, latest, report.ack_delay.min(self.config.max_ack_delay));
        }
        self.first_rtt_sample.get_or_insert(now);
        out.rtt = Some(latest);
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
        if let Some(pn) = out.digest.tally.repaired {
            if !self.epoch.covers(pn) {
                self.reduce(now, Cause::Loss, prior, out);
            }
            self.epoch.forbid_undo();
        }
    }

    #[inline(always)] // once for each ACK; the other caller is there once for each connection
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
            packets: &out.digest.acked,
            acked: out.digest.tally.bytes,
            late: out.digest.tally.late,
            growth: out.digest.tally.growth,
            lost: out.digest.lost.iter().map(|l| l.bytes).sum(),
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
            app_limited: out.digest.tally.app_limited,
            cwnd_limited: out.digest.tally.window_filled,
        });
        // Whatever the controller asks, one reduction per round trip.
        if let Some(cause) = asked.filter(|_| !self.epoch.covers(newest)) {
            self.reduce(now, cause, report.prior_in_flight, out);
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
}

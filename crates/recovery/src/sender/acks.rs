//! Processing acknowledgements: which packets they take out of flight, what they measure, what the controller is told.

use std::ops::Range;

use congestion::Cause;
use units::{Duration, Time};

use crate::ack::{AckFrame, TcpAck};
use crate::feed::{AckDetails, Exit, Left};
use crate::sender::config::Timeout;
use crate::sender::effects::{AckContext, AckEffects, Scratch};
use crate::sender::late::Verdict;
use crate::sender::sending::Sender;
use crate::sender::sent_packets::{Fate, Packet, Payload};

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

impl<T: Payload> Sender<T> {
    /// A QUIC ACK arrives. `waiting` is the smallest stream offset that is lost and not yet sent again, if any.
    pub fn on_ack(&mut self, now: Time, frame: &AckFrame, waiting: Option<u64>, out: &mut AckEffects<T>) {
        out.clear();
        self.late.on_numbers();
        self.forget_late(now);
        let (prior_in_flight, prior_largest) = (self.books.bytes_in_flight, self.largest_acked);
        let (period, oldest) = (self.books.period.serial(), self.sent.base());
        let mut stamps = frame.timestamps.iter().peekable();
        let mut spans = std::mem::take(&mut out.scratch.spans);
        self.acked.take(&frame.ranges, self.sent.next_pn(), &mut spans);
        for &(low, high) in &spans {
            self.late.take(low, high, &mut out.scratch.late);
            for pn in low.max(self.sent.base())..=high {
                while stamps.next_if(|s| s.0 < pn).is_some() {}
                let received = stamps.peek().filter(|s| s.0 == pn).map(|s| s.1);
                self.mark_acked(now, pn, received, Arrival::Certain, &mut out.scratch);
            }
        }
        out.scratch.spans = spans;
        if !out.scratch.late.is_empty() {
            self.mark_late(now, out);
        }
        if !out.scratch.batch.acked.is_empty() || !out.late.is_empty() {
            let flies = self.sent.get(oldest).is_some_and(|p| p.fate == Fate::InFlight);
            let context = AckContext {
                ack_delay: frame.ack_delay,
                ecn: frame.ecn.as_ref(),
                cumulative: self.cumulative(waiting),
                advanced: !flies || self.config.timeout == Timeout::Pto,
                answers: out.scratch.batch.summary.newest_pn(),
                is_tcp: false,
                prior_in_flight,
                prior_largest,
            };
            self.process_ack(now, &context, out);
        }
        if !out.scratch.late.is_empty() {
            self.forgive_late(now, period, prior_largest, out);
        }
        self.ask_controller();
    }

    /// A TCP acknowledgement arrives.
    pub fn on_tcp_ack(&mut self, now: Time, ack: &TcpAck, out: &mut AckEffects<T>) {
        out.clear();
        self.forget_late(now);
        let (prior_in_flight, prior_largest) = (self.books.bytes_in_flight, self.largest_acked);
        let period = self.books.period.serial();
        self.late.take_covered(ack, &mut out.scratch.late);
        self.mark_covered(now, ack, out);
        if !out.scratch.late.is_empty() {
            self.mark_late(now, out);
        }
        let advanced = ack.cumulative > self.unacknowledged || self.config.timeout == Timeout::Pto;
        self.unacknowledged = self.unacknowledged.max(ack.cumulative);
        if !out.scratch.batch.acked.is_empty() || !out.late.is_empty() {
            let context = AckContext {
                ack_delay: Duration::ZERO,
                ecn: ack.ecn.as_ref(),
                cumulative: ack.cumulative,
                advanced,
                answers: ack.echo,
                is_tcp: true,
                prior_in_flight,
                prior_largest,
            };
            self.process_ack(now, &context, out);
        }
        if !out.scratch.late.is_empty() {
            self.forgive_late(now, period, prior_largest, out);
        }
        self.ask_controller();
    }

    /// What had been declared lost is delivered all the same.
    #[inline(never)]
    fn mark_late(&mut self, now: Time, out: &mut AckEffects<T>) {
        out.scratch.late.sort_by_key(|v| v.pn);
        for verdict in &out.scratch.late {
            let Verdict { pn, sent, bytes, app_limited, ecn, ref snapshot, ref data, .. } = *verdict;
            let left = Left { pn, sent, bytes, app_limited, snapshot: snapshot.as_ref() };
            self.books.mark_late(now, left, &mut out.scratch.batch);
            out.scratch.ecn.add(ecn);
            if self.largest_acked.is_none_or(|largest| pn > largest) {
                self.largest_acked = Some(pn);
                out.scratch.batch.summary.newest = Some((pn, sent));
            }
            out.late.push((pn, data.clone()));
        }
    }

    /// The peer answers a handshake, before any packet: the first sample of the RTT. The controller is told of it in an ACK that
    /// acknowledges nothing.
    pub fn on_handshake(&mut self, now: Time, rtt: Duration, out: &mut AckEffects<T>) {
        out.clear();
        self.variance.sample(rtt, self.rtt.smoothed(), 0, 0);
        self.rtt.sample(now, rtt, Duration::ZERO);
        self.rack_rtt = rtt;
        self.first_rtt_sample.get_or_insert(now);
        out.rtt = Some(rtt);
        let context = AckContext {
            ack_delay: Duration::ZERO,
            ecn: None,
            cumulative: 0,
            advanced: false,
            answers: 0,
            is_tcp: false,
            prior_in_flight: 0,
            prior_largest: None,
        };
        self.tell_controller(now, 0, false, &context, out);
        self.ask_controller();
    }

    /// Marks the packets as acknowledged whose payload a TCP acknowledgement covers.
    fn mark_covered(&mut self, now: Time, ack: &TcpAck, out: &mut AckEffects<T>) {
        let mut covered = std::mem::take(&mut out.scratch.covered);
        self.sent.covered(ack, &mut covered);
        for &pn in &covered {
            let Some(packet) = self.sent.get(pn) else { continue };
            let (arrival, start) = (self.arrival(now, pn, packet, ack.echo), packet.data.range().start);
            let sent = packet.sent;
            if !packet.repeat {
                out.scratch.oldest = Some(out.scratch.oldest.map_or(sent, |oldest| oldest.min(sent)));
            } else {
                self.late.on_repeat_acked(start, arrival == Arrival::Unproven, &mut out.scratch.late);
            }
            // The peer answers the repeat, and not as a duplicate: the original has not arrived. RFC 8985 section 7.4.
            if self.tail_repeat == Some((ack.echo, start)) && pn < ack.echo && !ack.duplicate {
                out.scratch.repaired = Some(pn);
            }
            let received = ack.timestamps.filter(|echoed| echoed.0 == pn).map(|echoed| echoed.1);
            self.mark_acked(now, pn, received, arrival, &mut out.scratch);
        }
        out.scratch.covered = covered;
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

    /// Takes one packet out of flight as acknowledged, unless it has been acknowledged or lost already.
    #[inline(always)] // once for each packet: a call would cost 3 %
    fn mark_acked(
        &mut self,
        now: Time,
        pn: u64,
        received: Option<i64>,
        arrival: Arrival,
        scratch: &mut Scratch<T>,
    ) {
        let Some((p, packet)) = self.sent.resolve(pn, Fate::Acked) else { return };
        // Its bytes came with an earlier transmission that had been given up: they are not delivered twice.
        let start = p.data.range().start;
        let again =
            arrival == Arrival::Unproven && scratch.late.iter().any(|v| v.data.range().start == start);
        self.books.mark_acked(now, packet, received, !again, &mut scratch.batch);
        if arrival == Arrival::Certain {
            scratch.ecn.add(p.ecn);
        }
        if arrival != Arrival::Unproven {
            scratch.batch.summary.newest = Some((pn, p.sent));
            self.advance(pn);
        }
        self.stats.acked += 1;
    }

    /// This packet has arrived: what left before it may be missing.
    fn advance(&mut self, pn: u64) {
        if self.largest_acked.is_some_and(|largest| pn < largest) {
            self.reordering.on_reordered();
        }
        self.largest_acked = self.largest_acked.max(Some(pn));
    }

    fn process_ack(&mut self, now: Time, context: &AckContext, out: &mut AckEffects<T>) {
        let raised = self.largest_acked > context.prior_largest;
        let newest = out.scratch.batch.summary.newest_pn();
        self.measure(now, raised, context, out);
        let ce = if raised { self.ecn.on_ack(&out.scratch.ecn, context.ecn) } else { 0 };
        let round_start = self.books.ends_round(newest, self.sent.next_pn());
        // RFC 6298 section 5.3: a retransmission timer waits for the oldest packet, whatever else arrives.
        if context.advanced {
            self.progress = now;
            self.timeouts = 0;
            // RFC 8985 section 7.3: one probe at a time, until what had left by then has arrived (`tlp_high_seq` in Linux).
            self.tail_probed &= context.is_tcp && self.unacknowledged < self.tail_end;
        }
        self.probes = 0;

        if let Some(suspicion) = self.suspicion.take() {
            self.judge_timeout(now, suspicion, context, out);
        }
        self.detect_losses(now, context.prior_in_flight, out);
        self.answer_marks_and_repairs(now, newest, ce, context.prior_in_flight, out);
        if self.books.period.try_exit(newest, context.cumulative) {
            self.reordering.on_recovered();
            self.prr = None;
        }
        self.tell_controller(now, ce, round_start, context, out);
        if let Some(prr) = &mut self.prr {
            prr.on_ack(
                out.scratch.batch.summary.bytes + out.scratch.batch.summary.late,
                self.books.bytes_in_flight,
                context.advanced && out.scratch.batch.lost.is_empty(),
            );
        }
        self.sent.forget_resolved();
    }

    /// RTT of the newest packet. A sample for the estimator if it raises the largest acknowledged (RFC 9002
    /// section 5.1); RACK takes every one. TCP measures the mean on the oldest packet (RFC 7323 section 4).
    fn measure(&mut self, now: Time, raised: bool, context: &AckContext, out: &mut AckEffects<T>) {
        let Some((_, sent)) = out.scratch.batch.summary.newest else { return };
        let latest = now - sent;
        self.rack_rtt = latest;
        if !raised {
            return;
        }
        if context.is_tcp {
            let oldest = now - out.scratch.oldest.unwrap_or(sent);
            let (smoothed, edge) = (self.rtt.smoothed(), self.sent.edge());
            self.variance.sample(oldest, smoothed, self.unacknowledged, edge);
            self.rtt.sample_apart(now, latest, oldest);
        } else {
            self.rtt.sample(now, latest, context.ack_delay.min(self.config.max_ack_delay));
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
        out: &mut AckEffects<T>,
    ) {
        if ce > 0 {
            if !self.books.period.covers(newest) {
                self.reduce(now, Cause::Ecn, prior, out);
            }
            self.books.period.forbid_undo();
        }
        if let Some(pn) = out.scratch.repaired {
            if !self.books.period.covers(pn) {
                self.reduce(now, Cause::Loss, prior, out);
            }
            self.books.period.forbid_undo();
        }
    }

    #[inline(always)] // once for each ACK; the other caller is there once for each connection
    fn tell_controller(
        &mut self,
        now: Time,
        ce: u64,
        round_start: bool,
        context: &AckContext,
        out: &mut AckEffects<T>,
    ) {
        let (ack_delay, prior_in_flight) = (context.ack_delay, context.prior_in_flight);
        let details =
            AckDetails { ack_delay, ce, round_start, prior_in_flight, rtt: self.rtt_estimate(out.rtt) };
        // Whatever the controller asks, one reduction per round trip.
        if let Some(cause) = self.books.tell_ack(now, &details, &out.scratch.batch) {
            self.reduce(now, cause, prior_in_flight, out);
        }
    }

    /// All stream bytes before this one have arrived: as far as the recovery period wants to know.
    fn cumulative(&self, waiting: Option<u64>) -> u64 {
        let until = self.books.period.until_offset();
        if self.config.exit == Exit::Quic
            || !self.books.period.in_recovery()
            || waiting.is_some_and(|w| w < until)
        {
            return 0;
        }
        let missing = |range: Range<u64>| range.start < until && !range.is_empty();
        if self.sent.in_flight().any(|(_, p)| missing(p.data.range())) { 0 } else { until }
    }
}

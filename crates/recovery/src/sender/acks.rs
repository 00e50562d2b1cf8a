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
use crate::sender::sent_packets::{Fate, Kind, Packet, Payload};

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
        self.space.late.on_numbers();
        self.forget_late(now);
        let (prior_in_flight, prior_largest) = (self.books.bytes_in_flight, self.space.largest_acked);
        let (period, oldest) = (self.books.period.serial(), self.space.sent.base());
        let is_plain = self.space.sent.numbers.is_plain();
        if is_plain {
            self.mark_named::<true>(now, frame, out);
        } else {
            self.mark_named_mixed(now, frame, out);
        }
        if !out.scratch.late.is_empty() {
            self.mark_late(now, out);
        }
        if !out.scratch.batch.acked.is_empty() || !out.late.is_empty() {
            let flies = self.space.sent.get(oldest).is_some_and(|p| p.fate == Fate::InFlight);
            let context = AckContext {
                ack_delay: frame.ack_delay,
                ecn: frame.ecn.as_ref(),
                cumulative: self.cumulative(waiting),
                advanced: !flies || self.config.timeout == Timeout::Pto,
                answers: out.scratch.batch.summary.newest_pn(),
                is_tcp: false,
                samples: is_plain || self.samples(frame, &out.scratch),
                prior_in_flight,
                prior_largest,
            };
            self.process_ack(now, &context, out);
        } else if out.scratch.aside {
            self.settle(now, out);
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
        let (prior_in_flight, prior_largest) = (self.books.bytes_in_flight, self.space.largest_acked);
        let period = self.books.period.serial();
        self.space.late.take_covered(ack, &mut out.scratch.late);
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
                samples: true,
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

    /// Marks what the ACK newly acknowledges. `PLAIN`: slots, numbers and serials are the same.
    #[inline(always)] // once each
    fn mark_named<const PLAIN: bool>(&mut self, now: Time, frame: &AckFrame, out: &mut AckEffects<T>) {
        let mut stamps = frame.timestamps.iter().peekable();
        let mut spans = std::mem::take(&mut out.scratch.spans);
        self.space.acked.take(&frame.ranges, self.space.sent.next_number(), &mut spans);
        for &(low, high) in &spans {
            self.space.late.take(low, high, &mut out.scratch.late);
            let sent = &self.space.sent;
            let slots = if PLAIN { low.max(sent.base())..high + 1 } else { sent.slots(low, high) };
            for slot in slots {
                let (pn, serial) = if PLAIN { (slot, slot) } else { self.space.sent.numbers.names(slot) };
                while stamps.next_if(|s| s.0 < pn).is_some() {}
                let received = stamps.peek().filter(|s| s.0 == pn).map(|s| s.1);
                self.mark_acked::<PLAIN>(now, (slot, pn, serial), received, Arrival::Certain, out);
            }
        }
        out.scratch.spans = spans;
    }

    /// The same where there are several spaces or paths, or not every packet is in flight.
    #[inline(never)]
    fn mark_named_mixed(&mut self, now: Time, frame: &AckFrame, out: &mut AckEffects<T>) {
        self.mark_named::<false>(now, frame, out);
        self.note_largest(frame, &mut out.scratch);
    }

    /// Where packets are not in flight, the largest number that is acknowledged may be theirs: what left before it may be missing.
    #[inline(never)]
    fn note_largest(&mut self, frame: &AckFrame, scratch: &mut Scratch<T>) {
        let newest = self.space.sent.next_number().checked_sub(1);
        let largest = frame.ranges.last().map(|range| range.1).min(newest);
        if largest > self.space.largest_acked {
            self.space.largest_acked = largest;
            scratch.aside = true;
        }
    }

    /// RFC 9002 section 5.1: the largest packet that an ACK names is newly acknowledged, and elicits one. When a packet left that is not in
    /// flight nobody knows: if it is the largest, there is no sample. Deviation: nor if the largest alone elicits nothing.
    fn samples(&self, frame: &AckFrame, scratch: &Scratch<T>) -> bool {
        let sent = &self.space.sent;
        let largest = frame.ranges.last().map_or(0, |range| range.1);
        let newest = scratch.batch.summary.newest.map(|newest| newest.0);
        sent.slots(largest, largest).next().is_some_and(|slot| {
            newest == Some(sent.numbers.serial(slot))
                && sent.get(slot).is_some_and(|p| p.kind != Kind::Padding)
        })
    }

    /// An ACK of nothing that the controller is to hear of: of packets that are not in flight, or of another path.
    #[inline(never)]
    fn settle(&mut self, now: Time, out: &mut AckEffects<T>) {
        if self.resets_backoff() {
            self.timeouts = 0;
        }
        self.detect_losses(now, self.books.bytes_in_flight, out);
        self.space.sent.forget_resolved();
    }

    /// What had been declared lost is delivered all the same.
    #[inline(never)]
    fn mark_late(&mut self, now: Time, out: &mut AckEffects<T>) {
        out.scratch.late.sort_by_key(|v| v.pn);
        for verdict in &out.scratch.late {
            let Verdict { pn, serial, sent, bytes, app_limited, ecn, ref snapshot, ref data, .. } = *verdict;
            let left = Left { pn: serial, sent, bytes, app_limited, snapshot: snapshot.as_ref() };
            self.books.mark_late(now, left, &mut out.scratch.batch);
            out.scratch.ecn.add(ecn);
            if self.space.largest_acked.is_none_or(|largest| pn > largest) {
                self.space.largest_acked = Some(pn);
                out.scratch.batch.summary.newest = Some((serial, sent));
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
            samples: false,
            prior_in_flight: 0,
            prior_largest: None,
        };
        self.tell_controller(now, 0, false, &context, out);
        self.ask_controller();
    }

    /// Marks the packets as acknowledged whose payload a TCP acknowledgement covers.
    fn mark_covered(&mut self, now: Time, ack: &TcpAck, out: &mut AckEffects<T>) {
        let mut covered = std::mem::take(&mut out.scratch.covered);
        self.space.sent.covered(ack, &mut covered);
        for &pn in &covered {
            let Some(packet) = self.space.sent.get(pn) else { continue };
            let (arrival, start) = (self.arrival(now, pn, packet, ack.echo), packet.data.range().start);
            let sent = packet.sent;
            if !packet.is_repeat() {
                out.scratch.oldest = Some(out.scratch.oldest.map_or(sent, |oldest| oldest.min(sent)));
            } else {
                self.space.late.on_repeat_acked(start, arrival == Arrival::Unproven, &mut out.scratch.late);
            }
            // The peer answers the repeat, and not as a duplicate: the original has not arrived. RFC 8985 section 7.4.
            if self.tail_repeat == Some((ack.echo, start)) && pn < ack.echo && !ack.duplicate {
                out.scratch.repaired = Some(pn);
            }
            let received = ack.timestamps.filter(|echoed| echoed.0 == pn).map(|echoed| echoed.1);
            self.mark_acked::<true>(now, (pn, pn, pn), received, arrival, out);
        }
        out.scratch.covered = covered;
    }

    /// RFC 8985 section 6.2 step 2: the original may have arrived although its repeat is what still flies.
    fn arrival(&self, now: Time, pn: u64, packet: &Packet<T>, echo: u64) -> Arrival {
        if pn == echo {
            Arrival::Certain
        } else if !packet.is_repeat() || (pn < echo && now - packet.sent >= self.rtt.min()) {
            Arrival::Likely
        } else {
            Arrival::Unproven
        }
    }

    /// Takes one packet out of flight as acknowledged, that of this slot, number and serial, unless it has been acknowledged or lost
    /// already.
    #[inline(always)] // once for each packet: a call would cost 3 %
    fn mark_acked<const PLAIN: bool>(
        &mut self,
        now: Time,
        (slot, number, serial): (u64, u64, u64),
        received: Option<i64>,
        arrival: Arrival,
        out: &mut AckEffects<T>,
    ) {
        let Some((p, packet)) = self.space.sent.resolve(slot, Fate::Acked) else { return };
        let packet = Left { pn: serial, ..packet };
        self.stats.acked += 1;
        if out.keeps_acked {
            out.acked.push((number, p.data.clone()));
        }
        let scratch = &mut out.scratch;
        if !PLAIN && serial < self.path_since {
            scratch.aside = true; // it tells nothing of this path
            return self.advance(number);
        }
        // Its bytes came with an earlier transmission that had been given up: they are not delivered twice.
        let start = p.data.range().start;
        let again =
            arrival == Arrival::Unproven && scratch.late.iter().any(|v| v.data.range().start == start);
        self.books.mark_acked(now, packet, received, !again, &mut scratch.batch);
        if arrival == Arrival::Certain {
            scratch.ecn.add(p.ecn);
        }
        if arrival != Arrival::Unproven {
            scratch.batch.summary.newest = Some((serial, p.sent));
            self.advance(number);
        }
    }

    /// This packet has arrived: what left before it may be missing.
    fn advance(&mut self, pn: u64) {
        if self.space.largest_acked.is_some_and(|largest| pn < largest) {
            self.reordering.on_reordered();
        }
        self.space.largest_acked = self.space.largest_acked.max(Some(pn));
    }

    fn process_ack(&mut self, now: Time, context: &AckContext, out: &mut AckEffects<T>) {
        let raised = self.space.largest_acked > context.prior_largest;
        let newest = out.scratch.batch.summary.newest_pn();
        self.measure(now, raised, context, out);
        let ce = if raised { self.ecn.on_ack(&mut self.space.ecn, &out.scratch.ecn, context.ecn) } else { 0 };
        let round_start = self.books.ends_round(newest, self.serial);
        // RFC 6298 section 5.3: a retransmission timer waits for the oldest packet, whatever else arrives.
        if context.advanced {
            self.progress = now;
            self.timeouts = if self.resets_backoff() { 0 } else { self.timeouts };
            // RFC 8985 section 7.3: one probe at a time, until what had left by then has arrived (`tlp_high_seq` in Linux).
            self.tail_probed &= context.is_tcp && self.unacknowledged < self.tail_end;
        }
        self.probes = 0;
        self.books.period.answered();

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
        self.space.sent.forget_resolved();
    }

    /// RTT of the newest packet. A sample for the estimator if it raises the largest acknowledged (RFC 9002
    /// section 5.1); RACK takes every one. TCP measures the mean on the oldest packet (RFC 7323 section 4).
    fn measure(&mut self, now: Time, raised: bool, context: &AckContext, out: &mut AckEffects<T>) {
        let Some((_, sent)) = out.scratch.batch.summary.newest else { return };
        let latest = now - sent;
        self.rack_rtt = latest;
        if !raised || !context.samples {
            return;
        }
        if context.is_tcp {
            let oldest = now - out.scratch.oldest.unwrap_or(sent);
            let (smoothed, edge) = (self.rtt.smoothed(), self.space.sent.edge());
            self.variance.sample(oldest, smoothed, self.unacknowledged, edge);
            self.rtt.sample_apart(now, latest, oldest);
        } else {
            self.rtt.sample(now, latest, context.ack_delay.min(self.longest_ack_delay()));
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
        if self.space.sent.in_flight().any(|(_, p)| missing(p.data.range())) { 0 } else { until }
    }
}

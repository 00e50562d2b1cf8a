//! Processing of acknowledgements: packets acknowledged, RTT samples, losses, and the report to the
//! controller.

use std::ops::Range;

use congestion::Cause;
use units::{Duration, Time};

use crate::ack::{AckFrame, TcpAck};
use crate::feed::{AckDetails, Exit, SentPacket};
use crate::sender::config::Timeout;
use crate::sender::effects::{AckContext, AckEffects, Scratch};
use crate::sender::late::DeclaredLost;
use crate::sender::sending::Sender;
use crate::sender::sent_packets::{Kind, Packet, Payload, Status};

/// Evidence that an acknowledgement gives for the arrival of a packet it removes from flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Arrival {
    /// The packet itself has arrived.
    Certain,
    /// The payload has arrived, probably in this packet. ECN counts may not include the packet.
    Likely,
    /// The payload has arrived in an earlier transmission.
    Unproven,
}

impl<T: Payload> Sender<T> {
    /// Processes a QUIC ACK. `waiting` is the smallest stream offset that is lost and not yet sent
    /// again, if there is one.
    pub fn on_ack(&mut self, now: Time, frame: &AckFrame, waiting: Option<u64>, out: &mut AckEffects<T>) {
        out.clear();
        self.space.late.on_quic_ack();
        self.forget_late(now);
        let (prior_in_flight, prior_largest) = (self.accounting.bytes_in_flight, self.space.largest_acked);
        let (period, oldest) = (self.accounting.period.serial(), self.space.sent.base());
        let is_plain = self.space.sent.numbers.is_plain();
        if is_plain {
            self.mark_ranges::<true>(now, frame, out);
        } else {
            self.mark_ranges_sparse(now, frame, out);
        }
        if !out.scratch.late.is_empty() {
            self.mark_late(now, out);
        }
        if !out.scratch.batch.acked.is_empty() || !out.late.is_empty() {
            let flies = self.space.sent.get(oldest).is_some_and(|p| p.status == Status::InFlight);
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
        } else if out.scratch.unreported {
            self.on_empty_ack(now, out);
        }
        if !out.scratch.late.is_empty() {
            self.undo_if_spurious(now, period, prior_largest, out);
        }
        self.refresh_control();
    }

    /// Processes a TCP acknowledgement.
    pub fn on_tcp_ack(&mut self, now: Time, ack: &TcpAck, out: &mut AckEffects<T>) {
        out.clear();
        self.forget_late(now);
        let bare = (!self.config.sack).then(|| TcpAck { sacks: Default::default(), ..*ack });
        let ack = bare.as_ref().unwrap_or(ack);
        let (prior_in_flight, prior_largest) = (self.accounting.bytes_in_flight, self.space.largest_acked);
        let period = self.accounting.period.serial();
        self.space.late.take_covered(ack, &mut out.scratch.late);
        self.mark_covered(now, ack, out);
        if !out.scratch.late.is_empty() {
            self.mark_late(now, out);
        }
        let duplicate =
            !self.config.sack && self.count_duplicate(ack.cumulative, out.scratch.batch.acked.len());
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
        } else if duplicate {
            self.detect_by_duplicates(now, prior_in_flight, out);
        }
        if !out.scratch.late.is_empty() {
            self.undo_if_spurious(now, period, prior_largest, out);
        }
        self.refresh_control();
    }

    /// Marks the packets that the ACK newly acknowledges. `PLAIN`: slots, numbers and serials are
    /// equal.
    #[inline(always)] // one caller per variant
    fn mark_ranges<const PLAIN: bool>(&mut self, now: Time, frame: &AckFrame, out: &mut AckEffects<T>) {
        let mut stamps = frame.timestamps.iter().peekable();
        let mut spans = std::mem::take(&mut out.scratch.spans);
        self.space.acked.update(&frame.ranges, self.space.sent.next_number(), &mut spans);
        for &(low, high) in &spans {
            self.space.late.take(low, high, &mut out.scratch.late);
            let sent = &self.space.sent;
            let slots = if PLAIN { low.max(sent.base())..high + 1 } else { sent.slots(low, high) };
            for slot in slots {
                let (pn, serial) =
                    if PLAIN { (slot, slot) } else { self.space.sent.numbers.number_and_serial(slot) };
                while stamps.next_if(|s| s.0 < pn).is_some() {}
                let received = stamps.peek().filter(|s| s.0 == pn).map(|s| s.1);
                self.mark_acked::<PLAIN>(now, (slot, pn, serial), received, Arrival::Certain, out);
            }
        }
        out.scratch.spans = spans;
    }

    /// Like `mark_ranges`, for several spaces or paths, or if not every packet is in flight.
    #[inline(never)]
    fn mark_ranges_sparse(&mut self, now: Time, frame: &AckFrame, out: &mut AckEffects<T>) {
        self.mark_ranges::<false>(now, frame, out);
        self.note_largest(frame, &mut out.scratch);
    }

    /// Updates the largest acknowledged number. It may belong to a packet that was not in flight;
    /// even so, earlier packets may be missing.
    #[inline(never)]
    fn note_largest(&mut self, frame: &AckFrame, scratch: &mut Scratch<T>) {
        let newest = self.space.sent.next_number().checked_sub(1);
        let largest = frame.ranges.last().map(|range| range.1).min(newest);
        if largest > self.space.largest_acked {
            self.space.largest_acked = largest;
            scratch.unreported = true;
        }
    }

    /// Reports whether the ACK yields an RTT sample. By RFC 9002 section 5.1 it does if its largest
    /// packet is newly acknowledged and the ACK newly acknowledges an ACK-eliciting packet.
    ///
    /// The send times of packets that are not in flight are not kept, so there is no sample if the
    /// largest is one of them. Deviation: there is also none if only the largest does not elicit an
    /// ACK.
    fn samples(&self, frame: &AckFrame, scratch: &Scratch<T>) -> bool {
        let sent = &self.space.sent;
        let largest = frame.ranges.last().map_or(0, |range| range.1);
        let newest = scratch.batch.summary.newest.map(|newest| newest.0);
        sent.slots(largest, largest).next().is_some_and(|slot| {
            newest == Some(sent.numbers.serial(slot))
                && sent.get(slot).is_some_and(|p| p.kind != Kind::Padding)
        })
    }

    /// Processes an ACK of packets that the controller does not hear of: not in flight, or sent on
    /// another path.
    #[inline(never)]
    fn on_empty_ack(&mut self, now: Time, out: &mut AckEffects<T>) {
        if self.resets_backoff() {
            self.timeouts.reset_backoff();
        }
        self.detect_losses(now, self.accounting.bytes_in_flight, out);
        self.space.sent.forget_resolved();
    }

    /// Counts packets that were declared lost as delivered.
    #[inline(never)]
    fn mark_late(&mut self, now: Time, out: &mut AckEffects<T>) {
        out.scratch.late.sort_by_key(|v| v.pn);
        for declared in &out.scratch.late {
            let DeclaredLost { pn, serial, sent, bytes, app_limited, ecn, ref snapshot, ref data, .. } =
                *declared;
            let left = SentPacket { pn: serial, sent, bytes, app_limited, snapshot: snapshot.as_ref() };
            self.accounting.mark_late(now, left, &mut out.scratch.batch);
            out.scratch.ecn.add(ecn);
            if self.space.largest_acked.is_none_or(|largest| pn > largest) {
                self.space.largest_acked = Some(pn);
                out.scratch.batch.summary.newest = Some((serial, sent));
            }
            out.late.push((pn, data.clone()));
        }
    }

    /// Takes the first RTT sample from the handshake, before any packet. The controller receives it
    /// in an ACK that acknowledges nothing.
    pub fn on_handshake(&mut self, now: Time, rtt: Duration, out: &mut AckEffects<T>) {
        out.clear();
        self.round_trip.sample_handshake(now, rtt);
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
        self.report_ack(now, 0, false, &context, out);
        self.refresh_control();
    }

    /// Marks packets as acknowledged if a TCP acknowledgement covers their payload.
    fn mark_covered(&mut self, now: Time, ack: &TcpAck, out: &mut AckEffects<T>) {
        let mut covered = std::mem::take(&mut out.scratch.covered);
        self.space.sent.covered(ack, &mut covered);
        for &pn in &covered {
            let Some(packet) = self.space.sent.get(pn) else { continue };
            let (arrival, start) = (self.arrival(now, pn, packet, ack.echo), packet.data.range().start);
            let sent = packet.sent;
            if packet.is_repeat() {
                self.space.late.on_repeat_acked(start, arrival == Arrival::Unproven, &mut out.scratch.late);
            } else if arrival != Arrival::Unproven {
                out.scratch.oldest = Some(out.scratch.oldest.map_or(sent, |oldest| oldest.min(sent)));
            }
            // The peer acknowledges the repeat, and not as a duplicate, so the original has not
            // arrived. RFC 8985 section 7.4.
            if self.tail_probe.repeats(ack.echo, start) && pn < ack.echo && !ack.duplicate {
                out.scratch.repaired = Some(pn);
            }
            let received = ack.timestamps.filter(|echoed| echoed.0 == pn).map(|echoed| echoed.1);
            self.mark_acked::<true>(now, (pn, pn, pn), received, arrival, out);
        }
        out.scratch.covered = covered;
    }

    /// Returns the evidence that a packet arrived. The original may have arrived although the
    /// repeat is in flight (RFC 8985 section 6.2 step 2).
    fn arrival(&self, now: Time, pn: u64, packet: &Packet<T>, echo: u64) -> Arrival {
        if pn == echo {
            Arrival::Certain
        } else if !self.config.sack && !packet.is_repeat() {
            Arrival::Unproven // it may have waited for the hole to be filled
        } else if !packet.is_repeat() || (pn < echo && now - packet.sent >= self.round_trip.rtt().min()) {
            Arrival::Likely
        } else {
            Arrival::Unproven
        }
    }

    /// Removes the packet with this slot, number and serial from flight as acknowledged, unless it
    /// has been acknowledged or lost.
    #[inline(always)] // once per packet: a call would cost 3 %
    fn mark_acked<const PLAIN: bool>(
        &mut self,
        now: Time,
        (slot, number, serial): (u64, u64, u64),
        received: Option<i64>,
        arrival: Arrival,
        out: &mut AckEffects<T>,
    ) {
        let Some((p, packet)) = self.space.sent.resolve(slot, Status::Acked) else { return };
        let packet = SentPacket { pn: serial, ..packet };
        self.stats.acked += 1;
        if out.keeps_acked {
            out.acked.push((number, p.data.clone()));
        }
        let scratch = &mut out.scratch;
        if !PLAIN && serial < self.path_since {
            scratch.unreported = true; // says nothing about this path
            return self.advance(number);
        }
        // The bytes arrived in an earlier transmission that was declared lost. They are not
        // delivered twice.
        let start = p.data.range().start;
        let again =
            arrival == Arrival::Unproven && scratch.late.iter().any(|v| v.data.range().start == start);
        self.accounting.mark_acked(now, packet, received, !again, &mut scratch.batch);
        if arrival == Arrival::Certain {
            scratch.ecn.add(p.ecn);
        }
        if arrival != Arrival::Unproven {
            scratch.batch.summary.newest = Some((serial, p.sent));
            self.advance(number);
        }
    }

    /// Records the arrival of this packet. Packets sent before it may be missing.
    fn advance(&mut self, pn: u64) {
        if self.space.largest_acked.is_some_and(|largest| pn < largest) {
            self.reordering.on_reordered();
        }
        self.space.largest_acked = self.space.largest_acked.max(Some(pn));
    }

    /// Processes an ACK whose packets are marked, in the order of RFC 9002 appendix A.7.
    fn process_ack(&mut self, now: Time, context: &AckContext, out: &mut AckEffects<T>) {
        let raised = self.space.largest_acked > context.prior_largest;
        let newest = out.scratch.batch.summary.newest_pn();

        // RTT first: the thresholds of loss detection, and all timeouts, are multiples of it.
        self.measure(now, raised, context, out);

        // Only an ACK that raises the largest number has counts to check (RFC 9000 section
        // 13.4.2.1). The answer to marks waits for the losses.
        let ce = if raised { self.ecn.on_ack(&mut self.space.ecn, &out.scratch.ecn, context.ecn) } else { 0 };

        let round_start = self.accounting.ends_round(newest, self.serial);

        // Before losses are detected, because a reduction allows a probe and begins a response.
        if context.advanced {
            self.on_progress(now, context.is_tcp);
        }
        self.allowance.cancel_probes();
        self.accounting.period.end_response();

        // A timeout is judged before other losses: if it was spurious, the window is restored, and
        // a loss then reduces the restored one.
        if let Some(suspicion) = self.timeouts.take_suspicion() {
            self.judge_timeout(now, suspicion, context, out);
        }

        // Arrivals before losses: a size that passes is no black hole.
        if self.search.is_some() {
            self.search_acked(now, out);
        }

        // Losses before marks: an ACK with both causes one reduction, for the loss.
        self.detect_losses(now, context.prior_in_flight, out);
        self.stats.ecn_failures += u64::from(self.ecn.has_newly_failed());
        self.answer_marks_and_repairs(now, newest, ce, context.prior_in_flight, out);

        // The recovery period ends after the losses of this ACK, which it may cover.
        if self.accounting.period.try_exit(newest, context.cumulative) {
            self.reordering.on_recovered();
            self.allowance.end_reduction();
            self.duplicates.reset();
        }

        // Growth last: an ACK that reduces the window does not let it grow.
        self.report_ack(now, ce, round_start, context, out);
        let batch = &out.scratch.batch;
        let delivered = batch.summary.bytes + batch.summary.late;
        let safe = context.advanced && batch.lost.is_empty();
        self.allowance.on_ack(delivered, self.accounting.bytes_in_flight, safe);
        self.space.sent.forget_resolved();
    }

    /// Restarts the timers after an ACK of the oldest packet. RFC 6298 section 5.3: the
    /// retransmission timer waits for that one, whatever else arrives.
    fn on_progress(&mut self, now: Time, is_tcp: bool) {
        self.timeouts.restart(now);
        if self.resets_backoff() {
            self.timeouts.reset_backoff();
        }
        self.tail_probe.on_progress(is_tcp.then_some(self.unacknowledged));
    }

    /// Takes an RTT sample from the newest packet.
    ///
    /// The estimator uses it if the largest acknowledged number rises (RFC 9002 section 5.1). RACK
    /// uses every sample. TCP measures the mean on the oldest packet (RFC 7323 section 4).
    fn measure(&mut self, now: Time, raised: bool, context: &AckContext, out: &mut AckEffects<T>) {
        let Some((_, sent)) = out.scratch.batch.summary.newest else { return };
        let latest = now - sent;
        self.round_trip.on_newest(latest);
        if !raised || !context.samples {
            return;
        }
        if context.is_tcp {
            let oldest = now - out.scratch.oldest.unwrap_or(sent);
            let progress = (self.unacknowledged, self.space.sent.edge());
            self.round_trip.sample_tcp(now, latest, oldest, progress);
        } else {
            self.round_trip.sample(now, latest, context.ack_delay.min(self.longest_ack_delay()));
        }
        out.rtt = Some(latest);
    }

    /// Reduces the window for CE marks, and for a loss that a tail loss probe repaired.
    fn answer_marks_and_repairs(
        &mut self,
        now: Time,
        newest: u64,
        ce: u64,
        prior: u64,
        out: &mut AckEffects<T>,
    ) {
        if ce > 0 {
            if !self.accounting.period.covers(newest, Cause::Ecn) {
                self.reduce(now, Cause::Ecn, prior, out);
            }
            self.accounting.period.forbid_undo();
        }
        if let Some(pn) = out.scratch.repaired {
            if !self.accounting.period.covers(pn, Cause::Loss) {
                self.reduce(now, Cause::Loss, prior, out);
            }
            self.accounting.period.forbid_undo();
        }
    }

    #[inline(always)] // once per ACK; the other caller runs once per connection
    fn report_ack(
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
        // At most one reduction per round trip, whatever the controller asks for.
        if let Some(cause) = self.accounting.report_ack(now, &details, &out.scratch.batch) {
            self.reduce(now, cause, prior_in_flight, out);
        }
    }

    /// Returns an offset before which all stream bytes have arrived, as exact as the recovery
    /// period needs it.
    fn cumulative(&self, waiting: Option<u64>) -> u64 {
        let until = self.accounting.period.until_offset();
        if self.config.exit == Exit::Quic
            || !self.accounting.period.in_recovery()
            || waiting.is_some_and(|w| w < until)
        {
            return 0;
        }
        let missing = |range: Range<u64>| range.start < until && !range.is_empty();
        if self.space.sent.in_flight().any(|(_, p)| missing(p.data.range())) { 0 } else { until }
    }
}

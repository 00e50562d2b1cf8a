//! Losses, the reductions for them and for other congestion events, and packets that arrive late.

use congestion::{Cause, Detection};
use units::{Duration, Time};

use crate::feed::{Exit, Reason, RttEstimate, SentPacket};
use crate::sender::config::Reduction;
use crate::sender::effects::AckEffects;
use crate::sender::loss_detection::Search;
use crate::sender::prr::Prr;
use crate::sender::sending::Sender;
use crate::sender::sent_packets::{Kind, Payload, Status};

impl<T: Payload> Sender<T> {
    /// Finds losses and reduces the window for them.
    pub(super) fn detect_losses(&mut self, now: Time, prior_in_flight: u64, out: &mut AckEffects<T>) {
        if !self.config.sack {
            return self.detect_by_duplicates(now, prior_in_flight, out);
        }
        let Some(largest_acked) = self.space.largest_acked else { return };
        // Usually no packet sent before it is in flight.
        self.space.sent.forget_resolved();
        if self.space.sent.slot_from(largest_acked) <= self.space.sent.base() {
            self.space.loss_time = None;
            return;
        }
        let mut found = std::mem::take(&mut out.scratch.found);
        Search {
            config: &self.config,
            rtt: self.round_trip.rtt(),
            reordering: &self.reordering,
            now,
            largest_acked,
            overtaken: self.overtaken(largest_acked),
            rack_rtt: self.round_trip.newest(),
            in_recovery: self.accounting.period.in_recovery(),
        }
        .run(&mut self.space.sent, &mut found);
        self.space.loss_time = found.loss_time;
        if !found.lost.is_empty() {
            self.declare_lost(now, &found.lost, Some(Cause::Loss), prior_in_flight, out);
        }
        out.scratch.found = found;
    }

    /// Declares packets lost (ascending), and reduces the window for `cause`. A loss does not
    /// reduce it if a reduction since the packets were sent covers them. A timeout always does.
    pub(super) fn declare_lost(
        &mut self,
        now: Time,
        lost: &[(u64, Detection)],
        cause: Option<Cause>,
        prior_in_flight: u64,
        out: &mut AckEffects<T>,
    ) {
        let lost = self.declare_lost_on_old_path(lost, out);
        let lost = &*self.declare_mtu_probe_lost(now, lost, out);
        let Some(&(newest, _)) = lost.last() else { return };
        let newest = self.space.sent.numbers.serial(newest);
        let persistent = cause == Some(Cause::Loss) && self.is_persistent(lost);
        let first = out.scratch.batch.lost.len();
        for &(slot, detection) in lost {
            self.mark_lost(slot, detection, out);
        }
        self.accounting.report_losses(now, first, &out.scratch.batch);
        let covered = |cause| cause == Cause::Loss && self.accounting.period.covers(newest, cause);
        if let Some(cause) = cause.filter(|cause| !covered(*cause)) {
            self.reduce(now, cause, prior_in_flight, out);
        }
        if persistent {
            self.round_trip.reset_min(now);
            self.reduce(now, Cause::PersistentCongestion, prior_in_flight, out);
        }
        self.accounting.period.add_losses(lost.len() as u64);
        if self.search.is_some() {
            self.search_lost(now, first, out);
        }
        self.forget_late(now);
        let sent = &self.space.sent;
        for &(slot, _) in lost {
            if let Some(packet) = sent.get(slot) {
                self.space.late.add(
                    sent.numbers.number_and_serial(slot),
                    now,
                    self.accounting.period.serial(),
                    packet,
                    sent.snapshot(slot),
                );
            }
        }
    }

    /// Declares packets of another path lost, without telling the controller. Returns the remaining
    /// ones.
    fn declare_lost_on_old_path<'a>(
        &mut self,
        lost: &'a [(u64, Detection)],
        out: &mut AckEffects<T>,
    ) -> &'a [(u64, Detection)] {
        if self.space.sent.numbers.is_plain() {
            return lost;
        }
        let numbers = &self.space.sent.numbers;
        let (others, rest) = lost.split_at(lost.partition_point(|l| numbers.serial(l.0) < self.path_since));
        for &(slot, detection) in others {
            let number = self.space.sent.numbers.number(slot);
            let Some((packet, _)) = self.space.sent.resolve(slot, Status::Lost) else { continue };
            out.lost.push((number, detection, packet.data.clone()));
            self.stats.count_loss(detection);
        }
        rest
    }

    /// Removes a packet from flight as lost.
    fn mark_lost(&mut self, slot: u64, detection: Detection, out: &mut AckEffects<T>) {
        let (number, serial) = self.space.sent.numbers.number_and_serial(slot);
        let Some((p, packet)) = self.space.sent.resolve(slot, Status::Lost) else { return };
        let packet = SentPacket { pn: serial, ..packet };
        self.accounting.mark_lost(packet, detection, &mut out.scratch.batch);
        self.ecn.on_lost(p.ecn);
        out.lost.push((number, detection, p.data.clone()));
        self.stats.count_loss(detection);
    }

    /// Reports whether these losses establish persistent congestion (RFC 9002 section 7.6).
    ///
    /// They do if two lost ACK-eliciting packets are further apart than the persistent congestion
    /// duration. No packet sent between them in their space may have been acknowledged. Section
    /// 7.6.2 allows looking at one space only.
    fn is_persistent(&self, lost: &[(u64, Detection)]) -> bool {
        let (Some(threshold), Some(first_sample)) =
            (self.config.persistent_congestion, self.round_trip.first_sample())
        else {
            return false;
        };
        let duration = self.round_trip.probe_timeout(&self.config) * threshold;
        // The first lost packet since the last acknowledged one, and the last lost packet examined.
        let (mut start, mut previous): (Option<Time>, u64) = (None, 0);
        for &(pn, _) in lost {
            let elicits = self.space.sent.get(pn).filter(|p| p.kind != Kind::Padding);
            let Some(sent) = elicits.map(|p| p.sent).filter(|s| *s > first_sample) else { continue };
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
        (from..to).all(|pn| self.space.sent.get(pn).is_none_or(|p| p.status != Status::Acked))
    }

    pub(super) fn reduce(&mut self, now: Time, cause: Cause, prior_in_flight: u64, out: &mut AckEffects<T>) {
        self.tail_probe.cancel(); // Linux: `tcp_init_cwnd_reduction`
        self.stats.count_reduction(cause);
        out.congestion = Some(cause);
        let before = self.accounting.controller.control().cwnd;
        let (next_pn, rtt) = (self.serial, self.rtt_estimate(None));
        let until_offset = match self.config.exit {
            Exit::RenoTcp => self.unacknowledged.saturating_add(1),
            _ => self.space.sent.edge(),
        };
        let reason = Reason { cause, next_pn, until_offset, prior_in_flight, rtt };
        self.accounting.reduce(now, reason, &mut out.scratch.batch);
        // A sender with packet number spaces reports when the response is complete
        // (`end_response`). Without them, sending takes no time.
        if self.spaces.is_some() {
            self.accounting.period.begin_response();
        }
        self.allowance.begin_reduction(self.start_prr(cause, before, prior_in_flight));
        if cause == Cause::Loss {
            self.allowance.allow_probes(1); // RFC 9002 section 7.3.2: one packet can be sent to speed up recovery
        }
    }

    /// Returns a gradual reduction from window `before`, if the window falls and the controller
    /// leaves its shape to the sender.
    fn start_prr(&self, cause: Cause, before: u64, prior_in_flight: u64) -> Option<Prr> {
        let ssthresh = self.accounting.controller.control().cwnd;
        let spreads = self.config.reduction == Reduction::Prr
            && matches!(cause, Cause::Loss | Cause::Ecn | Cause::Delay)
            && ssthresh < before
            && !self.accounting.controller.shapes_recovery();
        spreads.then(|| {
            Prr::new(self.path.max_datagram_size, ssthresh, prior_in_flight, self.accounting.bytes_in_flight)
        })
    }

    /// Forgets losses so old that the packets cannot arrive any more. Losses by timeout are kept
    /// until the next acknowledgement shows whether the timeout was spurious, however long the path
    /// was silent.
    pub(super) fn forget_late(&mut self, now: Time) {
        if self.space.late.oldest().is_some() && !self.timeouts.suspects() {
            self.space.late.prune(now, self.round_trip.probe_timeout(&self.config));
        }
    }

    /// Processes packets declared lost that arrived with this ACK.
    ///
    /// They count as delivered and their losses as spurious. If no loss of the recovery period
    /// remains, the reduction is undone. `period` is the period before this ACK. The ACK may have
    /// started another, which these packets do not excuse. `prior_largest` is the largest packet
    /// that had arrived before.
    #[inline(never)]
    pub(super) fn undo_if_spurious(
        &mut self,
        now: Time,
        period: u64,
        prior_largest: Option<u64>,
        out: &mut AckEffects<T>,
    ) {
        self.stats.spurious += out.scratch.late.len() as u64;
        let overtaken =
            out.scratch.late.iter().any(|late| prior_largest.is_some_and(|newest| late.pn < newest));
        self.reordering.on_spurious(self.newest_acked(), self.serial, overtaken);
        for late in &out.scratch.late {
            let distance = prior_largest.unwrap_or(0).saturating_sub(late.pn);
            self.reordering.raise_thresholds(&self.config, distance, now - late.sent, self.round_trip.rtt());
        }
        let current = out.scratch.late.iter().filter(|v| v.in_period(period)).count() as u64;
        if self.config.undo && self.accounting.undo_if_spurious(period, current) {
            self.on_undone();
        }
    }

    /// Returns the serial of the largest acknowledged packet, or 0.
    fn newest_acked(&self) -> u64 {
        let (Some(largest), sent) = (self.space.largest_acked, &self.space.sent) else { return 0 };
        let beyond = sent.slot_from(largest.saturating_add(1));
        sent.numbers.serial(beyond.saturating_sub(1))
    }

    /// Records that the last reduction was spurious. The controller has been told.
    pub(super) fn on_undone(&mut self) {
        self.stats.undone += 1;
        self.allowance.end_reduction();
    }

    /// Returns the RTT as reported to the controller.
    #[inline]
    pub(super) fn rtt_estimate(&self, latest: Option<Duration>) -> RttEstimate {
        RttEstimate { latest, min: self.round_trip.rtt().min(), smoothed: self.round_trip.rtt().smoothed() }
    }
}

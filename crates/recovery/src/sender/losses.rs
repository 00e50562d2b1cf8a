//! Losses, the reductions that answer them and other signs of congestion, and what comes back late.

use congestion::{Cause, Detection};
use units::{Duration, Time};

use crate::feed::{Left, Reason, RttEstimate};
use crate::sender::config::Reduction;
use crate::sender::effects::AckEffects;
use crate::sender::loss_detection::Search;
use crate::sender::prr::Prr;
use crate::sender::sending::Sender;
use crate::sender::sent_packets::{Fate, Kind, Payload};

impl<T: Payload> Sender<T> {
    /// Finds losses and answers them.
    pub(super) fn detect_losses(&mut self, now: Time, prior_in_flight: u64, out: &mut AckEffects<T>) {
        let Some(largest_acked) = self.space.largest_acked else { return };
        // Nearly always nothing flies that left before it.
        self.space.sent.forget_resolved();
        if self.space.sent.slot_from(largest_acked) <= self.space.sent.base() {
            self.space.loss_time = None;
            return;
        }
        let mut found = std::mem::take(&mut out.scratch.found);
        Search {
            config: &self.config,
            rtt: &self.rtt,
            reordering: &self.reordering,
            now,
            largest_acked,
            rack_rtt: self.rack_rtt,
            in_recovery: self.books.period.in_recovery(),
        }
        .run(&mut self.space.sent, &mut found);
        self.space.loss_time = found.loss_time;
        if !found.lost.is_empty() {
            self.lose(now, &found.lost, Some(Cause::Loss), prior_in_flight, out);
        }
        out.scratch.found = found;
    }

    /// Declares packets lost (ascending). A `cause` to reduce the window: a loss, unless a reduction since their departure covers
    /// them, or a timeout.
    pub(super) fn lose(
        &mut self,
        now: Time,
        lost: &[(u64, Detection)],
        cause: Option<Cause>,
        prior_in_flight: u64,
        out: &mut AckEffects<T>,
    ) {
        let lost = self.lose_of_other_path(lost, out);
        let Some(&(newest, _)) = lost.last() else { return };
        let newest = self.space.sent.numbers.serial(newest);
        let persistent = cause == Some(Cause::Loss) && self.is_persistent(lost);
        let first = out.scratch.batch.lost.len();
        for &(slot, detection) in lost {
            self.mark_lost(slot, detection, out);
        }
        self.books.tell_losses(now, first, &out.scratch.batch);
        if let Some(cause) = cause.filter(|cause| *cause != Cause::Loss || !self.books.period.covers(newest))
        {
            self.reduce(now, cause, prior_in_flight, out);
        }
        if persistent {
            self.rtt.reset_min(now);
            self.reduce(now, Cause::PersistentCongestion, prior_in_flight, out);
        }
        self.books.period.add_losses(lost.len() as u64);
        self.forget_late(now);
        let sent = &self.space.sent;
        for &(slot, _) in lost {
            if let Some(packet) = sent.get(slot) {
                self.space.late.add(
                    sent.numbers.names(slot),
                    now,
                    self.books.period.serial(),
                    packet,
                    sent.snapshot(slot),
                );
            }
        }
    }

    /// Gives up what left on another path, which the controller is not told of; returns the rest.
    fn lose_of_other_path<'a>(
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
            let number = self.space.sent.numbers.of(slot);
            let Some((packet, _)) = self.space.sent.resolve(slot, Fate::Lost) else { continue };
            out.lost.push((number, detection, packet.data.clone()));
            self.stats.count_loss(detection);
        }
        rest
    }

    /// Takes one packet out of flight as lost.
    fn mark_lost(&mut self, slot: u64, detection: Detection, out: &mut AckEffects<T>) {
        let (number, serial) = self.space.sent.numbers.names(slot);
        let Some((p, packet)) = self.space.sent.resolve(slot, Fate::Lost) else { return };
        let packet = Left { pn: serial, ..packet };
        self.books.mark_lost(packet, detection, &mut out.scratch.batch);
        self.ecn.on_lost(p.ecn);
        out.lost.push((number, detection, p.data.clone()));
        self.stats.count_loss(detection);
    }

    /// RFC 9002 section 7.6: two of these losses, of packets that elicit ACKs, are further apart than the persistent congestion duration and
    /// nothing sent between them was acknowledged in their space (section 7.6.2 allows to look at no other).
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
        (from..to).all(|pn| self.space.sent.get(pn).is_none_or(|p| p.fate != Fate::Acked))
    }

    pub(super) fn reduce(&mut self, now: Time, cause: Cause, prior_in_flight: u64, out: &mut AckEffects<T>) {
        self.tail_probed = false; // Linux: `tcp_init_cwnd_reduction`
        self.stats.count_reduction(cause);
        out.congestion = Some(cause);
        let before = self.books.controller.control().cwnd;
        let (next_pn, edge, rtt) = (self.serial, self.space.sent.edge(), self.rtt_estimate(None));
        let reason = Reason { cause, next_pn, edge, prior_in_flight, rtt };
        self.books.reduce(now, reason, &mut out.scratch.batch);
        // Who has packet number spaces says when all that may leave now has left (`answered`); without, that takes no time.
        if self.spaces.is_some() {
            self.books.period.answer();
        }
        self.prr = self.spread(cause, before, prior_in_flight);
        if cause == Cause::Loss {
            self.probes = self.probes.max(1); // RFC 9002 section 7.3.2: one packet may leave to speed up recovery
        }
    }

    /// The way down from window `before`, if there is one to go and it is the sender's to choose.
    fn spread(&self, cause: Cause, before: u64, prior_in_flight: u64) -> Option<Prr> {
        let ssthresh = self.books.controller.control().cwnd;
        let spreads = self.config.reduction == Reduction::Prr
            && matches!(cause, Cause::Loss | Cause::Ecn | Cause::Delay)
            && ssthresh < before
            && !self.books.controller.shapes_recovery();
        spreads.then(|| {
            Prr::new(self.path.max_datagram_size, ssthresh, prior_in_flight, self.books.bytes_in_flight)
        })
    }

    /// Forgets what was lost so long ago that it cannot come back. What a timeout gave up stays until the next acknowledgement
    /// has told whether that was right, however long the path was silent.
    pub(super) fn forget_late(&mut self, now: Time) {
        if self.space.late.oldest().is_some() && self.suspicion.is_none() {
            self.space.late.prune(now, self.probe_timeout());
        }
    }

    /// What was declared lost and has arrived with this ACK: it is delivered, the losses were none, and if that leaves the recovery
    /// period without a reason the reduction is undone. `period` is the one before this ACK: it may have opened another,
    /// which these packets do not excuse. `prior_largest` had arrived before.
    #[inline(never)]
    pub(super) fn forgive_late(
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
            self.reordering.raise_thresholds(&self.config, distance, now - late.sent, &self.rtt);
        }
        let current = out.scratch.late.iter().filter(|v| v.is_of(period)).count() as u64;
        if self.config.undo && self.books.forgive(period, current) {
            self.on_undone();
        }
    }

    /// Serial of the largest packet acknowledged, or 0.
    fn newest_acked(&self) -> u64 {
        let (Some(largest), sent) = (self.space.largest_acked, &self.space.sent) else { return 0 };
        let beyond = sent.slot_from(largest.saturating_add(1));
        sent.numbers.serial(beyond.saturating_sub(1))
    }

    /// The last reduction was spurious, and the controller is told.
    pub(super) fn on_undone(&mut self) {
        self.stats.undone += 1;
        self.prr = None;
    }

    /// The RTT as reported to the controller.
    #[inline]
    pub(super) fn rtt_estimate(&self, latest: Option<Duration>) -> RttEstimate {
        RttEstimate { latest, min: self.rtt.min(), smoothed: self.rtt.smoothed() }
    }
}

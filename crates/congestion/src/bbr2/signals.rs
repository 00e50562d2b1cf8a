//! Congestion signals, draft section 4.5.6: what the last round delivered, and what losses do to the bounds.

use super::Bbr2;
use super::model::INFINITE;
use crate::{Ack, Lost, LostPacket, RateSample};

#[derive(Debug, Default)]
pub(super) struct Signals {
    /// This ACK ends a round for the purpose of the short-term bounds.
    pub(super) loss_round_start: bool,
    loss_round_delivered: u64,
    pub(super) loss_in_round: bool,
    /// Best of the round, bits per second.
    pub(super) bw_latest: u64,
    /// Best of the round, bytes.
    pub(super) inflight_latest: u64,
    /// Discontiguous ranges of packet numbers lost in the round.
    pub(super) lost_ranges: u64,
    last_lost: Option<u64>,
    /// Bytes reported as CE-marked in the round.
    ce_in_round: u64,
}

impl Signals {
    /// `BBRUpdateLatestDeliverySignals`.
    fn update_latest(&mut self, delivered: u64, rs: &RateSample) {
        self.loss_round_start = rs.delivered > 0 && rs.prior_delivered >= self.loss_round_delivered;
        self.bw_latest = self.bw_latest.max(rs.delivery_rate.map_or(0, |r| r.0));
        self.inflight_latest = self.inflight_latest.max(rs.delivered);
        if self.loss_round_start {
            self.loss_round_delivered = delivered;
        }
    }

    /// `BBRAdvanceLatestDeliverySignals`, and the end of the round's counts.
    pub(super) fn advance_latest(&mut self, rs: &RateSample) {
        if self.loss_round_start {
            self.bw_latest = rs.delivery_rate.map_or(0, |r| r.0);
            self.inflight_latest = rs.delivered;
            self.lost_ranges = 0;
            self.ce_in_round = 0;
        }
    }

    /// `BBRResetCongestionSignals`.
    pub(super) fn reset(&mut self) {
        self.loss_in_round = false;
        self.bw_latest = 0;
        self.inflight_latest = 0;
    }

    fn note_loss(&mut self, pn: u64) {
        self.loss_in_round = true;
        let contiguous = self.last_lost.is_some_and(|last| last.checked_add(1) == Some(pn));
        self.lost_ranges += u64::from(!contiguous);
        self.last_lost = Some(pn);
    }

    /// A mark counts like the loss of its packet (deviation 4 in the header). Answers the bytes marked in the round.
    pub(super) fn note_ce(&mut self, packets: u64, mds: u64) -> u64 {
        if packets > 0 {
            self.loss_in_round = true;
            self.lost_ranges += 1;
            self.ce_in_round = self.ce_in_round.saturating_add(packets.saturating_mul(mds));
        }
        self.ce_in_round
    }
}

impl Bbr2 {
    /// `BBRUpdateCongestionSignals`.
    pub(super) fn update_congestion_signals(&mut self, ack: &Ack, rs: &RateSample) {
        self.signals.update_latest(ack.delivered, rs);
        self.model.rounds.update(ack.delivered, rs);
        self.probe.rounds_since_bw_probe += u64::from(self.model.rounds.start);
        self.model.update_max_bw(rs);
        self.signals.loss_in_round |= ack.lost > 0;
        if self.signals.loss_round_start {
            self.adapt_lower_bounds();
            self.signals.loss_in_round = false;
        }
    }

    /// `BBRAdaptLowerBoundsFromCongestion`: loss while probing is the probe's own doing and judged by `inflight_hi`.
    fn adapt_lower_bounds(&mut self) {
        if self.state.is_probing_bw() || !self.signals.loss_in_round {
            return;
        }
        let (beta, max_bw) = (self.params.beta, self.model.max_bw().0);
        let kept = |bound: u64, start: u64, latest: u64| {
            let bound = if bound == INFINITE { start } else { bound };
            latest.max((beta * bound as f64) as u64)
        };
        let bounds = &mut self.model.bounds;
        bounds.bw_lo = kept(bounds.bw_lo, max_bw, self.signals.bw_latest);
        bounds.inflight_lo = kept(bounds.inflight_lo, self.window.cwnd, self.signals.inflight_latest);
    }

    /// `IsInflightTooHigh`.
    pub(super) fn is_inflight_too_high(&self, rs: &RateSample) -> bool {
        rs.lost as f64 > rs.tx_in_flight as f64 * self.params.loss_thresh
    }

    /// `BBRHandleLostPacket` for each packet of the batch, each with the losses known up to itself.
    pub(super) fn handle_lost(&mut self, lost: &Lost) {
        let batch: u64 = lost.packets.iter().map(|p| p.bytes).sum();
        let mut total = lost.total_lost.saturating_sub(batch);
        for packet in lost.packets {
            total += packet.bytes;
            self.signals.note_loss(packet.pn);
            if self.probe.bw_probe_samples {
                self.judge_lost_packet(lost, packet, total.saturating_sub(packet.lost_at_send));
            }
        }
    }

    fn judge_lost_packet(&mut self, batch: &Lost, packet: &LostPacket, lost: u64) {
        let rs = RateSample {
            tx_in_flight: packet.tx_in_flight,
            lost,
            app_limited: packet.app_limited,
            ..super::model::NO_SAMPLE
        };
        if self.is_inflight_too_high(&rs) {
            let tx_in_flight = self.inflight_hi_from_lost_packet(&rs, packet.bytes);
            self.handle_inflight_too_high(batch.now, &RateSample { tx_in_flight, ..rs });
        }
    }

    /// `BBRInflightHiFromLostPacket`: after how many bytes in flight, counted into the lost packet, did the losses
    /// reach the threshold?
    fn inflight_hi_from_lost_packet(&self, rs: &RateSample, size: u64) -> u64 {
        let thresh = self.params.loss_thresh;
        let inflight_prev = rs.tx_in_flight.saturating_sub(size) as f64;
        let lost_prev = rs.lost.saturating_sub(size) as f64;
        let lost_prefix = (thresh * inflight_prev - lost_prev) / (1.0 - thresh);
        (inflight_prev + lost_prefix) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::super::State;
    use super::super::script::{MDS, bbr, lost, sample};
    use super::*;
    use crate::{Ack, Rate, script::acked};

    /// The sheet's vectors (appendix A), in packets of one byte and aggregates of ten.
    #[test]
    fn inflight_at_loss() {
        let cc = bbr();
        for (tx_in_flight, lost, size, expected) in [(101, 3, 1, 100), (110, 11, 10, 101), (1000, 21, 1, 998)]
        {
            let rs = RateSample { tx_in_flight, lost, ..sample(0, 0) };
            assert_eq!(cc.inflight_hi_from_lost_packet(&rs, size), expected);
        }
    }

    /// Strictly more than 2 %.
    #[test]
    fn loss_threshold() {
        let cc = bbr();
        for (lost, too_high) in [(0, false), (2, false), (3, true)] {
            let rs = RateSample { tx_in_flight: 101, lost, ..sample(0, 0) };
            assert_eq!(cc.is_inflight_too_high(&rs), too_high, "{lost} of 101");
        }
    }

    #[test]
    fn ranges_are_discontiguous() {
        let mut s = Signals::default();
        for pn in [3, 4, 5, 7, 9, 10] {
            s.note_loss(pn);
        }
        assert_eq!(s.lost_ranges, 3);
        assert_eq!(s.note_ce(0, MDS), 0);
        assert_eq!((s.note_ce(2, MDS), s.lost_ranges), (2 * MDS, 4), "an ACK with marks is one more");
    }

    /// Cruising at 10 Mbit/s with a loss: both bounds fall to what the round delivered, but not below 0.7.
    #[test]
    fn short_term_response() {
        for (latest_mbit, delivered, bw_lo, inflight_lo) in
            [(5, 30_000, 7_000_000, 70_000), (9, 90_000, 9_000_000, 90_000)]
        {
            let mut cc = bbr();
            cc.state = State::ProbeBwCruise;
            cc.window.cwnd = 100_000;
            cc.model.update_max_bw(&sample(10, 1));
            let rs = RateSample { delivered, ..sample(latest_mbit, 0) };
            cc.update_congestion_signals(&Ack { lost: MDS, ..acked(MDS) }, &rs);
            assert_eq!(cc.model.bounds.bw_lo, bw_lo);
            assert_eq!(cc.model.bounds.inflight_lo, inflight_lo);
            cc.model.bound_bw();
            assert_eq!(cc.model.bw, Rate(bw_lo));
        }
    }

    #[test]
    fn no_short_term_response_while_probing() {
        for state in [State::Startup, State::ProbeBwRefill, State::ProbeBwUp] {
            let mut cc = bbr();
            cc.state = state;
            cc.update_congestion_signals(&Ack { lost: MDS, ..acked(MDS) }, &sample(10, 0));
            assert_eq!(cc.model.bounds.bw_lo, INFINITE, "{state:?}");
        }
    }

    /// Each packet of a batch is judged by the losses up to itself: of 100 packets in flight the third is too much.
    #[test]
    fn batches_are_judged_packet_by_packet() {
        let mut cc = bbr();
        cc.state = State::ProbeBwUp;
        cc.probe.bw_probe_samples = true;
        let packets = lost(&[10, 20, 30], 100 * MDS);
        cc.handle_lost(&packets.batch());
        assert_eq!(cc.state, State::ProbeBwDown);
        // Before the third packet: 99 in flight, 2 lost: 99 + (1.98 - 2) / 0.98 = 98.98 packets.
        assert_eq!(cc.model.bounds.inflight_hi, (98.979_591_8 * MDS as f64) as u64);
        let mut cc = bbr();
        cc.state = State::ProbeBwUp;
        cc.probe.bw_probe_samples = true;
        cc.handle_lost(&lost(&[10, 20], 100 * MDS).batch());
        assert_eq!((cc.state, cc.model.bounds.inflight_hi), (State::ProbeBwUp, INFINITE));
    }
}

//! Congestion signals, draft section 4.5.6: delivery in the last round, and the effect of losses on
//! the bounds.

use super::{Bbr2, TooHigh};
use crate::algorithms::bbr::common::signals::{is_inflight_too_high, samples};
use crate::{Ack, Lost, RateSample};

impl Bbr2 {
    /// Implements `BBRUpdateCongestionSignals`.
    fn update_congestion_signals(&mut self, ack: &Ack, rs: &RateSample) {
        self.bbr.update_round(ack, rs);
        if self.has_recovery_window() {
            self.recovery_window_on_ack(ack);
        }
        let signals = &mut self.bbr.signals;
        self.loss_round.on_ack(ack.lost, signals.loss_round_start, signals.lost_ranges);
        signals.loss_in_round |= ack.lost > 0;
        self.bbr.adapt_lower_bounds();
    }

    /// Implements `IsInflightTooHigh`.
    pub(super) fn is_inflight_too_high(&self, rs: &RateSample) -> bool {
        let loss_thresh = self.params.loss_thresh;
        match self.params.inflight_too_high {
            TooHigh::Packet => is_inflight_too_high(rs, loss_thresh),
            // Without a sample there is nothing to compare the losses with.
            TooHigh::Round => {
                rs.tx_in_flight > 0
                    && is_inflight_too_high(&RateSample { lost: self.loss_round.lost, ..*rs }, loss_thresh)
            }
        }
    }

    /// `BBRHandleLostPacket` for each packet of the batch.
    pub(super) fn handle_lost(&mut self, lost: &Lost) {
        for (packet, rs) in samples(lost) {
            self.bbr.signals.note_loss(packet.pn);
            let judged = self.params.inflight_too_high == TooHigh::Packet;
            if let Some(rs) = self.bbr.too_high_at(packet, rs).filter(|_| judged) {
                self.handle_inflight_too_high(lost.now, &rs);
            }
        }
    }

    /// Implements `BBRUpdateModelAndState`.
    pub(super) fn update_model_and_state(&mut self, ack: &Ack, rs: &RateSample) {
        self.update_congestion_signals(ack, rs);
        self.bbr.model.update_ack_aggregation(ack, self.bbr.window.cwnd);
        self.check_startup_done(ack, rs);
        self.check_drain(ack.now, ack.bytes_in_flight);
        self.update_probe_bw_cycle_phase(ack, rs);
        self.update_min_rtt(ack);
        self.bbr.signals.advance_latest(rs);
        self.bbr.model.bound_bw();
    }
}

#[cfg(test)]
mod tests {
    use super::super::State;
    use super::super::script::{MDS, bbr, lost, sample};
    use super::*;
    use crate::algorithms::bbr::common::model::INFINITE;
    use crate::testing::fixtures::acked;
    use units::Rate;

    /// Cruising at 10 Mbit/s with a loss: both bounds fall to what the round delivered, but not
    /// below 0.7.
    #[test]
    fn short_term_response() {
        for (latest_mbit, delivered, bw_lo, inflight_lo) in
            [(5, 30_000, 7_000_000, 70_000), (9, 90_000, 9_000_000, 90_000)]
        {
            let mut cc = bbr();
            cc.bbr.state = State::ProbeBwCruise;
            cc.bbr.window.cwnd = 100_000;
            cc.bbr.model.update_max_bw(&sample(10, 1));
            let rs = RateSample { delivered, ..sample(latest_mbit, 0) };
            cc.update_congestion_signals(&Ack { lost: MDS, ..acked(MDS) }, &rs);
            assert_eq!(cc.bbr.model.bounds.bw_lo, bw_lo);
            assert_eq!(cc.bbr.model.bounds.inflight_lo, inflight_lo);
            cc.bbr.model.bound_bw();
            assert_eq!(cc.bbr.model.bw, Rate(bw_lo));
        }
    }

    #[test]
    fn no_short_term_response_while_probing() {
        for state in [State::Startup, State::ProbeBwRefill, State::ProbeBwUp] {
            let mut cc = bbr();
            cc.bbr.state = state;
            cc.update_congestion_signals(&Ack { lost: MDS, ..acked(MDS) }, &sample(10, 0));
            assert_eq!(cc.bbr.model.bounds.bw_lo, INFINITE, "{state:?}");
        }
    }

    /// Each packet of a batch is judged by the losses up to itself. With 100 packets in flight, the
    /// third loss is too many.
    #[test]
    fn batches_are_judged_packet_by_packet() {
        let mut cc = bbr();
        cc.bbr.state = State::ProbeBwUp;
        cc.bbr.probe.bw_probe_samples = true;
        let packets = lost(&[10, 20, 30], 100 * MDS);
        cc.handle_lost(&packets.batch());
        assert_eq!(cc.bbr.state, State::ProbeBwDown);
        // Before the third packet: 99 in flight, 2 lost: 99 + (1.98 - 2) / 0.98 = 98.98 packets.
        assert_eq!(cc.bbr.model.bounds.inflight_hi, (98.979_591_8 * MDS as f64) as u64);
        let mut cc = bbr();
        cc.bbr.state = State::ProbeBwUp;
        cc.bbr.probe.bw_probe_samples = true;
        cc.handle_lost(&lost(&[10, 20], 100 * MDS).batch());
        assert_eq!((cc.bbr.state, cc.bbr.model.bounds.inflight_hi), (State::ProbeBwUp, INFINITE));
    }
}

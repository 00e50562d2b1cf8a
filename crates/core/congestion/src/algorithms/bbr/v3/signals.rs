//! Congestion signals, draft section 5.5.10, and their undo (5.5.11).

use super::{Bbr3, State};
use crate::algorithms::bbr::common::signals::{is_inflight_too_high, samples};
use crate::{Ack, Lost, RateSample};
use units::Rate;

impl Bbr3 {
    /// Returns the sender's sample with ProbeRTT's limit and with marks that count as losses
    /// (deviation 1).
    ///
    /// The first mark starts the loss round, like the first loss. In version 2 the previous round
    /// continues.
    pub(super) fn sample(&mut self, ack: &Ack) -> RateSample {
        let rs = self.bbr.probe_rtt.mark(ack.rate);
        if self.params.ecn && ack.ce > 0 {
            self.bbr.signals.begin_loss_round(ack.delivered);
        }
        self.bbr.count_marks(rs, ack)
    }

    /// `UpdateLatestDeliverySignals` and `UpdateCongestionSignals`. Losses count when found.
    /// Version 2 counts those of the ACK again.
    pub(super) fn update_congestion_signals(&mut self, ack: &Ack, rs: &RateSample) {
        self.bbr.update_round(ack, rs);
        self.bbr.adapt_lower_bounds();
    }

    /// `UpdateACKAggregation`. In Startup the filter covers one round, because the rate doubles.
    pub(super) fn update_ack_aggregation(&mut self, ack: &Ack) {
        let p = &self.params;
        let full = self.bbr.filled_pipe;
        let len = if full { p.extra_acked_filter_len } else { p.startup_extra_acked_filter_len };
        self.bbr.model.aggregation.set_len(len);
        self.bbr.model.update_ack_aggregation(ack, self.bbr.window.cwnd);
    }

    /// Implements `IsInflightTooHigh`.
    pub(super) fn is_inflight_too_high(&self, rs: &RateSample) -> bool {
        is_inflight_too_high(rs, self.params.loss_thresh)
    }

    /// `HandleLostPacket` for each packet of the batch.
    pub(super) fn handle_lost(&mut self, lost: &Lost) {
        for (packet, rs) in samples(lost) {
            self.bbr.signals.begin_loss_round(lost.delivered);
            self.bbr.signals.note_loss(packet.pn);
            if let Some(rs) = self.bbr.too_high_at(packet, rs) {
                self.handle_inflight_too_high(lost.now, &rs);
            }
        }
    }

    /// Implements `HandleSpuriousLossDetection`.
    pub(super) fn handle_spurious_loss_detection(&mut self) {
        let Some(before) = self.bbr.undo_losses() else { return };
        self.full_pipe.reset(Rate(0));
        let in_probe_rtt = self.bbr.state == State::ProbeRtt;
        match before.ended {
            Some(State::Startup) if self.bbr.state != State::Startup => {
                self.bbr.filled_pipe = false;
                self.bbr.state = if in_probe_rtt { State::ProbeRtt } else { State::Startup };
            }
            Some(State::ProbeBwUp) if self.bbr.state != State::ProbeBwUp && !in_probe_rtt => {
                self.start_probe_bw_refill();
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::script::{MDS, bbr, known, lost, sample};
    use super::*;
    use crate::algorithms::bbr::common::model::INFINITE;
    use crate::testing::fixtures::{acked, congestion};
    use crate::{Cause, Controller};

    /// Cruising at 10 Mbit/s with a loss: both bounds fall to what the round delivered, but not
    /// below 0.7.
    #[test]
    fn short_term_response() {
        for (latest_mbit, delivered, bw_lo, inflight_lo) in
            [(5, 30_000, 7_000_000, 70_000), (9, 90_000, 9_000_000, 90_000)]
        {
            let mut cc = known(10, 100);
            cc.bbr.state = State::ProbeBwCruise;
            cc.bbr.window.cwnd = 100_000;
            cc.handle_lost(&lost(&[7], 100 * MDS).batch());
            let rs = RateSample { delivered, ..sample(latest_mbit, 0) };
            cc.update_congestion_signals(&acked(MDS), &rs);
            let bounds = &cc.bbr.model.bounds;
            assert_eq!((bounds.bw_lo, bounds.inflight_lo), (bw_lo, inflight_lo));
            assert!(!cc.bbr.signals.loss_in_round);
        }
    }

    #[test]
    fn no_short_term_response_while_probing() {
        for state in [State::Startup, State::ProbeBwRefill, State::ProbeBwUp] {
            let mut cc = bbr();
            cc.bbr.state = state;
            cc.handle_lost(&lost(&[7], 100 * MDS).batch());
            cc.update_congestion_signals(&acked(MDS), &sample(10, 0));
            assert_eq!(cc.bbr.model.bounds.bw_lo, INFINITE, "{state:?}");
        }
    }

    /// The loss round begins with the first loss, not with the preceding round.
    #[test]
    fn the_first_loss_begins_a_round() {
        let mut cc = known(10, 100);
        cc.bbr.state = State::ProbeBwCruise;
        let batch = lost(&[7], 100 * MDS);
        cc.handle_lost(&Lost { delivered: 50_000, ..batch.batch() });
        cc.handle_lost(&Lost { delivered: 60_000, ..batch.batch() });
        for (prior_delivered, over) in [(49_999, false), (50_000, true)] {
            let rs = sample(10, prior_delivered);
            cc.update_congestion_signals(&Ack { delivered: 70_000, ..acked(MDS) }, &rs);
            assert_eq!(cc.bbr.signals.loss_round_start, over);
        }
    }

    /// Restores the looser bounds and the state that the loss had ended: UP by way of REFILL, and
    /// Startup directly.
    #[test]
    fn undo() {
        for (state, expected) in [
            (Some(State::Startup), State::Startup),
            (Some(State::ProbeBwUp), State::ProbeBwRefill),
            (None, State::ProbeBwDown),
        ] {
            let mut cc = known(10, 100);
            (cc.bbr.model.bounds.bw_lo, cc.bbr.model.bounds.inflight_hi) = (9_000_000, 200_000);
            cc.bbr.window.cwnd = 190_000;
            cc.on_lost(&lost(&[7], 100 * MDS).batch());
            cc.on_congestion(&congestion(Cause::Loss, 190_000));
            (cc.bbr.model.bounds.bw_lo, cc.bbr.model.bounds.inflight_hi) = (4_000_000, 90_000);
            (cc.bbr.window.cwnd, cc.bbr.state) = (90_000, State::ProbeBwDown);
            state.into_iter().for_each(|state| cc.bbr.note_ended(state));
            cc.on_spurious();
            assert_eq!((cc.bbr.state, cc.bbr.window.cwnd), (expected, 190_000));
            assert_eq!(cc.bbr.filled_pipe, expected != State::Startup);
            assert_eq!(cc.bbr.model.bounds.inflight_hi, 200_000);
            cc.bbr.model.bounds.inflight_hi = 1;
            cc.on_spurious();
            assert_eq!(cc.bbr.model.bounds.inflight_hi, 1, "once");
        }
    }
}

//! Startup, Drain and the detection of a full pipe, draft sections 5.3.1 and 5.3.2.

use super::{Bbr3, State};
use crate::algorithms::bbr::common::full_pipe::FullPipeSearch;
use crate::{Ack, RateSample};
use units::Rate;

#[derive(Clone, Debug, Default)]
pub(super) struct FullPipe {
    /// Whether the flow has used all available bandwidth since the current search began.
    pub(super) full_bw_now: bool,
    pub(super) search: FullPipeSearch,
}

impl FullPipe {
    /// `ResetFullBW`, with the bandwidth that the next rounds must exceed.
    pub(super) fn reset(&mut self, full_bw: Rate) {
        self.full_bw_now = false;
        self.search = FullPipeSearch { full_bw, full_bw_count: 0 };
    }
}

impl Bbr3 {
    /// Implements `CheckFullBWReached`, section 5.3.1.2.
    pub(super) fn check_full_bw_reached(&mut self, rs: &RateSample) {
        let full = &mut self.full_pipe;
        let Some(rate) = rs.delivery_rate else { return };
        if full.full_bw_now || !self.bbr.model.rounds.start || rs.app_limited {
            return;
        }
        let p = &self.params;
        full.full_bw_now = full.search.is_full(rate, p.full_bw_growth, p.full_bw_rounds);
        self.bbr.filled_pipe |= full.full_bw_now;
    }

    /// Implements `CheckStartupDone`.
    pub(super) fn check_startup_done(&mut self, rs: &RateSample) {
        self.check_startup_high_loss(rs);
        if self.bbr.state == State::Startup && self.bbr.filled_pipe {
            self.bbr.state = State::Drain;
            self.drain_start_round = self.bbr.model.rounds.count;
        }
    }

    /// Implements `CheckStartupHighLoss`, section 5.3.1.3.
    fn check_startup_high_loss(&mut self, rs: &RateSample) {
        if self.bbr.filled_pipe || !self.bbr.signals.loss_round_start {
            return;
        }
        let high = self.bbr.window.has_recovered_for_a_round(rs)
            && self.bbr.signals.lost_ranges >= self.params.startup_full_loss_cnt
            && self.is_inflight_too_high(rs);
        if !high {
            return;
        }
        self.bbr.note_ended(State::Startup);
        self.full_pipe.full_bw_now = true;
        self.bbr.filled_pipe = true;
        self.bbr.model.bounds.inflight_hi =
            self.bbr.bdp_multiple(self.bbr.model.bw, 1.0).max(self.bbr.signals.inflight_latest);
    }

    /// Implements `CheckDrainDone`.
    pub(super) fn check_drain_done(&mut self, ack: &Ack) {
        let last = self.drain_start_round.saturating_add(self.params.drain_max_rounds);
        let drained = ack.bytes_in_flight <= self.bbr.inflight(self.bbr.model.bw, 1.0);
        if self.bbr.state == State::Drain && (drained || self.bbr.model.rounds.count > last) {
            self.bbr.start_probe_bw_down(ack.now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::script::{MDS, bbr, known, sample};
    use super::*;
    use crate::testing::fixtures::acked;
    use units::Time;

    /// Plays a round with this delivery rate.
    fn round(cc: &mut Bbr3, mbit: u64, app_limited: bool) {
        let rs = RateSample { app_limited, ..sample(mbit, 0) };
        cc.bbr.model.rounds.start = true;
        cc.check_full_bw_reached(&rs);
        cc.check_startup_done(&rs);
    }

    /// The sample's own rate counts, not the maximum: 62 after 50 is +24 %.
    #[test]
    fn three_flat_rounds_fill_the_pipe() {
        let mut cc = bbr();
        for mbit in [10, 20, 40, 49, 30, 50, 62, 62] {
            round(&mut cc, mbit, false);
            assert_eq!(cc.bbr.state, State::Startup, "{mbit}");
        }
        (0..9).for_each(|_| round(&mut cc, 62, true));
        assert_eq!(cc.bbr.state, State::Startup, "rounds that the application limits prove nothing");
        round(&mut cc, 62, false);
        assert_eq!(cc.bbr.state, State::Drain);
    }

    /// All three conditions. The bound is the bytes delivered, or the BDP.
    #[test]
    fn high_loss_ends_startup() {
        for (in_recovery, prior, ranges, lost, latest, expected) in [
            (true, 1000, 6, 3, 130_000, Some(130_000)),
            (true, 1000, 6, 3, 0, Some(125_000)),
            (false, 1000, 6, 3, 0, None),
            (true, 999, 6, 3, 0, None),
            (true, 1000, 5, 3, 0, None),
            (true, 1000, 6, 2, 0, None),
        ] {
            let mut cc = known(10, 100);
            (cc.bbr.state, cc.bbr.filled_pipe) = (State::Startup, false);
            if in_recovery {
                cc.bbr.window.enter_recovery(1000, false);
            }
            cc.bbr.signals.loss_round_start = true;
            (cc.bbr.signals.lost_ranges, cc.bbr.signals.inflight_latest) = (ranges, latest);
            let rs = RateSample { tx_in_flight: 100 * MDS, lost: lost * MDS, ..sample(10, prior) };
            cc.check_startup_done(&RateSample { app_limited: true, ..rs });
            let found = (cc.bbr.state == State::Drain).then_some(cc.bbr.model.bounds.inflight_hi);
            assert_eq!(found, expected, "{in_recovery} {prior} {ranges} {lost}");
        }
    }

    /// 10 Mbit/s and 100 ms are 125 000 bytes. The fourth round ends Drain whatever is in flight.
    #[test]
    fn drain_ends_at_one_bdp_or_after_three_rounds() {
        for (inflight, rounds, ends) in
            [(125_001, 0, false), (125_000, 0, true), (1 << 30, 3, false), (1 << 30, 4, true)]
        {
            let mut cc = known(10, 100);
            (cc.bbr.state, cc.drain_start_round) = (State::Drain, 7);
            cc.bbr.model.rounds.count = 7 + rounds;
            cc.check_drain_done(&Ack { now: Time::ZERO, bytes_in_flight: inflight, ..acked(MDS) });
            assert_eq!(cc.bbr.state == State::ProbeBwDown, ends, "{inflight} {rounds}");
        }
    }
}

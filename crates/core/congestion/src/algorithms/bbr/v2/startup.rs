//! Startup and Drain, draft sections 4.3.1 and 4.3.2.

use super::{Bbr2, StartupLossExit, State};
use crate::algorithms::bbr::common::full_pipe::FullPipeSearch;
use crate::{Ack, RateSample};
use units::Time;

/// Detects a full pipe in Startup.
#[derive(Clone, Debug, Default)]
pub(super) struct FullPipe {
    search: FullPipeSearch,
    /// Whether the sender was in recovery when the round began.
    in_recovery_since_round_start: bool,
}

impl Bbr2 {
    /// Implements `BBRCheckStartupDone`.
    pub(super) fn check_startup_done(&mut self, ack: &Ack, rs: &RateSample) {
        self.check_startup_full_bandwidth(rs);
        match self.params.startup_loss_exit {
            StartupLossExit::Recovery => self.check_startup_high_loss(ack, rs),
            StartupLossExit::Round => self.check_startup_loss_round(rs),
        }
        if self.bbr.state == State::Startup && self.bbr.filled_pipe {
            self.bbr.state = State::Drain;
        }
    }

    /// Implements `BBRCheckStartupFullBandwidth`, section 4.3.1.2.
    fn check_startup_full_bandwidth(&mut self, rs: &RateSample) {
        if self.bbr.filled_pipe || !self.bbr.model.rounds.start || rs.app_limited {
            return;
        }
        let p = &self.params;
        let max_bw = self.bbr.model.max_bw();
        self.bbr.filled_pipe = self.full_pipe.search.is_full(max_bw, p.full_bw_growth, p.full_bw_rounds);
    }

    /// `BBRCheckStartupHighLoss`, section 4.3.1.3. "In recovery for a full round" is read as: at
    /// both ends of the round.
    fn check_startup_high_loss(&mut self, ack: &Ack, rs: &RateSample) {
        if self.bbr.filled_pipe || !self.bbr.signals.loss_round_start {
            return;
        }
        let recovered_all_round = self.full_pipe.in_recovery_since_round_start && ack.in_recovery;
        self.full_pipe.in_recovery_since_round_start = ack.in_recovery;
        self.bbr.filled_pipe = recovered_all_round
            && self.bbr.signals.lost_ranges >= self.params.startup_full_loss_cnt
            && self.is_inflight_too_high(rs);
    }

    /// mvfst: only the last loss round decides, at the start of a round.
    fn check_startup_loss_round(&mut self, rs: &RateSample) {
        let p = &self.params;
        let lossy = self.loss_round.was_too_much(p.loss_thresh, p.startup_full_loss_cnt);
        if lossy && self.bbr.model.rounds.start && !rs.app_limited && !self.bbr.filled_pipe {
            self.bbr.filled_pipe = true;
            let bdp = self.bbr.bdp_multiple(self.bbr.model.bw, 1.0);
            self.bbr.model.bounds.inflight_hi = bdp.max(self.bbr.signals.inflight_latest);
        }
    }

    /// Implements `BBRCheckDrain`.
    pub(super) fn check_drain(&mut self, now: Time, inflight: u64) {
        if self.bbr.state == State::Drain && inflight <= self.bbr.inflight(self.bbr.model.bw, 1.0) {
            self.start_probe_bw_down(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Params;
    use super::super::script::{MDS, bbr, bbr_with, known, known_with, sample};
    use super::*;
    use crate::algorithms::bbr::common::model::INFINITE;
    use crate::testing::fixtures::acked;

    /// Plays a round with this bandwidth.
    fn round(cc: &mut Bbr2, mbit: u64, app_limited: bool) {
        let rs = RateSample { app_limited, ..sample(mbit, 0) };
        cc.bbr.model.update_max_bw(&rs);
        cc.bbr.model.rounds.start = true;
        cc.check_startup_done(&acked(MDS), &rs);
    }

    /// Three rounds below +25 %. A fourth round with +25 % restarts the count.
    #[test]
    fn three_flat_rounds_fill_the_pipe() {
        let mut cc = bbr();
        for mbit in [10, 20, 40, 49, 49, 50, 62, 62] {
            round(&mut cc, mbit, false);
            assert_eq!(cc.bbr.state, State::Startup, "{mbit}");
        }
        round(&mut cc, 62, false);
        assert_eq!(cc.bbr.state, State::Drain);
    }

    #[test]
    fn application_limited_rounds_prove_nothing() {
        let mut cc = bbr();
        round(&mut cc, 10, false);
        for _ in 0..20 {
            round(&mut cc, 10, true);
        }
        assert_eq!(cc.bbr.state, State::Startup);
    }

    fn loss_round(cc: &mut Bbr2, in_recovery: bool, ranges: u64, lost: u64) -> bool {
        cc.bbr.signals.loss_round_start = true;
        cc.bbr.signals.lost_ranges = ranges;
        let rs = RateSample { app_limited: true, tx_in_flight: 100 * MDS, lost: lost * MDS, ..sample(10, 0) };
        cc.check_startup_done(&Ack { in_recovery, ..acked(MDS) }, &rs);
        cc.bbr.filled_pipe
    }

    /// All three conditions: a round in recovery, more than 2 %, enough ranges. Also while
    /// application-limited.
    #[test]
    fn high_loss_ends_startup() {
        assert_eq!(Params::default().startup_full_loss_cnt, 3);
        for (first, second, ranges, lost, ends) in [
            (true, true, 3, 3, true),
            (false, true, 3, 3, false),
            (true, false, 3, 3, false),
            (true, true, 2, 3, false),
            (true, true, 3, 2, false),
        ] {
            let mut cc = bbr();
            assert!(!loss_round(&mut cc, first, ranges, lost), "never in the first round");
            assert_eq!(loss_round(&mut cc, second, ranges, lost), ends);
            assert_eq!(cc.bbr.state == State::Drain, ends);
        }
        let mut linux = bbr_with(Params { startup_full_loss_cnt: 8, ..Params::default() });
        assert!(!loss_round(&mut linux, true, 7, 9) && !loss_round(&mut linux, true, 7, 9));
        assert!(loss_round(&mut linux, true, 8, 9));
    }

    /// mvfst: a loss round with 3 of 100 packets lost in 6 ranges, at the start of a round, not
    /// application-limited, in recovery or not. The bound is the BDP, 125 000 bytes at 10 Mbit/s
    /// and 100 ms, or the bytes delivered in the round if more.
    #[test]
    fn a_lossy_round_ends_startup() {
        for (lost, ranges, round_start, app_limited, delivered, bound) in [
            (3, 6, true, false, 90_000, Some(125_000)),
            (3, 6, true, false, 150_000, Some(150_000)),
            (2, 6, true, false, 90_000, None),
            (3, 5, true, false, 90_000, None),
            (3, 6, false, false, 90_000, None),
            (3, 6, true, true, 90_000, None),
        ] {
            let mut cc = known_with(super::super::params::mvfst_values(), 10, 100);
            cc.bbr.filled_pipe = false;
            cc.bbr.signals.inflight_latest = delivered;
            cc.loss_round.sent = 100 * MDS;
            cc.loss_round.on_ack(lost * MDS, false, 0);
            cc.loss_round.on_ack(0, true, ranges);
            cc.bbr.model.rounds.start = round_start;
            cc.check_startup_done(&acked(MDS), &RateSample { app_limited, ..sample(10, 0) });
            let bounded = Some(cc.bbr.model.bounds.inflight_hi).filter(|&hi| hi != INFINITE);
            assert_eq!((cc.bbr.state == State::Drain, bounded), (bound.is_some(), bound), "{lost} {ranges}");
        }
    }

    /// 10 Mbit/s and 100 ms are 125 000 bytes.
    #[test]
    fn drain_ends_at_one_bdp() {
        let mut cc = known(10, 100);
        cc.bbr.state = State::Drain;
        assert_eq!(cc.bbr.pacing_gain(), 0.5);
        cc.check_drain(Time::ZERO, 125_001);
        assert_eq!(cc.bbr.state, State::Drain);
        cc.check_drain(Time::ZERO, 125_000);
        assert_eq!(cc.bbr.state, State::ProbeBwDown);
    }
}

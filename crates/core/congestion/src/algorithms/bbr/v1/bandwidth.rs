//! Bandwidth estimate: the windowed maximum or a policer's rate. Also ACK aggregation and the
//! detection of a full pipe.

use super::Bbr1;
use super::cycle::Mode;
use super::policer::Evidence;
use crate::algorithms::bbr::common::aggregation::Arrival;
use crate::algorithms::bbr::common::newly_acked;
use crate::{Ack, RateSample};
use units::{Rate, Time};

impl Bbr1 {
    pub(super) fn max_bw(&self) -> Rate {
        Rate(self.bw_filter.max())
    }

    /// Returns the bandwidth for pacing.
    pub(super) fn bw(&self) -> Rate {
        if self.policer.lt_use_bw { self.policer.lt_bw } else { self.max_bw() }
    }

    pub(super) fn evidence(&self, losses: bool, app_limited: bool, round_start: bool) -> Evidence {
        let (delivered, lost) = (self.rounds.delivered, self.total_lost);
        Evidence { now: self.delivered_time, delivered, lost, losses, app_limited, round_start }
    }

    pub(super) fn look_for_policer(&mut self, now: Time, e: &Evidence) {
        let is_probe_bw = self.mode == Mode::ProbeBw;
        if self.params.policer && self.policer.sample(&self.params, e, is_probe_bw) {
            self.enter_probe_bw(now);
        }
    }

    /// `bbr_update_bw`: an application-limited sample counts only if it is a new maximum.
    pub(super) fn update_bw(&mut self, ack: &Ack, rs: &RateSample) {
        self.delivered_time = ack.now;
        self.rounds.update(ack.delivered, rs);
        self.look_for_policer(ack.now, &self.evidence(ack.lost > 0, rs.app_limited, self.rounds.start));
        if let Some(rate) = rs.delivery_rate.filter(|&r| r >= self.max_bw() || !rs.app_limited) {
            self.bw_filter.update(self.rounds.count, rate.0);
        }
        if core::mem::take(&mut self.conservation_begins) {
            self.rounds.begin();
        }
    }

    /// Implements `bbr_update_ack_aggregation`.
    pub(super) fn update_ack_aggregation(&mut self, ack: &Ack) {
        let tick = self.rounds.count / self.params.extra_acked_win_rtts.max(1);
        let (now, acked, bw, cwnd) = (ack.now, newly_acked(ack), self.bw(), self.window.cwnd);
        self.aggregation.update(&Arrival { now, acked, bw, cwnd, tick });
    }

    /// Implements `bbr_check_full_bw_reached`.
    pub(super) fn check_full_bw_reached(&mut self, rs: &RateSample) {
        if !self.full_bw_reached && self.rounds.start && !rs.app_limited {
            let (bw, p) = (self.max_bw(), &self.params);
            self.full_bw_reached = self.full_pipe.is_full(bw, p.full_bw_growth, p.full_bw_rounds);
        }
    }

    /// Resets the full-pipe search and the policer after a timeout: nothing is outstanding any more
    /// (`bbr_set_state`).
    pub(super) fn on_timeout(&mut self, now: Time) {
        self.enter_recovery(false);
        self.full_pipe.full_bw = Rate(0);
        self.look_for_policer(now, &self.evidence(true, false, true));
    }
}

//! Drain, and the phases of ProbeBW.

use super::{Bbr1Picoquic, Params, State};
use crate::{Ack, RateSample};
use units::{Duration, Time};

#[derive(Clone, Debug, Default)]
pub(super) struct Cycle {
    pub(super) index: usize,
    pub(super) start: usize,
    pub(super) stamp: Time,
    /// `cycle_on_loss`: whether this phase may end at once.
    pub(super) on_loss: bool,
}

impl Bbr1Picoquic {
    /// Implements `BBRIsNextCyclePhase`.
    pub(super) fn is_next_cycle_phase(&self, now: Time) -> bool {
        let (gain, inflight) = (self.pacing_gain(), self.prior_in_flight);
        let over = self.cycle.on_loss || now - self.cycle.stamp > self.rt_prop;
        over && if gain > 1.0 {
            inflight >= self.inflight(gain)
        } else {
            gain == 1.0 || inflight <= self.inflight(1.0)
        }
    }

    /// Implements `BBRAdvanceCyclePhase`.
    pub(super) fn advance_cycle_phase(&mut self, now: Time) {
        let mut index = self.cycle.index + 1;
        let mut start = self.cycle.start;
        if index >= self.params.pacing_gain_cycle.len() {
            let increased = core::mem::take(&mut self.btl_bw.increased);
            start = if increased { (start + 1).min(self.max_start()) } else { start.saturating_sub(1) };
            index = start;
        }
        self.cycle = Cycle { index, start, stamp: now, on_loss: false };
    }

    pub(super) fn max_start(&self) -> usize {
        (self.params.cycle_max_start as usize).min(self.params.pacing_gain_cycle.len() - 1)
    }

    /// Implements `BBREnterProbeBW`.
    pub(super) fn enter_probe_bw(&mut self, now: Time) {
        let Params { target_rtt, satellite_rtt, cycle_entry, .. } = self.params;
        let long = self.rt_prop > target_rtt && self.rt_prop < Duration::MAX;
        let start = if long { self.rt_prop.min(satellite_rtt).0 / target_rtt.0.max(1) } else { cycle_entry };
        let start = (start.min(8) as usize).min(self.max_start());
        self.state = State::ProbeBw;
        self.btl_bw.increased = true;
        self.cycle = Cycle { index: start, start, ..Cycle::default() };
        self.advance_cycle_phase(now);
    }

    /// Implements `BBRCheckFullPipe` and `BBRCheckDrain`.
    pub(super) fn check_drain(&mut self, ack: &Ack, rs: &RateSample) {
        if !self.filled_pipe && self.rounds.start && !rs.app_limited {
            let (bw, p) = (self.bw(), &self.params);
            self.filled_pipe = self.full_pipe.is_full(bw, p.full_bw_growth, p.full_bw_rounds);
        }
        if self.state == State::Startup && self.filled_pipe {
            self.state = State::Drain;
        }
        if self.state == State::Drain && ack.bytes_in_flight <= self.inflight(1.0) {
            self.enter_probe_bw(ack.now);
        }
    }
}

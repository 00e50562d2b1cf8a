//! ProbeBW: the cycle DOWN, CRUISE, REFILL, UP, and the long-term bound that it searches for.

use super::Frame;
use crate::algorithms::bbr::common::model::INFINITE;
use crate::algorithms::bbr::common::newly_acked;
use crate::algorithms::bbr::common::state::State;
use crate::{Ack, RateSample};
use units::Time;

impl Frame {
    /// `StartProbeBW_DOWN`, which is also `EnterProbeBW`.
    pub(crate) fn start_probe_bw_down(&mut self, now: Time) {
        self.signals.reset();
        self.probe.begin_down(now, &self.rules.wait, &mut self.rng);
        self.begin(State::ProbeBwDown);
    }

    /// Implements `StartProbeBW_REFILL`.
    pub(crate) fn start_probe_bw_refill(&mut self) {
        self.model.bounds.reset_lower();
        self.probe.begin_refill();
        self.begin(State::ProbeBwRefill);
    }

    /// Implements `StartProbeBW_UP`.
    pub(crate) fn start_probe_bw_up(&mut self, now: Time) {
        self.probe.begin_up(now);
        self.begin(State::ProbeBwUp);
        self.raise_inflight_hi_slope();
    }

    /// Returns the phase of ProbeBW, counted from DOWN.
    pub(crate) fn phase(&self) -> Option<usize> {
        self.state.is_probe_bw().then(|| self.state as usize - State::ProbeBwDown as usize)
    }

    /// Enters a state that begins a new round.
    fn begin(&mut self, state: State) {
        self.model.rounds.begin();
        self.state = state;
    }

    /// Implements `IsTimeToCruise`.
    pub(crate) fn is_time_to_cruise(&self, inflight: u64) -> bool {
        inflight <= self.inflight_with_headroom() && inflight <= self.inflight(self.model.max_bw(), 1.0)
    }

    /// `IsTimeToProbeBW`: the wait is over, or as many rounds have passed as Reno would need,
    /// limited to `max_rounds`.
    pub(crate) fn is_time_to_probe_bw(&self, now: Time, max_rounds: u64) -> bool {
        let reno_rounds = self.target_inflight() / self.mds.max(1);
        self.probe.is_time(now, reno_rounds.min(max_rounds))
    }

    /// Reports whether UP has built a queue: it has lasted a min_rtt, and `gain` times the BDP is
    /// in flight. With a gain scaled to at most 1 it builds none, and a min_rtt is enough.
    pub(crate) fn has_built_queue(&self, ack: &Ack, gain: f64) -> bool {
        let enough = self.inflight(self.model.max_bw(), gain);
        let slowed = self.scale().pacing < 1.0 && self.pacing_gain() <= 1.0;
        self.probe.has_elapsed_in_phase(ack.now, self.model.min_rtt.min_rtt)
            && (slowed || ack.bytes_in_flight > enough)
    }

    /// Implements `InflightWithHeadroom`.
    pub(crate) fn inflight_with_headroom(&self) -> u64 {
        let least = self.min_pipe_cwnd();
        self.model.bounds.inflight_with_headroom(self.rules.headroom, self.mds, least)
    }

    /// `HandleInflightTooHigh`: lowers the bound to the bytes in flight at the loss, but at most to
    /// `beta` times the target.
    pub(crate) fn cut_inflight_hi(&mut self, rs: &RateSample, target: u64) {
        let kept = (target as f64 * self.rules.beta) as u64;
        self.model.bounds.inflight_hi = rs.tx_in_flight.max(kept);
    }

    /// Raises the bound if inflight was not too high (`AdaptUpperBounds`, `AdaptLongTermModel`):
    /// the path carries this much.
    pub(crate) fn raise_inflight_hi(&mut self, ack: &Ack, rs: &RateSample, cwnd_limited: bool) {
        let bounds = &mut self.model.bounds;
        if bounds.inflight_hi == INFINITE {
            return;
        }
        bounds.inflight_hi = bounds.inflight_hi.max(rs.tx_in_flight);
        // Only a flow that uses the whole bound may raise it.
        if self.state == State::ProbeBwUp && cwnd_limited && self.window.cwnd >= bounds.inflight_hi {
            self.probe_inflight_hi_upward(ack);
        }
    }

    /// `ProbeInflightHiUpward`, in version 3 `ProbeInflightLongtermUpward`.
    pub(crate) fn probe_inflight_hi_upward(&mut self, ack: &Ack) {
        let delta = self.probe.upward(newly_acked(ack)).saturating_mul(self.mds);
        self.model.bounds.inflight_hi = self.model.bounds.inflight_hi.saturating_add(delta);
        if self.model.rounds.start {
            self.raise_inflight_hi_slope();
        }
    }

    /// `RaiseInflightHiSlope`, in version 3 `RaiseInflightLongtermSlope`.
    pub(crate) fn raise_inflight_hi_slope(&mut self) {
        self.probe.raise_slope(self.window.cwnd, self.mds, self.rules.probe_up_max_rounds);
    }
}

//! The gains of the states, draft section 5.6.1.

use super::{Bbr3, State};
use crate::STATE;
use crate::algorithms::bbr::common::model::INFINITE;

impl Bbr3 {
    pub(super) fn cwnd_gain(&self) -> f64 {
        match self.bbr.state {
            State::ProbeBwUp => self.params.probe_up_cwnd_gain,
            State::ProbeRtt => self.params.probe_rtt_cwnd_gain,
            _ => self.params.default_cwnd_gain,
        }
    }
}

impl Bbr3 {
    /// Rates in bits per second, times in seconds, windows in bytes.
    pub(super) fn trace_state(&self, put: &mut dyn FnMut(&'static str, f64)) {
        let bound = |bytes: u64| if bytes == INFINITE { f64::INFINITY } else { bytes as f64 };
        let flag = |on: bool| f64::from(u8::from(on));
        put(STATE, self.bbr.state.number());
        put("round_count", self.bbr.model.rounds.count as f64);
        put("max_bw", self.bbr.model.max_bw().0 as f64);
        put("bw", self.bbr.model.bw.0 as f64);
        put("bw_shortterm", bound(self.bbr.model.bounds.bw_lo));
        put("min_rtt", self.bbr.model.min_rtt.min_rtt.as_secs_f64());
        put("inflight_longterm", bound(self.bbr.model.bounds.inflight_hi));
        put("inflight_shortterm", bound(self.bbr.model.bounds.inflight_lo));
        put("extra_acked", self.bbr.model.aggregation.extra_acked() as f64);
        put("pacing_gain", self.bbr.pacing_gain());
        put("cwnd_gain", self.cwnd_gain());
        put("full_bw_reached", flag(self.bbr.filled_pipe));
        put("full_bw_now", flag(self.full_pipe.full_bw_now));
        put("full_bw_count", self.full_pipe.search.full_bw_count as f64);
        put("idle_restart", flag(self.bbr.idle_restart));
        put("bw_probe_wait", self.bbr.probe.bw_probe_wait.as_secs_f64());
        put("prev_probe_too_high", flag(self.caution.prev_probe_too_high));
    }
}

#[cfg(test)]
mod tests {
    use super::super::script::bbr;
    use super::*;

    /// The draft's table, sheet 4.4.
    #[test]
    fn gains() {
        let mut cc = bbr();
        for (state, pacing, cwnd) in [
            (State::Startup, 2.77, 2.0),
            (State::Drain, 0.5, 2.0),
            (State::ProbeBwDown, 0.9, 2.0),
            (State::ProbeBwCruise, 1.0, 2.0),
            (State::ProbeBwRefill, 1.0, 2.0),
            (State::ProbeBwUp, 1.25, 2.25),
            (State::ProbeRtt, 1.0, 0.5),
        ] {
            cc.bbr.state = state;
            assert_eq!((cc.bbr.pacing_gain(), cc.cwnd_gain()), (pacing, cwnd), "{state:?}");
        }
    }
}

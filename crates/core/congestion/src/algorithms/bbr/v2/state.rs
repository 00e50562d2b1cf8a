//! Gains of the states, draft section 4.6.1.

use super::Bbr2;
use crate::STATE;
use crate::algorithms::bbr::common::model::INFINITE;
pub(super) use crate::algorithms::bbr::common::state::State;
use crate::algorithms::bbr::scale::{Scale, Scaled};

crate::variables! {
    /// Largest delivery rate of the last two ProbeBW cycles, BBR.max_bw. Draft section 4.5.2.
    max_bw: "bit/s",
    /// Bandwidth used by the model, BBR.bw. Draft section 4.5.2.
    bw: "bit/s",
    /// Short-term bound on the bandwidth after losses, BBR.bw_lo, infinite if not set. Draft
    /// section 4.5.6.3.
    bw_lo: "bit/s",
    /// Smallest RTT, BBR.min_rtt. Draft section 4.5.3.
    min_rtt: "s",
    /// Long-term bound on inflight, BBR.inflight_hi, infinite before the first excessive loss.
    /// Draft section 4.5.6.2.
    inflight_hi: "bytes",
    /// Short-term bound on inflight after losses, BBR.inflight_lo, infinite if not set. Draft
    /// section 4.5.6.3.
    inflight_lo: "bytes",
    /// Most bytes recently acknowledged beyond the estimated rate, BBR.extra_acked. Draft section
    /// 4.5.5.
    extra_acked: "bytes",
    /// Gain of the pacing rate, BBR.pacing_gain. Draft section 4.6.1.
    pacing_gain: "",
    /// Gain of the window, BBR.cwnd_gain. Draft section 4.6.1.
    cwnd_gain: "",
    /// Whether the pipe has been full, 0 or 1, BBR.filled_pipe. Draft section 4.3.1.2.
    filled_pipe: "",
}

impl Bbr2 {
    pub(super) fn cwnd_gain(&self) -> f64 {
        let p = &self.params;
        let gain = match self.bbr.state {
            State::Startup | State::Drain => p.startup_cwnd_gain,
            State::ProbeBwDown | State::ProbeBwCruise | State::ProbeBwRefill => p.probe_bw_cwnd_gain,
            State::ProbeBwUp => p.probe_up_cwnd_gain.unwrap_or(p.probe_bw_cwnd_gain),
            State::ProbeRtt => p.probe_rtt_cwnd_gain,
        };
        gain * self.bbr.scale().cwnd
    }

    /// Reports the variables. Rates are in bits per second, times in seconds, windows in bytes.
    pub(super) fn trace_state(&self, put: &mut dyn FnMut(&'static str, f64)) {
        let bound = |bytes: u64| if bytes == INFINITE { f64::INFINITY } else { bytes as f64 };
        put(STATE, self.bbr.state.number());
        put("max_bw", self.bbr.model.max_bw().0 as f64);
        put("bw", self.bbr.model.bw.0 as f64);
        put("bw_lo", bound(self.bbr.model.bounds.bw_lo));
        put("min_rtt", self.bbr.model.min_rtt.min_rtt.as_secs_or_infinite());
        put("inflight_hi", bound(self.bbr.model.bounds.inflight_hi));
        put("inflight_lo", bound(self.bbr.model.bounds.inflight_lo));
        put("extra_acked", self.bbr.model.aggregation.extra_acked() as f64);
        put("pacing_gain", self.bbr.pacing_gain());
        put("cwnd_gain", self.cwnd_gain());
        put("filled_pipe", f64::from(u8::from(self.bbr.filled_pipe)));
    }
}

impl Scaled for Bbr2 {
    fn phase(&self) -> Option<usize> {
        self.bbr.phase()
    }

    fn scale_probe_bw(&mut self, scale: Scale) {
        self.bbr.scale_probe_bw(scale);
    }

    fn end_startup(&mut self) {
        self.bbr.filled_pipe = true;
    }
}

#[cfg(test)]
mod tests {
    use super::super::Params;
    use super::super::script::{bbr, bbr_with};
    use super::*;

    /// Gains of mvfst's Bbr2.cpp, with half of the RTT as a factor of 2 in Startup's pacing gain.
    #[test]
    fn gains_of_mvfst() {
        let mut cc = bbr_with(super::super::params::mvfst_values());
        for (state, pacing, cwnd) in [
            (State::Startup, 5.77, 2.885),
            (State::Drain, 0.5, 2.885),
            (State::ProbeBwDown, 0.9, 2.0),
            (State::ProbeBwCruise, 1.0, 2.0),
            (State::ProbeBwRefill, 1.0, 2.0),
            (State::ProbeBwUp, 1.25, 2.25),
            (State::ProbeRtt, 1.0, 0.5),
        ] {
            cc.bbr.state = state;
            assert_eq!((cc.bbr.pacing_gain(), cc.cwnd_gain()), (pacing, cwnd), "{state:?}");
        }
        let wide = Params { probe_bw_cwnd_gain: 3.0, ..Params::default() };
        let mut cc = bbr_with(wide);
        cc.bbr.state = State::ProbeBwUp;
        assert_eq!(cc.cwnd_gain(), 3.0, "without a gain of its own");
    }

    /// Gains of the draft.
    #[test]
    fn gains() {
        let mut cc = bbr();
        let gains = [
            (State::Startup, 2.77, 2.0),
            (State::Drain, 0.5, 2.0),
            (State::ProbeBwDown, 0.9, 2.0),
            (State::ProbeBwCruise, 1.0, 2.0),
            (State::ProbeBwRefill, 1.0, 2.0),
            (State::ProbeBwUp, 1.25, 2.0),
            (State::ProbeRtt, 1.0, 0.5),
        ];
        for (state, pacing, cwnd) in gains {
            cc.bbr.state = state;
            assert_eq!((cc.bbr.pacing_gain(), cc.cwnd_gain()), (pacing, cwnd), "{state:?}");
        }
    }
}

//! Gains of the states, draft section 5.6.1.

use super::{Bbr3, State};
use crate::STATE;
use crate::algorithms::bbr::common::model::INFINITE;
use crate::algorithms::bbr::scale::{Scale, Scaled};

crate::variables! {
    /// Rounds since the start, BBR.round_count. Draft section 5.5.1.
    round_count: "rounds",
    /// Largest delivery rate of the last two ProbeBW cycles, BBR.max_bw. Draft section 5.5.5.
    max_bw: "bit/s",
    /// Bandwidth used by the model, BBR.bw. Draft section 5.5.10.
    bw: "bit/s",
    /// Short-term bound on the bandwidth after losses, BBR.bw_shortterm, infinite if not set. Draft
    /// section 5.5.10.3.
    bw_shortterm: "bit/s",
    /// Smallest RTT, BBR.min_rtt. Draft section 5.3.4.
    min_rtt: "s",
    /// Long-term bound on inflight, BBR.inflight_longterm, infinite before the first excessive
    /// loss. Draft section 5.5.10.2.
    inflight_longterm: "bytes",
    /// Short-term bound on inflight after losses, BBR.inflight_shortterm, infinite if not set.
    /// Draft section 5.5.10.3.
    inflight_shortterm: "bytes",
    /// Most bytes recently acknowledged beyond the estimated rate, BBR.extra_acked. Draft section
    /// 5.5.9.
    extra_acked: "bytes",
    /// Gain of the pacing rate, BBR.pacing_gain. Draft section 5.6.1.
    pacing_gain: "",
    /// Gain of the window, BBR.cwnd_gain. Draft section 5.6.1.
    cwnd_gain: "",
    /// Whether the pipe has been full since the start, 0 or 1, BBR.full_bw_reached. Draft section
    /// 5.3.1.2.
    full_bw_reached: "",
    /// Whether the pipe is full by the current search, 0 or 1, BBR.full_bw_now. Draft section
    /// 5.3.1.2.
    full_bw_now: "",
    /// Rounds without significant growth of the rate, BBR.full_bw_count. Draft section 5.3.1.2.
    full_bw_count: "rounds",
    /// Whether the flow restarts after an idle time, 0 or 1, BBR.idle_restart. Draft section 5.4.1.
    idle_restart: "",
    /// Time until the next bandwidth probe, BBR.bw_probe_wait. Draft section 5.3.3.
    bw_probe_wait: "s",
    /// Whether the last probe lost too much, so that the next one is precautionary, 0 or 1. Draft
    /// section 5.3.3.6.
    prev_probe_too_high: "",
}

impl Bbr3 {
    pub(super) fn cwnd_gain(&self) -> f64 {
        let gain = match self.bbr.state {
            State::ProbeBwUp => self.params.probe_up_cwnd_gain,
            State::ProbeRtt => self.params.probe_rtt_cwnd_gain,
            _ => self.params.default_cwnd_gain,
        };
        gain * self.bbr.scale().cwnd
    }

    /// Reports the variables. Rates are in bits per second, times in seconds, windows in bytes.
    pub(super) fn trace_state(&self, put: &mut dyn FnMut(&'static str, f64)) {
        let bound = |bytes: u64| if bytes == INFINITE { f64::INFINITY } else { bytes as f64 };
        let flag = |on: bool| f64::from(u8::from(on));
        put(STATE, self.bbr.state.number());
        put("round_count", self.bbr.model.rounds.count as f64);
        put("max_bw", self.bbr.model.max_bw().0 as f64);
        put("bw", self.bbr.model.bw.0 as f64);
        put("bw_shortterm", bound(self.bbr.model.bounds.bw_lo));
        put("min_rtt", self.bbr.model.min_rtt.min_rtt.as_secs_or_infinite());
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

impl Scaled for Bbr3 {
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
    use super::super::script::bbr;
    use super::*;

    /// The draft's table of gains.
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

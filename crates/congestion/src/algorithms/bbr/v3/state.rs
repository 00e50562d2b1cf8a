//! The gains of the states, draft section 5.6.1.

use super::{Bbr3, State};

impl Bbr3 {
    pub(super) fn pacing_gain(&self) -> f64 {
        let p = &self.params;
        match self.state {
            State::Startup => p.startup_pacing_gain,
            State::Drain => p.drain_pacing_gain,
            State::ProbeBwDown => p.probe_down_pacing_gain,
            State::ProbeBwCruise => p.probe_cruise_pacing_gain,
            State::ProbeBwRefill => p.probe_refill_pacing_gain,
            State::ProbeBwUp => p.probe_up_pacing_gain,
            State::ProbeRtt => p.probe_rtt_pacing_gain,
        }
    }

    pub(super) fn cwnd_gain(&self) -> f64 {
        match self.state {
            State::ProbeBwUp => self.params.probe_up_cwnd_gain,
            State::ProbeRtt => self.params.probe_rtt_cwnd_gain,
            _ => self.params.default_cwnd_gain,
        }
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
            cc.state = state;
            assert_eq!((cc.pacing_gain(), cc.cwnd_gain()), (pacing, cwnd), "{state:?}");
        }
    }
}

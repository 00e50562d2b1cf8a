//! The states and their gains, draft section 4.6.1.

use super::Params;

/// `BBR.state`, with ProbeBW's four phases as states of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Doubles its rate each round.
    Startup,
    /// Empties the queue that Startup left.
    Drain,
    /// Slower than the estimate: drains what UP left, and leaves headroom.
    ProbeBwDown,
    /// At the estimate.
    ProbeBwCruise,
    /// At the estimate without the short-term bounds, for a round: the pipe is full before the probe.
    ProbeBwRefill,
    /// Faster than the estimate: is there more?
    ProbeBwUp,
    /// Next to nothing in flight: the path's own delay shows.
    ProbeRtt,
}

impl State {
    pub(super) fn pacing_gain(self, p: &Params) -> f64 {
        match self {
            Self::Startup => p.startup_pacing_gain,
            Self::Drain => p.drain_pacing_gain,
            Self::ProbeBwDown => p.probe_down_pacing_gain,
            Self::ProbeBwCruise => p.probe_cruise_pacing_gain,
            Self::ProbeBwRefill => p.probe_refill_pacing_gain,
            Self::ProbeBwUp => p.probe_up_pacing_gain,
            Self::ProbeRtt => p.probe_rtt_pacing_gain,
        }
    }

    pub(super) fn cwnd_gain(self, p: &Params) -> f64 {
        match self {
            Self::Startup | Self::Drain => p.startup_cwnd_gain,
            Self::ProbeBwDown | Self::ProbeBwCruise | Self::ProbeBwRefill | Self::ProbeBwUp => {
                p.probe_bw_cwnd_gain
            }
            Self::ProbeRtt => p.probe_rtt_cwnd_gain,
        }
    }

    /// `IsInAProbeBWState`.
    pub(super) fn is_probe_bw(self) -> bool {
        !matches!(self, Self::Startup | Self::Drain | Self::ProbeRtt)
    }

    /// `BBRIsProbingBW`.
    pub(super) fn is_probing_bw(self) -> bool {
        matches!(self, Self::Startup | Self::ProbeBwRefill | Self::ProbeBwUp)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sheet 4.3.
    #[test]
    fn gains() {
        let p = Params::default();
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
            assert_eq!((state.pacing_gain(&p), state.cwnd_gain(&p)), (pacing, cwnd), "{state:?}");
        }
    }
}

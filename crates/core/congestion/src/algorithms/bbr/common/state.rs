//! States of versions 2 and 3. Each version has its own gains.

crate::states! {
    /// `BBR.state`, with the four phases of ProbeBW as separate states.
    pub(crate) enum State {
        /// Doubles the rate each round.
        Startup = "Startup",
        /// Drains the queue that Startup built.
        Drain = "Drain",
        /// Sends more slowly than the estimate: drains the queue that UP built and leaves headroom.
        ProbeBwDown = "ProbeBW_DOWN",
        /// Sends at the estimate.
        ProbeBwCruise = "ProbeBW_CRUISE",
        /// Sends at the estimate without short-term bounds for a round, so that the pipe is full
        /// before the probe.
        ProbeBwRefill = "ProbeBW_REFILL",
        /// Sends faster than the estimate, to probe for more bandwidth.
        ProbeBwUp = "ProbeBW_UP",
        /// Keeps very little in flight, to measure the path's own delay.
        ProbeRtt = "ProbeRTT",
    }
}

impl State {
    /// Implements `IsInAProbeBWState`.
    pub(crate) fn is_probe_bw(self) -> bool {
        !matches!(self, Self::Startup | Self::Drain | Self::ProbeRtt)
    }

    /// Implements `BBRIsProbingBW`.
    pub(crate) fn is_probing_bw(self) -> bool {
        matches!(self, Self::Startup | Self::ProbeBwRefill | Self::ProbeBwUp)
    }
}

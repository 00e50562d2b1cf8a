//! The states of versions 2 and 3. Their gains are the versions' own.

crate::states! {
    /// `BBR.state`, with ProbeBW's four phases as states of their own.
    pub(crate) enum State {
        /// Doubles its rate each round.
        Startup = "Startup",
        /// Empties the queue that Startup left.
        Drain = "Drain",
        /// Slower than the estimate: drains what UP left, and leaves headroom.
        ProbeBwDown = "ProbeBW_DOWN",
        /// At the estimate.
        ProbeBwCruise = "ProbeBW_CRUISE",
        /// At the estimate without the short-term bounds, for a round: the pipe is full before the probe.
        ProbeBwRefill = "ProbeBW_REFILL",
        /// Faster than the estimate: is there more?
        ProbeBwUp = "ProbeBW_UP",
        /// Next to nothing in flight: the path's own delay shows.
        ProbeRtt = "ProbeRTT",
    }
}

impl State {
    /// `IsInAProbeBWState`.
    pub(crate) fn is_probe_bw(self) -> bool {
        !matches!(self, Self::Startup | Self::Drain | Self::ProbeRtt)
    }

    /// `BBRIsProbingBW`.
    pub(crate) fn is_probing_bw(self) -> bool {
        matches!(self, Self::Startup | Self::ProbeBwRefill | Self::ProbeBwUp)
    }
}

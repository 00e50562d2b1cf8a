//! The states of versions 2 and 3. Their gains are the versions' own.

/// `BBR.state`, with ProbeBW's four phases as states of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
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
    /// `IsInAProbeBWState`.
    pub(crate) fn is_probe_bw(self) -> bool {
        !matches!(self, Self::Startup | Self::Drain | Self::ProbeRtt)
    }

    /// `BBRIsProbingBW`.
    pub(crate) fn is_probing_bw(self) -> bool {
        matches!(self, Self::Startup | Self::ProbeBwRefill | Self::ProbeBwUp)
    }
}

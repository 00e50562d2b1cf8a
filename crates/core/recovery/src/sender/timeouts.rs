//! Timeouts in a row: their backoff, and the judgement of the last one.

use units::Time;

/// State after a retransmission timeout: further packets that may be lost, until an acknowledgement
/// decides (see `timers`).
#[derive(Clone, Copy, Debug)]
pub(super) struct Suspicion {
    /// Packets below this number were sent so long before the timeout that they should have been
    /// acknowledged.
    pub(super) below: u64,
    /// Packets from this number on were sent after the timeout.
    pub(super) since: u64,
}

/// Timeouts since the last progress.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timeouts {
    /// Time of the last progress, from which the retransmission timeout counts.
    progress: Time,
    count: u32,
    suspicion: Option<Suspicion>,
}

impl Timeouts {
    /// Creates the state of a path that is used from `now` on.
    pub(super) fn new(now: Time) -> Self {
        Self { progress: now, count: 0, suspicion: None }
    }

    /// Returns the time from which the retransmission timeout counts.
    pub(super) fn progress(&self) -> Time {
        self.progress
    }

    /// Restarts the retransmission timeout.
    #[inline]
    pub(super) fn restart(&mut self, now: Time) {
        self.progress = now;
    }

    /// Records a timeout.
    pub(super) fn back_off(&mut self) {
        self.count += 1;
    }

    /// Ends the backoff.
    #[inline]
    pub(super) fn reset_backoff(&mut self) {
        self.count = 0;
    }

    /// Returns the number of timeouts in a row.
    pub(super) fn count(&self) -> u32 {
        self.count
    }

    /// Suspects packets until the next acknowledgement. Repeated timeouts keep the first packet
    /// sent after all of them, or `next` after the first.
    pub(super) fn suspect(&mut self, below: u64, next: u64) {
        let since = self.suspicion.map_or(next, |s| s.since);
        self.suspicion = Some(Suspicion { below, since });
    }

    /// Reports whether packets are suspected.
    pub(super) fn suspects(&self) -> bool {
        self.suspicion.is_some()
    }

    /// Takes the suspicion, which the current acknowledgement decides.
    #[inline]
    pub(super) fn take_suspicion(&mut self) -> Option<Suspicion> {
        self.suspicion.take()
    }
}

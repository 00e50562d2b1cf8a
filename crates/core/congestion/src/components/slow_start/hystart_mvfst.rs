//! HyStart as in mvfst's QuicCubic.cpp.

use super::Round;
use crate::Ack;
use units::{Duration, Time};

/// kAckSampling, mvfst QuicConstants.h:512.
pub(super) const MVFST_SAMPLES: u64 = 8;

/// kLowSsthreshInMss, packets, mvfst QuicConstants.h:514.
pub(super) const MVFST_LOW_WINDOW: u64 = 16;

/// kDelayIncreaseLowerBound, mvfst QuicConstants.h:520.
pub(super) const MVFST_DELAY_MIN: Duration = Duration::from_millis(4);

/// kDelayIncreaseUpperBound, mvfst QuicConstants.h:518.
pub(super) const MVFST_DELAY_MAX: Duration = Duration::from_millis(16);

/// The 4-bit shift of the previous minimum, mvfst QuicCubic.cpp:545.
pub(super) const MVFST_DELAY_DIVISOR: u64 = 16;

#[derive(Clone, Debug, Default)]
pub(super) struct Mvfst {
    pub(super) previous_min: Option<Duration>,
    pub(super) current: Option<Round>,
    /// Start of the round, or `None` while no round runs.
    pub(super) round: Option<Time>,
    /// Whether the RTT has risen in this round.
    pub(super) found: bool,
}

impl Mvfst {
    pub(super) fn ended(&mut self, ack: &Ack, large_enough: bool) -> bool {
        let start = self.round.unwrap_or_else(|| self.begin(ack.now));
        if let Some(rtt) = ack.latest_rtt {
            self.sample(rtt);
        }
        if self.found && large_enough {
            *self = Self::default();
            return true;
        }
        // Packets sent because of this ACK have its time as send time, but are sent after it.
        if ack.packets.last().is_some_and(|newest| newest.sent >= start) {
            self.round = None;
        }
        false
    }

    pub(super) fn begin(&mut self, now: Time) -> Time {
        self.previous_min = self.current.take().map(|round| round.min_rtt);
        (self.round, self.found) = (Some(now), false);
        now
    }

    pub(super) fn sample(&mut self, rtt: Duration) {
        let current = self.current.get_or_insert(Round::EMPTY);
        if current.samples < MVFST_SAMPLES {
            current.sample(rtt);
        }
        let risen = |before: Duration| current.min_rtt >= before + mvfst_thresh(before);
        self.found = current.samples >= MVFST_SAMPLES && self.previous_min.is_some_and(risen);
    }
}

/// Returns the rise of a round's smallest RTT that ends slow start.
pub(super) fn mvfst_thresh(previous_min: Duration) -> Duration {
    (previous_min / MVFST_DELAY_DIVISOR).clamp(MVFST_DELAY_MIN, MVFST_DELAY_MAX)
}

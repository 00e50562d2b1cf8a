//! What the relay counts that no link counts.

use hdrhistogram::Histogram;
use units::{Duration, Time};

use crate::linux::watch::Change;
use crate::relay::side::Snapshot;

/// Bytes that the emulator holds at most, both directions together. An unlimited queue under a flood would otherwise
/// take the machine's memory.
pub const MAX_HELD: u64 = 512 << 20;

/// What an engine counted that no link counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Anomalies {
    /// Packets that are no IP; not carried.
    pub malformed: u64,
    /// Packets that the receiver's kernel refused to take.
    pub refused: u64,
    /// Packets dropped because the emulator held [`MAX_HELD`] bytes.
    pub overflow: u64,
}

/// How a run went, when it is over.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) snapshot: Snapshot,
    pub(crate) timing: Timing,
    pub(crate) anomalies: Anomalies,
    /// The first change of each end's interface that was not ours, and when.
    pub(crate) changes: [Option<(Time, Change)>; 2],
    /// Of the engine's thread.
    pub(crate) cpu: Duration,
}

/// Lateness of every packet handed over, collected by the engine.
#[derive(Debug)]
pub(crate) struct Timing {
    pub(crate) lateness: Histogram<u64>,
}

impl Default for Timing {
    fn default() -> Self {
        // Three digits from 1 ns to a minute; the constructor refuses only bounds that make no sense.
        let lateness = Histogram::new_with_bounds(1, 60_000_000_000, 3);
        Self { lateness: lateness.unwrap_or_else(|_| unreachable!("constant bounds")) }
    }
}

impl Timing {
    pub(crate) fn late(&mut self, by: Duration) {
        self.lateness.saturating_record(by.0);
    }
}

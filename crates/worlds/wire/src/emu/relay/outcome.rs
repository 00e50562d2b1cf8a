//! Counters of the relay that no link has.

use hdrhistogram::Histogram;
use units::{Duration, Time};

use crate::emu::linux::watch::Change;
use crate::emu::relay::side::Snapshot;

/// Largest number of bytes that the emulator holds, both directions together. An unlimited queue
/// under a flood would otherwise take the machine's memory.
pub const MAX_HELD: u64 = 512 << 20;

/// Packets that the engine could not carry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Anomalies {
    /// Packets that are not IP.
    pub malformed: u64,
    /// Packets that the receiver's kernel refused to take.
    pub refused: u64,
    /// Packets dropped because the emulator held [`MAX_HELD`] bytes.
    pub overflow: u64,
}

/// Results of the engine.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) snapshot: Snapshot,
    pub(crate) timing: Timing,
    pub(crate) anomalies: Anomalies,
    /// First change of each end's interface that the emulator did not make, and its time.
    pub(crate) changes: [Option<(Time, Change)>; 2],
    /// CPU time of the engine's thread.
    pub(crate) cpu: Duration,
}

/// Lateness of every delivered packet.
#[derive(Debug)]
pub(crate) struct Timing {
    pub(crate) lateness: Histogram<u64>,
}

impl Default for Timing {
    fn default() -> Self {
        // Three digits from 1 ns to a minute; the constructor refuses only bounds that make no
        // sense.
        let lateness = Histogram::new_with_bounds(1, 60_000_000_000, 3);
        Self { lateness: lateness.unwrap_or_else(|_| unreachable!("constant bounds")) }
    }
}

impl Timing {
    pub(crate) fn late(&mut self, by: Duration) {
        self.lateness.saturating_record(by.0);
    }
}

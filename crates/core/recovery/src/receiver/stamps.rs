//! Receive times that every ACK repeats until an ACK that contained them is acknowledged.
//!
//! No receive time is lost with an ACK frame. draft-ietf-quic-receive-ts-02 allows a time to be
//! reported later than the first ACK of its packet, and more than once.

use std::collections::VecDeque;

/// A receive time that has not been acknowledged.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    /// Number of receive times logged before this one.
    index: u64,
    /// Packet number and clock reading.
    stamp: (u64, i64),
}

/// The latest receive times, in order of arrival, at most `capacity` of them.
#[derive(Clone, Debug)]
pub(super) struct StampLog {
    capacity: usize,
    waiting: VecDeque<Waiting>,
    /// Number of receive times logged so far.
    noted: u64,
}

impl StampLog {
    pub(super) fn new(capacity: usize) -> Self {
        Self { capacity, waiting: VecDeque::new(), noted: 0 }
    }

    /// Adds a receive time. Drops the oldest if the log is full.
    pub(super) fn push(&mut self, stamp: (u64, i64)) {
        if self.waiting.len() >= self.capacity {
            self.waiting.pop_front();
        }
        self.waiting.push_back(Waiting { index: self.noted, stamp });
        self.noted += 1;
    }

    pub(super) fn write(&self, stamps: &mut Vec<(u64, i64)>) {
        stamps.extend(self.waiting.iter().map(|waiting| waiting.stamp));
    }

    /// Returns the indices of the latest `count` times, as a half-open range.
    pub(super) fn latest(&self, count: usize) -> (u64, u64) {
        let first = self.waiting.len().saturating_sub(count);
        (self.waiting.get(first).map_or(self.noted, |waiting| waiting.index), self.noted)
    }

    /// Removes the times with these indices, which the peer has received. Older times may now fit
    /// into an ACK.
    pub(super) fn forget(&mut self, (first, end): (u64, u64)) {
        let from = self.waiting.partition_point(|waiting| waiting.index < first);
        let to = self.waiting.partition_point(|waiting| waiting.index < end).max(from);
        self.waiting.drain(from..to);
    }
}

//! Receive times that are told again and again, until an acknowledgement that held them is acknowledged itself: an ACK frame that is lost
//! takes none with it (draft-ietf-quic-receive-ts-02: a time may come later than the first ACK of its packet, and more than once).

use std::collections::VecDeque;

/// A receive time that waits.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    /// How many had been noted before it.
    place: u64,
    /// Packet number and reading of the clock.
    stamp: (u64, i64),
}

/// In order of arrival, the latest at the end; at most so many.
#[derive(Clone, Debug)]
pub(super) struct StampLog {
    most: usize,
    waiting: VecDeque<Waiting>,
    /// Noted so far.
    noted: u64,
}

impl StampLog {
    pub(super) fn new(most: usize) -> Self {
        Self { most, waiting: VecDeque::new(), noted: 0 }
    }

    /// The oldest makes room.
    pub(super) fn note(&mut self, stamp: (u64, i64)) {
        if self.waiting.len() >= self.most {
            self.waiting.pop_front();
        }
        self.waiting.push_back(Waiting { place: self.noted, stamp });
        self.noted += 1;
    }

    pub(super) fn write(&self, stamps: &mut Vec<(u64, i64)>) {
        stamps.extend(self.waiting.iter().map(|waiting| waiting.stamp));
    }

    /// The places of the `count` latest, from the first to one beyond the last.
    pub(super) fn latest(&self, count: usize) -> (u64, u64) {
        let first = self.waiting.len().saturating_sub(count);
        (self.waiting.get(first).map_or(self.noted, |waiting| waiting.place), self.noted)
    }

    /// Those at these places have been told. What is older and had no room may have it now.
    pub(super) fn forget(&mut self, (first, end): (u64, u64)) {
        let from = self.waiting.partition_point(|waiting| waiting.place < first);
        let to = self.waiting.partition_point(|waiting| waiting.place < end).max(from);
        self.waiting.drain(from..to);
    }
}

//! What a queue discipline did to packets besides passing them on.

use crate::aqm::fifo::Waiting;
use crate::backlog::Tally;
use crate::counters::DropReason;
use crate::packet::Packet;

/// Packets dropped after they had been taken, and a count of those marked. The link empties it after each call.
#[derive(Debug)]
pub(crate) struct Signals<P> {
    pub(crate) dropped: Vec<(Waiting<P>, DropReason)>,
    pub(crate) marked: Tally,
}

impl<P> Default for Signals<P> {
    fn default() -> Self {
        Self { dropped: Vec::new(), marked: Tally::default() }
    }
}

impl<P: Packet> Signals<P> {
    /// Marks a packet; false, and nothing done, when it cannot be marked.
    pub(crate) fn mark(&mut self, packet: &mut P) -> bool {
        let marked = packet.set_ce();
        if marked {
            self.marked.add(packet.size());
        }
        marked
    }

    /// Drops a packet that had been taken.
    pub(crate) fn drop(&mut self, waiting: Waiting<P>, reason: DropReason) {
        self.dropped.push((waiting, reason));
    }
}

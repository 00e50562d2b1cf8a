//! Effects of a queue discipline on packets besides passing them on.

use crate::aqm::fifo::Waiting;
use crate::backlog::Count;
use crate::counters::DropReason;
use crate::packet::Packet;

/// Packets dropped after they were admitted, and a count of those marked. The link empties it after
/// each call.
#[derive(Debug)]
pub(crate) struct Signals<P> {
    pub(crate) dropped: Vec<(Waiting<P>, DropReason)>,
    pub(crate) marked: Count,
}

impl<P> Default for Signals<P> {
    fn default() -> Self {
        Self { dropped: Vec::new(), marked: Count::default() }
    }
}

impl<P: Packet> Signals<P> {
    /// Marks a packet. Returns false and changes nothing if the packet is not ECN-capable.
    pub(crate) fn mark(&mut self, packet: &mut P) -> bool {
        let marked = packet.set_ce();
        if marked {
            self.marked.add(packet.size());
        }
        marked
    }

    /// Drops a packet that had been admitted.
    pub(crate) fn drop(&mut self, waiting: Waiting<P>, reason: DropReason) {
        self.dropped.push((waiting, reason));
    }
}

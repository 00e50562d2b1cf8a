//! Detects lost messages of a stack that reports neither which packet carries a message nor which
//! messages are lost.

use std::collections::VecDeque;

use crate::stream_chunks::Chunk;

/// Number of later messages that must arrive before a message counts as lost (the packet threshold
/// of RFC 9002 section 6.1.1).
const THRESHOLD: u8 = 3;

/// The message waiting in the stack, and those in flight.
#[derive(Debug, Default)]
pub(crate) struct MessageTracker {
    waiting: Option<Chunk>,
    /// Messages in flight, in sending order: offset, and number of later messages that have
    /// arrived.
    in_flight: VecDeque<(u64, u8)>,
}

impl MessageTracker {
    /// Sets or clears the waiting message.
    pub(crate) fn set_waiting(&mut self, message: Option<Chunk>) {
        self.waiting = message;
    }

    /// Reports whether a message is waiting.
    pub(crate) fn is_waiting(&self) -> bool {
        self.waiting.is_some()
    }

    /// Records that the waiting message was sent.
    pub(crate) fn on_departure(&mut self) {
        self.in_flight.extend(self.waiting.take().map(|(start, _)| (start, 0)));
    }

    /// Records the arrival of the message at offset `start`. Returns the offsets of the messages
    /// that count as lost because of it.
    pub(crate) fn on_arrival(&mut self, start: u64) -> Vec<u64> {
        // A duplicate, or a message that arrived too late.
        let Some(place) = self.in_flight.iter().position(|(other, _)| *other == start) else {
            return Vec::new();
        };
        self.in_flight.remove(place);
        self.in_flight.iter_mut().take(place).for_each(|(_, later)| *later += 1);
        let is_lost = |&&(_, later): &&(u64, u8)| later >= THRESHOLD;
        let lost = self.in_flight.iter().take(place).filter(is_lost).map(|(start, _)| *start).collect();
        self.in_flight.retain(|(_, later)| *later < THRESHOLD);
        lost
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_later_ones() {
        let mut messages = MessageTracker::default();
        for start in [0, 100, 200, 300, 400, 500] {
            messages.set_waiting(Some((start, 100)));
            assert!(messages.is_waiting());
            messages.on_departure();
        }
        assert!(messages.on_arrival(100).is_empty());
        assert!(messages.on_arrival(100).is_empty(), "a copy");
        assert!(messages.on_arrival(300).is_empty());
        assert_eq!(messages.on_arrival(400), [0]);
        assert!(messages.on_arrival(0).is_empty(), "too late");
        assert!(messages.on_arrival(200).is_empty());
        assert!(messages.on_arrival(500).is_empty());
        assert!(messages.in_flight.is_empty());
    }
}

//! Detects lost messages of a stack that reports neither which packet carries a message nor which
//! messages are lost.

use std::collections::VecDeque;

/// Number of later messages that must arrive before a message counts as lost (the packet threshold
/// of RFC 9002 section 6.1.1).
const THRESHOLD: u8 = 3;

/// The messages in flight, in sending order: offset, and number of later messages that have
/// arrived.
#[derive(Debug, Default)]
pub(crate) struct MessageTracker(VecDeque<(u64, u8)>);

impl MessageTracker {
    /// Records that the message at offset `start` was sent.
    pub(crate) fn on_departure(&mut self, start: u64) {
        self.0.push_back((start, 0));
    }

    /// Records the arrival of the message at offset `start`. Returns the offsets of the messages
    /// that count as lost because of it.
    pub(crate) fn on_arrival(&mut self, start: u64) -> Vec<u64> {
        // A duplicate, or a message that arrived too late.
        let Some(place) = self.0.iter().position(|(other, _)| *other == start) else {
            return Vec::new();
        };
        self.0.remove(place);
        self.0.iter_mut().take(place).for_each(|(_, later)| *later += 1);
        let is_lost = |&&(_, later): &&(u64, u8)| later >= THRESHOLD;
        let lost = self.0.iter().take(place).filter(is_lost).map(|(start, _)| *start).collect();
        self.0.retain(|(_, later)| *later < THRESHOLD);
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
            messages.on_departure(start);
        }
        assert!(messages.on_arrival(100).is_empty());
        assert!(messages.on_arrival(100).is_empty(), "a copy");
        assert!(messages.on_arrival(300).is_empty());
        assert_eq!(messages.on_arrival(400), [0]);
        assert!(messages.on_arrival(0).is_empty(), "too late");
        assert!(messages.on_arrival(200).is_empty());
        assert!(messages.on_arrival(500).is_empty());
        assert!(messages.0.is_empty());
    }
}

//! Messages of a stack that says neither which packet has which nor which are lost.

use std::collections::VecDeque;

use crate::peer::Piece;

/// As many later messages must have arrived before one counts as lost (the packet threshold of RFC 9002 section 6.1.1).
const THRESHOLD: u8 = 3;

/// One that waits in the stack, and those that have left.
#[derive(Debug, Default)]
pub(crate) struct Unnumbered {
    waiting: Option<Piece>,
    /// In the order in which they left: where each begins, and how many later ones have arrived.
    flying: VecDeque<(u64, u8)>,
}

impl Unnumbered {
    /// This one waits, or none does.
    pub(crate) fn set_waiting(&mut self, message: Option<Piece>) {
        self.waiting = message;
    }

    /// One waits.
    pub(crate) fn is_waiting(&self) -> bool {
        self.waiting.is_some()
    }

    /// The one that waited leaves.
    pub(crate) fn on_departure(&mut self) {
        self.flying.extend(self.waiting.take().map(|(start, _)| (start, 0)));
    }

    /// The one that begins at `start` arrives; where those begin that count as lost by that.
    pub(crate) fn on_arrival(&mut self, start: u64) -> Vec<u64> {
        // A copy, or one that came too late.
        let Some(place) = self.flying.iter().position(|(other, _)| *other == start) else {
            return Vec::new();
        };
        self.flying.remove(place);
        self.flying.iter_mut().take(place).for_each(|(_, later)| *later += 1);
        let is_lost = |&&(_, later): &&(u64, u8)| later >= THRESHOLD;
        let lost = self.flying.iter().take(place).filter(is_lost).map(|(start, _)| *start).collect();
        self.flying.retain(|(_, later)| *later < THRESHOLD);
        lost
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_later_ones() {
        let mut messages = Unnumbered::default();
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
        assert!(messages.flying.is_empty());
    }
}

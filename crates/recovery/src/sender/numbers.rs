//! What the packets of a space are called.
//!
//! Packets that are in flight are counted in *slots*, without a gap: that is how they are found. Their packet numbers have gaps where a
//! packet is not in flight (an ACK alone) or a number was skipped: nothing is kept of those but that they are no slot's. And over all
//! spaces of a connection packets in flight have a *serial*, in the order of their departure: what controllers and recovery periods know.
//! With one space and no gap the three are the same, and here is nothing.

use std::collections::VecDeque;

/// From this slot on, until the next of these, numbers and serials rise by one with each slot.
#[derive(Clone, Copy, Debug)]
struct Run {
    slot: u64,
    number: u64,
    serial: u64,
}

/// Skipped numbers that are remembered: an ACK of an older one is believed.
const SKIPPED: usize = 16;

/// Numbers and serials of the slots of one space.
#[derive(Clone, Debug, Default)]
pub(crate) struct Numbers {
    runs: VecDeque<Run>,
    /// What number and serial of the newest slot are above it.
    above: (u64, u64),
    /// What the number of the next packet is above its slot.
    unwatched: u64,
    skipped: VecDeque<u64>,
    /// Not all that leaves asks for an ACK, or not all has a slot.
    mixed: bool,
}

impl Numbers {
    /// Every packet is in flight and elicits an ACK, and there is no other space and path: slots, numbers and serials are the same.
    #[inline]
    pub(crate) fn is_plain(&self) -> bool {
        !self.mixed
    }

    /// A packet is in flight that elicits no ACK, or on another path.
    pub(crate) fn mix(&mut self) {
        self.mixed = true;
    }

    /// A packet leaves that is not in flight.
    pub(crate) fn pass(&mut self) {
        self.mixed = true;
        self.unwatched += 1;
    }

    /// The number of slot `next` goes to no packet.
    pub(crate) fn skip(&mut self, next: u64) {
        if self.skipped.len() == SKIPPED {
            self.skipped.pop_front();
        }
        self.skipped.push_back(next + self.unwatched);
        self.pass();
    }

    /// A number from `low..=high` that no packet had.
    pub(crate) fn skipped_within(&self, low: u64, high: u64) -> bool {
        self.skipped.iter().any(|skipped| (low..=high).contains(skipped))
    }

    /// The number of the packet that gets slot `next`.
    #[inline]
    pub(crate) fn next(&self, next: u64) -> u64 {
        next + self.unwatched
    }

    /// The packet of slot `next` leaves with this serial; returns its number.
    #[inline]
    pub(crate) fn take(&mut self, next: u64, serial: u64) -> u64 {
        if self.mixed || serial != next { self.take_mixed(next, serial) } else { next }
    }

    #[inline(never)]
    fn take_mixed(&mut self, next: u64, serial: u64) -> u64 {
        let above = (self.unwatched, serial - next);
        if above != self.above {
            self.begin_run(next, above);
        }
        self.next(next)
    }

    fn begin_run(&mut self, slot: u64, above: (u64, u64)) {
        if self.runs.is_empty() && slot > 0 {
            self.runs.push_back(Run { slot: 0, number: 0, serial: 0 });
        }
        (self.above, self.mixed) = (above, true);
        self.runs.push_back(Run { slot, number: slot + above.0, serial: slot + above.1 });
    }

    /// The number of a slot that is still known.
    #[inline]
    pub(crate) fn of(&self, slot: u64) -> u64 {
        if self.mixed { slot + self.run(slot).above().0 } else { slot }
    }

    /// Its serial.
    #[inline]
    pub(crate) fn serial(&self, slot: u64) -> u64 {
        if self.mixed { slot + self.run(slot).above().1 } else { slot }
    }

    /// Number and serial of a slot.
    #[inline]
    pub(crate) fn names(&self, slot: u64) -> (u64, u64) {
        if self.mixed { (self.of(slot), self.serial(slot)) } else { (slot, slot) }
    }

    /// The first slot whose number is this, which has been given away, or a later one; `end` if there is none below.
    #[inline]
    pub(crate) fn slot_from(&self, number: u64, end: u64) -> u64 {
        if self.mixed { self.find(number, end) } else { number }
    }

    #[inline(never)]
    fn find(&self, number: u64, end: u64) -> u64 {
        let next = self.runs.partition_point(|run| run.number <= number);
        let end = self.runs.get(next).map_or(end, |run| run.slot);
        match next.checked_sub(1).and_then(|at| self.runs.get(at)) {
            Some(run) => (run.slot + (number - run.number)).min(end),
            None => number.min(end), // no gap yet
        }
    }

    /// The last run that begins at or before this slot, or the first.
    #[inline(never)]
    fn run(&self, slot: u64) -> Run {
        let none = Run { slot: 0, number: 0, serial: 0 };
        // Nearly always: there is one.
        let newest = self.runs.back().copied().unwrap_or(none);
        if newest.slot <= slot {
            return newest;
        }
        let next = self.runs.partition_point(|run| run.slot <= slot);
        self.runs.get(next.saturating_sub(1)).copied().unwrap_or(none)
    }

    /// Slots below this one are forgotten.
    #[inline]
    pub(crate) fn forget_below(&mut self, slot: u64) {
        while self.runs.len() > 1 && self.runs.get(1).is_some_and(|run| run.slot <= slot) {
            self.runs.pop_front();
        }
    }
}

impl Run {
    fn above(self) -> (u64, u64) {
        (self.number - self.slot, self.serial - self.slot)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// The same as lists, whatever leaves, and in whatever space others leave.
        #[test]
        fn like_lists(ops in prop::collection::vec((0u8..6, 1u64..4), 1..120), forgotten in 0usize..120) {
            let (mut numbers, mut slots, mut skipped) = (Numbers::default(), Vec::new(), Vec::new());
            let (mut next, mut serial) = (0, 0);
            for (op, count) in ops {
                for _ in 0..count {
                    match op {
                        0 => numbers.pass(),
                        1 => {
                            skipped.push(next);
                            numbers.skip(slots.len() as u64);
                        }
                        2 => serial += 1, // in another space
                        _ => {
                            prop_assert_eq!(numbers.next(slots.len() as u64), next);
                            numbers.take(slots.len() as u64, serial);
                            slots.push((next, serial));
                            serial += 1;
                        }
                    }
                    next += u64::from(op != 2);
                }
            }
            let base = forgotten.min(slots.len());
            numbers.forget_below(base as u64);
            for (slot, (number, serial)) in slots.iter().enumerate().skip(base) {
                prop_assert_eq!((numbers.of(slot as u64), numbers.serial(slot as u64)), (*number, *serial));
            }
            let end = slots.len() as u64;
            for low in 0..next + 2 {
                for high in [low, low + 3, next + 5] {
                    let expected: Vec<_> = (base as u64..end)
                        .filter(|slot| (low..=high).contains(&slots[*slot as usize].0))
                        .collect();
                    let found = numbers.slot_from(low, end)..numbers.slot_from(high + 1, end);
                    let found: Vec<_> = found.filter(|slot| (base as u64..end).contains(slot)).collect();
                    prop_assert_eq!(found, expected, "{}..={}", low, high);
                }
                let recent = &skipped[skipped.len().saturating_sub(SKIPPED)..];
                prop_assert_eq!(numbers.skipped_within(low, low), recent.contains(&low));
            }
        }
    }

    /// Whoever only acknowledges keeps nothing.
    #[test]
    fn nothing_grows() {
        let mut numbers = Numbers::default();
        for slot in 0..1000 {
            (0..1000).for_each(|_| numbers.pass());
            numbers.take(slot, slot);
            numbers.forget_below(slot);
            assert!(numbers.runs.len() <= 2);
            assert_eq!(numbers.of(slot), 1000 * (slot + 1) + slot);
        }
    }
}

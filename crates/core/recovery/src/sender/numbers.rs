//! Maps packet numbers to slots in the sent-packet queue.
//!
//! Packets in flight have consecutive *slots*, by which they are found. Their packet numbers have
//! gaps, at packets that are not in flight (ACK-only) and at skipped numbers; neither has a slot. A
//! *serial* counts packets in flight over all spaces of a connection, in the order of sending.
//! Controllers and recovery periods use serials. With one space and no gaps all three are equal,
//! and nothing is stored here.

use std::collections::VecDeque;

/// Start of a run. From this slot to the next run, numbers and serials rise by one with each slot.
#[derive(Clone, Copy, Debug)]
struct Run {
    slot: u64,
    number: u64,
    serial: u64,
}

/// Number of skipped numbers to remember. An ACK of an older one is not detected.
const SKIPPED: usize = 16;

/// Numbers and serials of the slots of one space.
#[derive(Clone, Debug, Default)]
pub(crate) struct Numbers {
    runs: VecDeque<Run>,
    /// Difference of number and slot, and of serial and slot, at the newest slot.
    offsets: (u64, u64),
    /// Difference of number and slot at the next packet.
    untracked: u64,
    skipped: VecDeque<u64>,
    /// Some packets do not elicit an ACK, or have no slot.
    sparse: bool,
}

impl Numbers {
    /// Reports whether slots, numbers and serials are equal: every packet is in flight and elicits
    /// an ACK, with a single space and path.
    #[inline]
    pub(crate) fn is_plain(&self) -> bool {
        !self.sparse
    }

    /// Records a packet in flight that does not elicit an ACK, or another path.
    pub(crate) fn set_sparse(&mut self) {
        self.sparse = true;
    }

    /// Uses a number for a packet that is not in flight.
    pub(crate) fn skip_untracked(&mut self) {
        self.sparse = true;
        self.untracked += 1;
    }

    /// Skips the number of slot `next`.
    pub(crate) fn skip(&mut self, next: u64) {
        if self.skipped.len() == SKIPPED {
            self.skipped.pop_front();
        }
        self.skipped.push_back(next + self.untracked);
        self.skip_untracked();
    }

    /// Reports whether a number in `low..=high` was skipped.
    pub(crate) fn skipped_within(&self, low: u64, high: u64) -> bool {
        self.skipped.iter().any(|skipped| (low..=high).contains(skipped))
    }

    /// Returns the number of the packet that gets slot `next`.
    #[inline]
    pub(crate) fn next(&self, next: u64) -> u64 {
        next + self.untracked
    }

    /// Assigns slot `next` to a packet with this serial and returns its number.
    #[inline]
    pub(crate) fn assign(&mut self, next: u64, serial: u64) -> u64 {
        if self.sparse || serial != next { self.assign_sparse(next, serial) } else { next }
    }

    #[inline(never)]
    fn assign_sparse(&mut self, next: u64, serial: u64) -> u64 {
        let offsets = (self.untracked, serial - next);
        if offsets != self.offsets {
            self.begin_run(next, offsets);
        }
        self.next(next)
    }

    fn begin_run(&mut self, slot: u64, offsets: (u64, u64)) {
        if self.runs.is_empty() && slot > 0 {
            self.runs.push_back(Run { slot: 0, number: 0, serial: 0 });
        }
        (self.offsets, self.sparse) = (offsets, true);
        self.runs.push_back(Run { slot, number: slot + offsets.0, serial: slot + offsets.1 });
    }

    /// Returns the number of a slot that has not been forgotten.
    #[inline]
    pub(crate) fn number(&self, slot: u64) -> u64 {
        if self.sparse { slot + self.run(slot).offsets().0 } else { slot }
    }

    /// Returns the serial of a slot that has not been forgotten.
    #[inline]
    pub(crate) fn serial(&self, slot: u64) -> u64 {
        if self.sparse { slot + self.run(slot).offsets().1 } else { slot }
    }

    /// Returns number and serial of a slot.
    #[inline]
    pub(crate) fn number_and_serial(&self, slot: u64) -> (u64, u64) {
        if self.sparse { (self.number(slot), self.serial(slot)) } else { (slot, slot) }
    }

    /// Returns the first slot with this number, which has been assigned, or a higher one. Returns
    /// `end` if there is none below it.
    #[inline]
    pub(crate) fn slot_from(&self, number: u64, end: u64) -> u64 {
        if self.sparse { self.find(number, end) } else { number }
    }

    #[inline(never)]
    fn find(&self, number: u64, end: u64) -> u64 {
        let next = self.runs.partition_point(|run| run.number <= number);
        let end = self.runs.get(next).map_or(end, |run| run.slot);
        match next.checked_sub(1).and_then(|at| self.runs.get(at)) {
            Some(run) => (run.slot + (number - run.number)).min(end),
            None => number.min(end), // before the first gap
        }
    }

    /// Returns the last run that starts at or before this slot, or the first run.
    #[inline(never)]
    fn run(&self, slot: u64) -> Run {
        let none = Run { slot: 0, number: 0, serial: 0 };
        // There is usually one run.
        let newest = self.runs.back().copied().unwrap_or(none);
        if newest.slot <= slot {
            return newest;
        }
        let next = self.runs.partition_point(|run| run.slot <= slot);
        self.runs.get(next.saturating_sub(1)).copied().unwrap_or(none)
    }

    /// Forgets the slots below this one.
    #[inline]
    pub(crate) fn forget_below(&mut self, slot: u64) {
        while self.runs.len() > 1 && self.runs.get(1).is_some_and(|run| run.slot <= slot) {
            self.runs.pop_front();
        }
    }
}

impl Run {
    fn offsets(self) -> (u64, u64) {
        (self.number - self.slot, self.serial - self.slot)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Equals lists, whatever is sent in this space and in others.
        #[test]
        fn like_lists(ops in prop::collection::vec((0u8..6, 1u64..4), 1..120), forgotten in 0usize..120) {
            let (mut numbers, mut slots, mut skipped) = (Numbers::default(), Vec::new(), Vec::new());
            let (mut next, mut serial) = (0, 0);
            for (op, count) in ops {
                for _ in 0..count {
                    match op {
                        0 => numbers.skip_untracked(),
                        1 => {
                            skipped.push(next);
                            numbers.skip(slots.len() as u64);
                        }
                        2 => serial += 1, // in another space
                        _ => {
                            prop_assert_eq!(numbers.next(slots.len() as u64), next);
                            numbers.assign(slots.len() as u64, serial);
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
                prop_assert_eq!((numbers.number(slot as u64), numbers.serial(slot as u64)), (*number, *serial));
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

    /// A sender of ACKs only stores nothing.
    #[test]
    fn nothing_grows() {
        let mut numbers = Numbers::default();
        for slot in 0..1000 {
            (0..1000).for_each(|_| numbers.skip_untracked());
            numbers.assign(slot, slot);
            numbers.forget_below(slot);
            assert!(numbers.runs.len() <= 2);
            assert_eq!(numbers.number(slot), 1000 * (slot + 1) + slot);
        }
    }
}

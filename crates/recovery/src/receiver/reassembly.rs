//! Which bytes of a stream have arrived.

use std::collections::BTreeMap;

/// The contiguous part and the islands beyond it.
#[derive(Clone, Debug, Default)]
pub struct Reassembly {
    next: u64,
    /// Start to end of each island; none touches another or `next`.
    islands: BTreeMap<u64, u64>,
}

impl Reassembly {
    /// Takes `start..end`; returns how many of its bytes are new.
    pub fn insert(&mut self, start: u64, end: u64) -> u64 {
        if start == self.next && self.islands.is_empty() {
            self.next = end.max(start);
            return end.saturating_sub(start);
        }
        let start = start.max(self.next);
        if end <= start {
            return 0;
        }
        let (mut low, mut high, mut known) = (start, end, 0);
        // Islands that overlap or touch, from the last that starts at or before `end`.
        while let Some((&s, &e)) = self.islands.range(..=high).next_back().filter(|(_, e)| **e >= low) {
            known += e.min(end).saturating_sub(s.max(start));
            low = low.min(s);
            high = high.max(e);
            self.islands.remove(&s);
        }
        if low <= self.next {
            self.next = high;
        } else {
            self.islands.insert(low, high);
        }
        end - start - known
    }

    /// All bytes before this one have arrived.
    pub fn contiguous(&self) -> u64 {
        self.next
    }

    /// All of `start..end` has arrived.
    pub fn holds(&self, start: u64, end: u64) -> bool {
        end <= start.max(self.next) || self.island_at(start.max(self.next)).is_some_and(|(_, e)| end <= e)
    }

    /// The islands beyond [`Reassembly::contiguous`], ascending.
    pub fn islands(&self) -> impl DoubleEndedIterator<Item = (u64, u64)> + '_ {
        self.islands.iter().map(|(&s, &e)| (s, e))
    }

    /// The island that holds `offset`.
    pub fn island_at(&self, offset: u64) -> Option<(u64, u64)> {
        self.islands.range(..=offset).next_back().filter(|(_, e)| **e > offset).map(|(&s, &e)| (s, e))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// The same as a bitmap.
        #[test]
        fn like_a_bitmap(pieces in prop::collection::vec((0u64..64, 0u64..12), 1..60)) {
            let (mut r, mut map) = (Reassembly::default(), [false; 80]);
            for (start, len) in pieces {
                let span = &mut map[start as usize..(start + len) as usize];
                let fresh = span.iter().filter(|b| !**b).count() as u64;
                span.fill(true);
                prop_assert_eq!(r.insert(start, start + len), fresh);
                let next = map.iter().take_while(|b| **b).count() as u64;
                prop_assert_eq!(r.contiguous(), next);
                for (a, b) in [(0, 3), (start, start + len), (start, start + 2), (10, 40)] {
                    prop_assert_eq!(r.holds(a, b), map[a as usize..b as usize].iter().all(|b| *b), "{}..{}", a, b);
                }
                let beyond: u64 = r.islands().map(|(s, e)| e - s).sum();
                prop_assert_eq!(next + beyond, map.iter().filter(|b| **b).count() as u64);
                for (s, e) in r.islands() {
                    prop_assert!(s > next && s < e);
                }
            }
        }
    }
}

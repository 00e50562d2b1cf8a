//! Received bytes of a stream.

use std::collections::BTreeMap;

/// The contiguous part of a stream and the blocks beyond it.
///
/// The highest block is stored separately. Data beyond a gap usually extend it, packet by packet,
/// without a search.
///
/// ```
/// use ackclock_recovery::Reassembly;
///
/// let mut stream = Reassembly::default();
/// assert_eq!(stream.insert(0, 1000), 1000);
/// assert_eq!(stream.insert(2000, 3000), 1000);
/// assert_eq!(stream.contiguous(), 1000);
/// assert_eq!(stream.insert(500, 2000), 1000, "only 1000..2000 is new");
/// assert_eq!(stream.contiguous(), 3000);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Reassembly {
    next: u64,
    /// Start and end of each block below the highest. No block touches another one or `next`.
    below: BTreeMap<u64, u64>,
    /// Start and end of the highest block.
    top: Option<(u64, u64)>,
}

impl Reassembly {
    /// Adds `start..end`. Returns the number of new bytes.
    #[inline]
    pub fn insert(&mut self, start: u64, end: u64) -> u64 {
        let start = start.max(self.next);
        if end <= start {
            return 0;
        }
        match &mut self.top {
            None if start == self.next => self.next = end,
            None => self.top = Some((start, end)),
            Some(top) if top.0 <= start && start <= top.1 => {
                let fresh = end.saturating_sub(top.1);
                top.1 = top.1.max(end);
                return fresh;
            }
            Some(_) => return self.insert_apart(start, end),
        }
        end - start
    }

    /// Adds a range that does not start in the highest block, which exists.
    fn insert_apart(&mut self, start: u64, end: u64) -> u64 {
        let Some(top) = self.top else { return 0 };
        if start > top.1 {
            self.below.insert(top.0, top.1);
            self.top = Some((start, end));
            return end - start;
        }
        let reaches_top = end >= top.0;
        if !reaches_top && let Some(fresh) = self.lengthen(start, end) {
            return fresh;
        }
        let known_of_top = if reaches_top { end.min(top.1) - top.0 } else { 0 };
        let (mut low, mut high) = (start, if reaches_top { end.max(top.1) } else { end });
        let mut known = known_of_top;
        // Blocks that overlap or touch, from the last that starts at or before `end`.
        while let Some((&s, &e)) = self.below.range(..=end).next_back().filter(|(_, e)| **e >= start) {
            known += e.min(end) - s.max(start);
            (low, high) = (low.min(s), high.max(e));
            self.below.remove(&s);
        }
        if low <= self.next {
            self.next = high;
            self.top = if reaches_top { None } else { self.top };
        } else if reaches_top {
            self.top = Some((low, high));
        } else {
            self.below.insert(low, high);
        }
        end - start - known
    }

    /// Extends the block below the highest that contains `start` or ends there, if no other block
    /// starts before `end`.
    fn lengthen(&mut self, start: u64, end: u64) -> Option<u64> {
        let (_, e) =
            self.below.range_mut(..=end).next_back().filter(|(s, e)| **s <= start && **e >= start)?;
        let fresh = end.saturating_sub(*e);
        *e = end.max(*e);
        Some(fresh)
    }

    /// Returns the end of the contiguous part: all bytes before this one have arrived.
    #[inline]
    pub fn contiguous(&self) -> u64 {
        self.next
    }

    /// Reports whether no byte beyond [`Reassembly::contiguous`] has arrived.
    #[inline]
    pub fn has_no_gaps(&self) -> bool {
        self.top.is_none() // without a highest block there is none
    }

    /// Reports whether all of `start..end` has arrived.
    pub fn holds(&self, start: u64, end: u64) -> bool {
        end <= start.max(self.next) || self.block_at(start.max(self.next)).is_some_and(|(_, e)| end <= e)
    }

    /// Returns the blocks beyond [`Reassembly::contiguous`], ascending.
    pub fn blocks(&self) -> impl DoubleEndedIterator<Item = (u64, u64)> + '_ {
        self.below.iter().map(|(&s, &e)| (s, e)).chain(self.top)
    }

    /// Returns the block that contains `offset`.
    pub fn block_at(&self, offset: u64) -> Option<(u64, u64)> {
        if offset < self.next {
            return None;
        }
        if self.top.is_none_or(|top| top.0 <= offset) {
            return self.top.filter(|top| offset < top.1);
        }
        self.below.range(..=offset).next_back().filter(|(_, e)| **e > offset).map(|(&s, &e)| (s, e))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Equals a bitmap.
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
                prop_assert_eq!(r.has_no_gaps(), r.blocks().next().is_none());
                let beyond: u64 = r.blocks().map(|(s, e)| e - s).sum();
                prop_assert_eq!(next + beyond, map.iter().filter(|b| **b).count() as u64);
                for (s, e) in r.blocks() {
                    prop_assert!(s > next && s < e);
                }
            }
        }
    }
}

//! Sets of numbers, stored as ranges that do not touch.

use std::collections::BTreeMap;
use std::ops::Range;

/// A set of numbers. Every operation takes O(log n) for n ranges, plus the number of ranges that it
/// joins or removes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RangeSet {
    /// Start and end of each range.
    ranges: BTreeMap<u64, u64>,
}

impl RangeSet {
    /// Creates an empty set.
    pub const fn new() -> Self {
        Self { ranges: BTreeMap::new() }
    }

    /// Reports whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Returns the number of ranges.
    pub fn len(&self) -> usize {
        self.ranges.len()
    }

    /// Returns the lowest range.
    pub fn first(&self) -> Option<Range<u64>> {
        self.ranges.first_key_value().map(|(start, end)| *start..*end)
    }

    /// Returns the ranges, lowest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = Range<u64>> + '_ {
        self.ranges.iter().map(|(start, end)| *start..*end)
    }

    /// Returns the range that starts at `at` or before.
    fn at_or_before(&self, at: u64) -> Option<Range<u64>> {
        self.ranges.range(..=at).next_back().map(|(start, end)| *start..*end)
    }

    /// Adds all numbers of a range.
    pub fn insert(&mut self, range: Range<u64>) {
        if range.is_empty() {
            return;
        }
        let Range { mut start, mut end } = range;
        if let Some(before) = self.at_or_before(start).filter(|before| before.end >= start) {
            start = before.start;
            end = end.max(before.end);
        }
        while let Some((&next, &next_end)) = self.ranges.range(start..=end).next() {
            self.ranges.remove(&next);
            end = end.max(next_end);
        }
        self.ranges.insert(start, end);
    }

    /// Removes all numbers of a range.
    pub fn remove(&mut self, range: Range<u64>) {
        if range.is_empty() || self.is_empty() {
            return;
        }
        if let Some(before) = self.at_or_before(range.start).filter(|before| before.end > range.start) {
            self.ranges.remove(&before.start);
            self.put(before.start..range.start);
            self.put(range.end..before.end);
        }
        while let Some((&start, &end)) = self.ranges.range(range.clone()).next() {
            self.ranges.remove(&start);
            self.put(range.end..end);
        }
    }

    fn put(&mut self, range: Range<u64>) {
        if !range.is_empty() {
            self.ranges.insert(range.start, range.end);
        }
    }

    /// Returns the parts of a range that are not in the set, lowest first.
    pub fn missing(&self, range: Range<u64>) -> impl Iterator<Item = Range<u64>> + '_ {
        let mut at = self.at_or_before(range.start).map_or(range.start, |before| before.end.max(range.start));
        std::iter::from_fn(move || {
            while at < range.end {
                let next = self.ranges.range(at..range.end).next();
                let (gap, after) = match next {
                    Some((&start, &end)) => (at..start, end),
                    None => (at..range.end, range.end),
                };
                at = after;
                if !gap.is_empty() {
                    return Some(gap);
                }
            }
            None
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    use super::*;

    proptest! {
        #[test]
        fn like_a_set_of_numbers(steps in proptest::collection::vec((any::<bool>(), 0_u64..60, 0_u64..12), 0..60)) {
            let (mut set, mut model) = (RangeSet::new(), BTreeSet::new());
            for (insert, start, length) in steps {
                let range = start..start + length;
                let missing: Vec<u64> = set.missing(range.clone()).flatten().collect();
                let expected: Vec<u64> = range.clone().filter(|n| !model.contains(n)).collect();
                prop_assert_eq!(missing, expected);
                if insert {
                    set.insert(range.clone());
                    model.extend(range);
                } else {
                    set.remove(range.clone());
                    model.retain(|n| !range.contains(n));
                }
                prop_assert!(set.iter().flatten().eq(model.iter().copied()));
                let ranges: Vec<_> = set.iter().collect();
                prop_assert!(ranges.windows(2).all(|pair| pair[0].end < pair[1].start));
            }
        }
    }
}

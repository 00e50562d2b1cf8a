//! Ranges of offsets or packet numbers that were captured, above the one up to which they were
//! checked.

/// Largest number of ranges. Beyond it the lowest is forgotten.
const MOST: usize = 256;

#[derive(Debug, Default)]
pub(super) struct Ranges {
    /// Ascending, apart from each other.
    all: Vec<(u64, u64)>,
    /// Offset below which nothing is kept.
    checked: u64,
}

impl Ranges {
    pub(super) fn insert(&mut self, start: u64, end: u64) {
        let start = start.max(self.checked);
        if start >= end {
            return;
        }
        let first = self.all.partition_point(|range| range.1 < start);
        let behind = self.all.partition_point(|range| range.0 <= end);
        let merged = self.all.get(first..behind).unwrap_or_default().iter();
        let merged = merged.fold((start, end), |all, range| (all.0.min(range.0), all.1.max(range.1)));
        self.all.splice(first..behind.max(first), [merged]);
        if self.all.len() > MOST {
            let (_, end) = self.all.remove(0);
            self.checked = self.checked.max(end);
        }
    }

    /// Returns how much of a range was not captured.
    pub(super) fn missing_in(&self, start: u64, end: u64) -> u64 {
        let start = start.max(self.checked);
        let behind = self.all.partition_point(|range| range.1 <= start);
        let held = self.all.iter().skip(behind).take_while(|range| range.0 < end);
        let held: u64 = held.map(|range| range.1.min(end) - range.0.max(start)).sum();
        end.saturating_sub(start) - held
    }

    /// Returns the number of bytes below `offset` that were not captured, and forgets them.
    pub(super) fn missing_below(&mut self, offset: u64) -> u64 {
        if offset <= self.checked {
            return 0;
        }
        let below = self.all.partition_point(|range| range.0 < offset);
        let held: u64 = self.all.iter().take(below).map(|range| range.1.min(offset) - range.0).sum();
        let missing = offset - self.checked - held;
        self.checked = offset;
        self.all.retain_mut(|range| {
            range.0 = range.0.max(offset);
            range.0 < range.1
        });
        missing
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holes() {
        let mut ranges = Ranges::default();
        ranges.insert(0, 10);
        ranges.insert(30, 40);
        ranges.insert(20, 30);
        assert_eq!(ranges.all, [(0, 10), (20, 40)]);
        assert_eq!(ranges.missing_below(5), 0);
        assert_eq!(
            [(0, 5), (5, 10), (8, 22), (20, 40), (39, 45)].map(|(a, b)| ranges.missing_in(a, b)),
            [0, 0, 10, 0, 5]
        );
        assert_eq!(ranges.missing_below(25), 10);
        assert_eq!(ranges.missing_below(25), 0);
        ranges.insert(0, 26);
        assert_eq!(ranges.all, [(25, 40)]);
        assert_eq!(ranges.missing_below(45), 5);
        assert_eq!(ranges.all, []);
    }

    /// Against a bitmap.
    #[test]
    fn any_order() {
        let mut rng = units::Rng::stream(1, "ranges");
        for _ in 0..200 {
            let (mut ranges, mut map) = (Ranges::default(), [false; 64]);
            for _ in 0..rng.below(20) {
                let start = rng.below(60) as usize;
                let end = start + rng.below(4) as usize;
                ranges.insert(start as u64, end as u64);
                map[start..end].fill(true);
            }
            let offset = rng.below(64) as usize;
            let expected = map[..offset].iter().filter(|held| !**held).count();
            assert_eq!(ranges.missing_below(offset as u64), expected as u64);
        }
    }

    #[test]
    fn many_holes_are_bounded() {
        let mut ranges = Ranges::default();
        (0..10_000).for_each(|n| ranges.insert(n * 10, n * 10 + 5));
        assert_eq!(ranges.all.len(), MOST);
        // The holes around those that are kept.
        assert_eq!(ranges.missing_below(100_000), 5 * (MOST as u64 + 1));
    }
}

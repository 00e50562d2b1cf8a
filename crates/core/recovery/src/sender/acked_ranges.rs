//! The difference between an ACK and the previous one.
//!
//! ACKs repeat themselves: while a packet is missing, each of them lists the whole window again.
//! Processing only the difference makes the cost of an ACK proportional to what it newly
//! acknowledges.

/// A range of packet numbers, both ends included.
pub(crate) type Span = (u64, u64);

/// The ranges of the previous ACK.
#[derive(Clone, Debug, Default)]
pub(crate) struct AckedRanges {
    previous: Vec<Span>,
    merged: Vec<Span>,
}

impl AckedRanges {
    /// Takes the ranges of a new ACK and writes the newly acknowledged ones into `fresh`, ascending
    /// and disjoint.
    ///
    /// Ignores numbers from `next_pn` on, which were never sent, and ranges that do not ascend.
    pub(crate) fn update(&mut self, ranges: &[Span], next_pn: u64, fresh: &mut Vec<Span>) {
        fresh.clear();
        let Some(newest) = next_pn.checked_sub(1) else { return };
        // While nothing is missing, a single range grows at its end.
        if let (&[(low, high)], [known]) = (ranges, self.previous.as_mut_slice())
            && known.0 <= low
            && low <= known.1
            && (known.1..=newest).contains(&high)
        {
            if known.1 < high {
                fresh.push((known.1 + 1, high));
            }
            *known = (low, high);
            return;
        }
        self.update_any(ranges, newest, fresh);
    }

    /// Returns the ranges of the latest ACK, without those that do not ascend or were never sent.
    pub(crate) fn latest(&self) -> &[Span] {
        &self.previous
    }

    #[inline(never)]
    fn update_any(&mut self, ranges: &[Span], newest: u64, fresh: &mut Vec<Span>) {
        let (gone, same) = self.common(ranges, newest);
        self.merged.clear();
        let mut known = self.previous[gone + same..].iter().copied().peekable();
        let mut from = same.checked_sub(1).map_or(0, |last| ranges[last].1 + 1);
        for &(low, high) in &ranges[same..] {
            let (mut low, high) = (low.max(from), high.min(newest));
            if low > high {
                continue;
            }
            from = high + 1;
            self.merged.push((low, high));
            while low <= high {
                while known.next_if(|k| k.1 < low).is_some() {}
                let (start, end) = known.peek().copied().filter(|k| k.0 <= high).unwrap_or((from, from));
                if low < start {
                    fresh.push((low, start - 1));
                }
                low = end + 1;
            }
        }
        self.previous.truncate(gone + same);
        self.previous.append(&mut self.merged);
        self.previous.drain(..gone);
        if same > 0 {
            self.previous[0] = ranges[0];
        }
    }

    /// Returns how many ranges the peer no longer reports, and how many after them it repeats. The
    /// first repeated range may have lost its beginning.
    fn common(&self, ranges: &[Span], newest: u64) -> (usize, usize) {
        let Some(&(low, high)) = ranges.first().filter(|first| first.0 <= first.1.min(newest)) else {
            return (0, 0);
        };
        let gone = self.previous.iter().take_while(|known| known.1 < low).count();
        let rest = &self.previous[gone..];
        if rest.first().is_none_or(|first| low < first.0 || first.1 != high) {
            return (gone, 0);
        }
        let pairs = rest.iter().zip(ranges).skip(1);
        (gone, 1 + pairs.take_while(|(known, told)| known == told).count())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn only_the_difference() {
        let (mut seen, mut fresh) = (AckedRanges::default(), Vec::new());
        seen.update(&[(0, 9)], 0, &mut fresh);
        assert!(fresh.is_empty(), "nothing was sent");
        seen.update(&[(2, 4), (6, 8)], 20, &mut fresh);
        assert_eq!(fresh, [(2, 4), (6, 8)]);
        seen.update(&[(0, 10), (12, 99)], 20, &mut fresh);
        assert_eq!(fresh, [(0, 1), (5, 5), (9, 10), (12, 19)]);
        seen.update(&[(12, 15), (3, 4), (14, 17)], 20, &mut fresh);
        assert!(fresh.is_empty(), "older, descending, overlapping: {fresh:?}");
    }

    proptest! {
        /// Equals a bitmap, whatever a peer sends.
        #[test]
        fn like_a_bitmap(acks in prop::collection::vec(prop::collection::vec((0u64..40, 0u64..40), 0..6), 1..8)) {
            let (mut seen, mut fresh) = (AckedRanges::default(), Vec::new());
            let mut before = [false; 32];
            for ranges in acks {
                seen.update(&ranges, 32, &mut fresh);
                let mut now = [false; 32];
                let mut from = 0;
                for (low, high) in ranges {
                    for pn in low.max(from)..=high.min(31) {
                        now[pn as usize] = true;
                        from = pn + 1;
                    }
                }
                let mut added = [false; 32];
                for &(low, high) in &fresh {
                    added[low as usize..=high as usize].fill(true);
                }
                for pn in 0..32 {
                    prop_assert_eq!(added[pn], now[pn] && !before[pn], "{}", pn);
                }
                prop_assert!(fresh.windows(2).all(|w| w[0].1 < w[1].0));
                before = now;
            }
        }
    }
}

//! Runs behind a number, before and after: whether it changed, and which change they would show.

use std::collections::BTreeMap;

use results::summary::Cell;
use serde::Serialize;

use crate::ratio::{Ratio, StandardError};

/// Largest relative difference between equal numbers: rounding in a file causes as much.
pub(super) const ALIKE: f64 = 1e-9;

/// Values of a metric by the seed of their run.
pub(super) type Samples = BTreeMap<u64, f64>;

/// Method that judges a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Method {
    /// The differences of this number of runs with the same seed.
    Pairs(u32),
    /// This number of runs with the same seed, which are equal in pairs: nothing has changed.
    Equal(u32),
    /// The means of these numbers of runs, since their seeds differ.
    Means([u32; 2]),
    /// None: a side has a single run, so the spread is unknown and every difference counts.
    Single,
}

/// Outcome of a comparison of runs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Evidence {
    pub method: Method,
    /// Ratio of after to before with its interval, if both means are above 0.
    pub ratio: Option<Ratio>,
    /// Whether the change is larger than the spread between runs.
    pub is_beyond_spread: bool,
    /// Smallest change that is seen four times out of five: of the ratio's logarithm, and in the
    /// unit of the metric. `None` if the spread is unknown.
    pub smallest: Option<[f64; 2]>,
}

/// The runs of a number on both sides.
pub(super) struct Sides<'a> {
    pub(super) cells: [&'a Cell; 2],
    pub(super) samples: [Samples; 2],
}

impl Sides<'_> {
    pub(super) fn evidence(&self) -> Evidence {
        let [before, after] = self.cells.map(|cell| cell.mean);
        let method = self.method();
        let has_ratio = before > 0.0 && after > 0.0;
        let ratio = has_ratio.then(|| Ratio::within(after / before, self.error(method, [before, after])));
        let [shown, now] = self.cells.map(Cell::value);
        let differs = match (self.error(method, [1.0, 1.0]), ratio) {
            (None, _) => true,
            (Some(_), Some(ratio)) => ratio.differs(),
            (Some(error), None) => (after - before).abs() > error.half_width(),
        };
        let is_alike = (shown - now).abs() <= ALIKE * shown.abs().max(now.abs());
        Evidence { method, ratio, is_beyond_spread: differs && !is_alike, smallest: self.smallest(method) }
    }

    fn method(&self) -> Method {
        let [before, after] = &self.samples;
        let n = [before, after].map(|samples| samples.len() as u32);
        if n[0] < 2 || n[1] < 2 {
            return Method::Single;
        }
        match before.keys().eq(after.keys()) {
            true if before == after => Method::Equal(n[0]),
            true => Method::Pairs(n[0]),
            false => Method::Means(n),
        }
    }

    /// Returns the error of the difference, with each side divided by its scale.
    fn error(&self, method: Method, scale: [f64; 2]) -> Option<StandardError> {
        match method {
            Method::Pairs(_) | Method::Equal(_) => Some(self.of_pairs(scale)),
            Method::Means(n) => Some(self.of_means(scale, n)),
            Method::Single => None,
        }
    }

    fn of_pairs(&self, scale: [f64; 2]) -> StandardError {
        let [before, after] = &self.samples;
        let pairs = before.values().zip(after.values());
        StandardError::of_pairs(&pairs.map(|(b, a)| a / scale[1] - b / scale[0]).collect::<Vec<f64>>())
    }

    fn of_means(&self, scale: [f64; 2], n: [u32; 2]) -> StandardError {
        let variance = |side: usize| {
            let spread = self.cells[side].spread.unwrap_or(0.0) / scale[side];
            spread * spread / f64::from(n[side])
        };
        StandardError::of_means([0, 1].map(variance), n)
    }

    /// Returns the smallest changes that the runs show. Equal pairs do not tell how far a change
    /// would spread them. Then the spreads of both sides are a bound.
    fn smallest(&self, method: Method) -> Option<[f64; 2]> {
        let [before, after] = self.cells.map(|cell| cell.mean);
        let method = match method {
            Method::Equal(n) => Method::Means([n, n]),
            method => method,
        };
        let error = |scale: [f64; 2]| self.error(method, scale);
        let absolute = error([1.0, 1.0])?.smallest();
        let relative = match before > 0.0 && after > 0.0 {
            true => error([before, after])?.smallest(),
            false if absolute == 0.0 => 0.0,
            // Infinite before a mean of 0, of which nothing is a share.
            false => absolute / before.abs(),
        };
        Some([relative, absolute])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(samples: &Samples) -> Cell {
        let n = samples.len() as f64;
        let mean = samples.values().sum::<f64>() / n;
        let squares: f64 = samples.values().map(|value| (value - mean) * (value - mean)).sum();
        let spread = (n > 1.0).then(|| (squares / (n - 1.0)).sqrt());
        Cell { mean, spread, ..Cell::default() }
    }

    /// Judges values, of which the first has this seed and the others the next ones.
    fn judge(before: (u64, &[f64]), after: (u64, &[f64])) -> Evidence {
        let samples =
            [before, after].map(|(seed, values)| (seed..).zip(values.iter().copied()).collect::<Samples>());
        let cells = samples.each_ref().map(cell);
        Sides { cells: cells.each_ref(), samples }.evidence()
    }

    /// Runs from 1 to 16 that each lose exactly 1 %: with pairs this is certain, and without them
    /// it is nothing.
    #[test]
    fn pairs_see_what_the_spread_hides() {
        let before = [1.0, 2.0, 4.0, 8.0, 16.0];
        let after = before.map(|value| 0.99 * value);
        let paired = judge((1, &before), (1, &after));
        assert_eq!((paired.method, paired.is_beyond_spread), (Method::Pairs(5), true));
        assert!(paired.smallest.unwrap()[0] < 1e-9, "{paired:?}");
        let ratio = paired.ratio.unwrap();
        assert!((ratio.low - 0.99).abs() < 1e-9 && (ratio.high - 0.99).abs() < 1e-9, "{ratio:?}");
        let unpaired = judge((1, &before), (2, &after));
        assert_eq!((unpaired.method, unpaired.is_beyond_spread), (Method::Means([5, 5]), false));
        assert!(unpaired.smallest.unwrap()[0] > 1.0, "{unpaired:?}");
        assert_eq!(judge((1, &before), (1, &after[..4])).method, Method::Means([5, 4]));
    }

    /// Relative differences of +-1 % in turn: the error of the mean of four is 0.01 / sqrt(3), and
    /// with 3 degrees of freedom t is 3.182 and 0.978. All runs are 10 before.
    #[test]
    fn the_smallest_change() {
        let found = judge((0, &[10.0; 4]), (0, &[10.1, 9.9, 10.1, 9.9])).smallest.unwrap();
        let error = 0.01 / 3.0_f64.sqrt();
        assert!((found[0] - (3.182 + 0.978) * error).abs() < 1e-5, "{found:?}");
        assert!((found[1] - 10.0 * found[0]).abs() < 1e-9, "{found:?}");
    }

    /// Equal pairs do not tell how far the pairs of another program would differ.
    #[test]
    fn nothing_changed() {
        let runs = [9.0, 10.0, 11.0];
        let same = judge((0, &runs), (0, &runs));
        let other = judge((0, &runs), (1, &runs));
        assert_eq!((same.method, same.is_beyond_spread), (Method::Equal(3), false));
        assert_eq!(same.smallest, other.smallest);
        assert!(same.smallest.unwrap()[0] > 0.1);
        assert_eq!(judge((0, &[5.0; 3]), (0, &[5.0; 3])).smallest, Some([0.0, 0.0]));
    }

    /// One run has no spread, and every difference counts.
    #[test]
    fn single_runs() {
        let once = judge((0, &[10.0]), (0, &[10.1]));
        assert_eq!((once.method, once.is_beyond_spread, once.smallest), (Method::Single, true, None));
        assert_eq!(once.ratio.map(|ratio| (ratio.low, ratio.high)), Some((0.0, f64::INFINITY)));
        assert!(!judge((0, &[10.0]), (0, &[10.0])).is_beyond_spread);
    }

    /// One event in ten runs is not significant: 0.1 -+ t(97.5 %, 9) sqrt(0.1 / 10) = 0.1 -+ 0.226.
    /// Five are: 0.5 -+ 2.262 * 0.1667 = 0.5 -+ 0.377.
    #[test]
    fn one_event_is_chance() {
        for (events, told_apart) in [(1, false), (3, false), (5, true)] {
            let some: Vec<f64> = (0..10).map(|run| if run < events { 1.0 } else { 0.0 }).collect();
            for seed in [0, 1] {
                for (before, after) in [(&[0.0; 10][..], &some[..]), (&some, &[0.0; 10])] {
                    let found = judge((0, before), (seed, after));
                    assert_eq!((found.ratio, found.is_beyond_spread), (None, told_apart), "{events}");
                }
            }
        }
        let found = judge((0, &[0.0; 10]), (0, &[1.0; 10]));
        assert!(found.is_beyond_spread && found.smallest == Some([0.0, 0.0]), "identical runs");
        // No share of 0 is a change.
        let noise = judge((0, &[0.0; 3]), (0, &[0.0, 0.1, 0.0]));
        assert_eq!(noise.smallest.unwrap()[0], f64::INFINITY);
    }
}

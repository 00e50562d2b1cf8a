//! Ratio of two means with its confidence interval.
//!
//! ```text
//! ln r       = ln m1 - ln m2
//! variance   = v1 + v2,   v = (s / m)^2 / n                     delta method: the variance of ln m is that of m over m^2
//! freedom    = (v1 + v2)^2 / (v1^2 / (n1 - 1) + v2^2 / (n2 - 1))   Satterthwaite 1946, Welch 1947
//! interval   = exp(ln r -+ t(97.5 %, freedom) sqrt(variance))
//! runs       = n (half width / wanted half width)^2             after Stein 1945: the spread of the first runs says how many
//! ```
//!
//! The thresholds for a relevant difference and for a narrow interval are choices of this program.

use results::summary::Cell;
use serde::Serialize;
use statrs::distribution::{ContinuousCDF, StudentsT};

/// Smallest ratio that matters in practice: rate limits, clocks and headers cause smaller
/// differences. Our choice.
const WORTH: f64 = 1.02;

/// Largest distance of the interval's ends from 1 at which two means count as the same. Our choice.
const KNOWN: f64 = 1.05;

/// A ratio and its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Ratio {
    pub value: f64,
    pub low: f64,
    pub high: f64,
}

impl Ratio {
    /// Computes the ratio of two cells over `n` repetitions each.
    pub(crate) fn new(one: &Cell, other: &Cell, n: u32) -> Option<Self> {
        Self::with_repetitions(one, other, [n, n])
    }

    /// Computes the ratio of two cells with these numbers of repetitions. Returns `None` unless
    /// both means are above 0. With a single repetition the interval is unknown and goes from 0 to
    /// infinity.
    pub(crate) fn with_repetitions(one: &Cell, other: &Cell, n: [u32; 2]) -> Option<Self> {
        if !(one.mean > 0.0 && other.mean > 0.0) {
            return None;
        }
        let value = one.mean / other.mean;
        let (Some(v1), Some(v2)) = (variance(one, n[0]), variance(other, n[1])) else {
            return Some(Self { value, low: 0.0, high: f64::INFINITY });
        };
        let width = half_width([v1, v2], n);
        Some(Self { value, low: value * libm::exp(-width), high: value * libm::exp(width) })
    }

    /// Reports whether the ratio differs from 1 significantly and by enough to matter for a choice.
    pub(crate) fn matters(self) -> bool {
        self.differs() && (self.value > WORTH || self.value < 1.0 / WORTH)
    }

    /// Reports whether the ratio is known to be practically 1. A ratio that neither matters nor is
    /// the same is undecided.
    pub(crate) fn is_same(self) -> bool {
        !self.matters() && self.high < KNOWN && self.low > 1.0 / KNOWN
    }

    /// Reports whether the ratio differs from 1 significantly.
    pub(crate) fn differs(self) -> bool {
        self.low > 1.0 || self.high < 1.0
    }
}

/// Reports whether two means differ by Welch's test at 95 %. Used where one mean is 0, so that
/// there is no ratio. Between runs without spread every difference counts.
pub(crate) fn means_differ(one: &Cell, other: &Cell, n: [u32; 2]) -> bool {
    let of_mean = |cell: &Cell, n: u32| cell.spread.map_or(0.0, |spread| spread * spread / f64::from(n));
    (one.mean - other.mean).abs() > half_width([of_mean(one, n[0]), of_mean(other, n[1])], n)
}

/// Returns the variance of the logarithm of a mean.
fn variance(cell: &Cell, n: u32) -> Option<f64> {
    cell.spread.map(|spread| (spread / cell.mean) * (spread / cell.mean) / f64::from(n))
}

/// Returns half the width of the interval for the difference of two means with these variances, of
/// numbers or of logarithms.
fn half_width(v: [f64; 2], n: [u32; 2]) -> f64 {
    let sum = v[0] + v[1];
    if sum == 0.0 || n[0] < 2 || n[1] < 2 {
        return 0.0;
    }
    let freedom = sum * sum / (v[0] * v[0] / f64::from(n[0] - 1) + v[1] * v[1] / f64::from(n[1] - 1));
    let t = StudentsT::new(0.0, 1.0, freedom).map_or(f64::INFINITY, |t| t.inverse_cdf(0.975));
    t * sum.sqrt()
}

/// Estimates the repetitions after which half the width of the ratio's interval is `share` of it,
/// if the spread stays the same.
pub(crate) fn needed(one: &Cell, other: &Cell, n: u32, share: f64) -> u32 {
    let (Some(v1), Some(v2)) = (variance(one, n), variance(other, n)) else { return n };
    let wide = half_width([v1, v2], [n, n]) / share;
    if wide <= 1.0 { n } else { (f64::from(n) * wide * wide).ceil().min(1e6) as u32 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(mean: f64, spread: f64) -> Cell {
        Cell {
            mean,
            spread: Some(spread),
            runs: None,
            shown: None,
            published: None,
            reason: None,
            open: false,
            path_unknown: false,
            without: 0,
        }
    }

    /// Five runs each of 10 +- 1 and 5 +- 0.5. Both have a spread of 10 %, which gives 8 degrees of
    /// freedom and t = 2.306: ln r +- 2.306 * sqrt(2 * 0.01 / 5) = +- 0.1458.
    #[test]
    fn welch() {
        let ratio = Ratio::new(&cell(10.0, 1.0), &cell(5.0, 0.5), 5).unwrap();
        assert!((ratio.value - 2.0).abs() < 1e-12);
        assert!((ratio.high / 2.0 - libm::exp(0.1458)).abs() < 1e-3, "{ratio:?}");
        assert!((ratio.low * ratio.high - 4.0).abs() < 1e-9, "symmetric on a logarithmic scale");
        assert!(ratio.differs());
        assert!(!Ratio::new(&cell(10.0, 1.0), &cell(9.5, 1.0), 5).unwrap().differs());
    }

    #[test]
    fn apart_the_same_or_unknown() {
        let known =
            |value, low, high| (Ratio { value, low, high }.matters(), Ratio { value, low, high }.is_same());
        assert_eq!(known(1.9, 1.8, 2.0), (true, false));
        assert_eq!(known(1.01, 1.005, 1.02), (false, true));
        assert_eq!(known(1.0, 0.96, 1.04), (false, true));
        assert_eq!(known(1.01, 0.7, 1.4), (false, false), "close to 1, but with a wide interval");
        assert_eq!(known(1.4, 0.9, 2.2), (false, false));
    }

    #[test]
    fn what_has_no_interval() {
        assert_eq!(Ratio::new(&cell(0.0, 0.0), &cell(1.0, 0.0), 5), None);
        let alike = Ratio::new(&cell(2.0, 0.0), &cell(1.0, 0.0), 5).unwrap();
        assert_eq!((alike.low, alike.high), (2.0, 2.0), "identical runs");
        let once = Ratio::new(&Cell { spread: None, ..cell(2.0, 0.0) }, &cell(1.0, 0.0), 1).unwrap();
        assert!(!once.differs(), "one run tells nothing");
    }

    /// One event in ten runs is not significant: 0.1 -+ t(97.5 %, 9) sqrt(0.1 / 10) = 0.1 -+ 0.226.
    /// Five are: 0.5 -+ 2.262 * 0.1667 = 0.5 -+ 0.377.
    #[test]
    fn one_event_is_chance() {
        let spread = |events: f64| (events / 10.0 * (1.0 - events / 10.0) * 10.0 / 9.0).sqrt();
        for (events, told_apart) in [(1.0, false), (3.0, false), (5.0, true)] {
            let some = cell(events / 10.0, spread(events));
            assert_eq!(means_differ(&cell(0.0, 0.0), &some, [10, 10]), told_apart, "{events}");
            assert_eq!(means_differ(&some, &cell(0.0, 0.0), [10, 10]), told_apart, "{events}");
        }
        assert!(means_differ(&cell(0.0, 0.0), &cell(1.0, 0.0), [10, 10]), "identical runs");
    }

    /// Half the width takes four times as many runs.
    #[test]
    fn how_many_it_takes() {
        let (a, b) = (cell(10.0, 1.0), cell(5.0, 0.5));
        assert_eq!(needed(&a, &b, 5, 0.2), 5);
        let more = needed(&a, &b, 5, 0.1458 / 2.0);
        assert!((20..=21).contains(&more), "{more}");
    }
}

//! Ratio of two means with its confidence interval.
//!
//! ```text
//! ln r       = ln m1 - ln m2
//! variance   = v1 + v2,   v = (s / m)^2 / n                     delta method: the variance of ln m is that of m over m^2
//! freedom    = (v1 + v2)^2 / (v1^2 / (n1 - 1) + v2^2 / (n2 - 1))   Satterthwaite 1946, Welch 1947
//! pairs      d_i = a_i / m1 - b_i / m2,   variance = s(d)^2 / n,   freedom = n - 1       Student 1908: runs with the same seed
//! interval   = exp(ln r -+ t(97.5 %, freedom) sqrt(variance))
//! smallest   = (t(97.5 %, freedom) + t(80 %, freedom)) sqrt(variance)   Bloom 1995: the change that is seen four times out of five
//! ```
//!
//! The thresholds for a relevant difference are choices of this program.

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
    /// Computes the ratio of two cells over `n` repetitions each. Returns `None` unless both means
    /// are above 0. With a single repetition the interval is unknown and goes from 0 to infinity.
    pub(crate) fn new(one: &Cell, other: &Cell, n: u32) -> Option<Self> {
        if !(one.mean > 0.0 && other.mean > 0.0) {
            return None;
        }
        let variances = variance(one, n).zip(variance(other, n));
        let error = variances.map(|(v1, v2)| StandardError::of_means([v1, v2], [n, n]));
        Some(Self::within(one.mean / other.mean, error))
    }

    /// Computes the interval of a ratio from the standard error of its logarithm.
    pub(crate) fn within(value: f64, error: Option<StandardError>) -> Self {
        let width = error.map_or(f64::INFINITY, StandardError::half_width);
        Self { value, low: value * libm::exp(-width), high: value * libm::exp(width) }
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

/// Returns the variance of the logarithm of a mean.
fn variance(cell: &Cell, n: u32) -> Option<f64> {
    cell.spread.map(|spread| (spread / cell.mean) * (spread / cell.mean) / f64::from(n))
}

/// Standard error of a difference, of numbers or of logarithms, with its degrees of freedom.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StandardError {
    error: f64,
    freedom: f64,
}

impl StandardError {
    /// Computes the error of the difference of two means with these variances.
    pub(crate) fn of_means(v: [f64; 2], n: [u32; 2]) -> Self {
        let sum = v[0] + v[1];
        if sum == 0.0 || n[0] < 2 || n[1] < 2 {
            return Self { error: 0.0, freedom: 1.0 };
        }
        let freedom = sum * sum / (v[0] * v[0] / f64::from(n[0] - 1) + v[1] * v[1] / f64::from(n[1] - 1));
        Self { error: sum.sqrt(), freedom }
    }

    /// Computes the error of the mean of these differences, of which there must be two or more.
    pub(crate) fn of_pairs(differences: &[f64]) -> Self {
        let n = differences.len() as f64;
        let mean = differences.iter().sum::<f64>() / n;
        let squares: f64 = differences.iter().map(|d| (d - mean) * (d - mean)).sum();
        Self { error: (squares / (n - 1.0) / n).sqrt(), freedom: n - 1.0 }
    }

    /// Returns half the width of the 95 % interval.
    pub(crate) fn half_width(self) -> f64 {
        self.quantile(0.975)
    }

    /// Returns the smallest true difference whose interval excludes 0 with a probability of 80 %.
    pub(crate) fn smallest(self) -> f64 {
        self.quantile(0.975) + self.quantile(0.8)
    }

    fn quantile(self, p: f64) -> f64 {
        StudentsT::new(0.0, 1.0, self.freedom).map_or(f64::INFINITY, |t| t.inverse_cdf(p)) * self.error
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(mean: f64, spread: f64) -> Cell {
        Cell { mean, spread: Some(spread), ..Cell::default() }
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

    /// Differences of 1, 2, 3, 4 and 5: the deviation is sqrt(2.5), the error sqrt(0.5). With 4
    /// degrees of freedom, t is 2.776 at 97.5 % and 0.941 at 80 %.
    #[test]
    fn pairs() {
        let error = StandardError::of_pairs(&[1.0, 2.0, 3.0, 4.0, 5.0]);
        assert!((error.half_width() - 2.776 * 0.5_f64.sqrt()).abs() < 1e-3, "{error:?}");
        assert!((error.smallest() - (2.776 + 0.941) * 0.5_f64.sqrt()).abs() < 1e-3, "{error:?}");
        assert_eq!(StandardError::of_pairs(&[2.0, 2.0]).smallest(), 0.0);
    }

    /// A true difference of this size is found in about four of five experiments. Of 400, 80 % are
    /// found with a deviation of 2 %. The formula with two quantiles is an approximation of the
    /// non-central distribution, so 5 % are allowed.
    #[test]
    fn the_smallest_difference_is_seen_four_times_out_of_five() {
        let mut rng = units::Rng::stream(1, "the smallest difference");
        // The expected error of ten differences with a deviation of 1.
        let expected = StandardError { error: 0.1_f64.sqrt(), freedom: 9.0 };
        let seen = (0..400).filter(|_| {
            let differences: Vec<f64> = (0..10).map(|_| expected.smallest() + rng.normal()).collect();
            let mean = differences.iter().sum::<f64>() / 10.0;
            mean > StandardError::of_pairs(&differences).half_width()
        });
        let share = seen.count() as f64 / 400.0;
        assert!((0.75..0.85).contains(&share), "{share}");
    }
}

//! Decides from pairs of runs whether one mean exceeds another by more than a margin.
//!
//! ```text
//! d_i       = ln a_i - ln b_i, runs of one seed;  ratio = exp(mean d)
//! looks     after n = 5, 10, 15, 20, 25 and 30 pairs
//! interval  = exp(mean d -+ t(1 - p / 2, n - 1) s(d) / sqrt(n)),   p: level of the look   Student 1908; Pocock 1977
//! levels    of all looks spend 5 %: alpha(n / 30) = 0.05 ln(1 + (e - 1) n / 30)            Lan and DeMets 1983
//! more      the interval lies above 1 + margin
//! less      the interval lies below 1 / (1 + margin)
//! equal     the interval lies between them
//! ```
//!
//! Intervals that hold at every look are the repeated confidence intervals of Jennison and Turnbull
//! (JRSS B 1989). `vectors/alpha_spending.py` computes the levels for a known deviation; quantiles of
//! Student at these levels allow for one that is estimated.

use serde::Serialize;
use statrs::distribution::{ContinuousCDF, StudentsT};

use crate::ratio::Ratio;

/// Numbers of pairs after which the answer is looked at, and the levels of the looks.
const LOOKS: [(u32, f64); 6] =
    [(5, 0.01259), (10, 0.01325), (15, 0.01409), (20, 0.0148), (25, 0.01538), (30, 0.01586)];
/// Level of a single look.
const LEVEL: f64 = 0.05;

/// Pairs of the first look.
pub const FIRST_PAIRS: u32 = LOOKS[0].0;
/// Pairs of the last look.
pub const MOST_PAIRS: u32 = LOOKS[LOOKS.len() - 1].0;

/// Relation of two means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The first is larger by more than the margin.
    More,
    /// The second is.
    Less,
    /// They differ by at most the margin.
    Equal,
    /// The interval is too wide.
    Undecided,
}

/// A look at the pairs made so far.
#[derive(Clone, Copy, Debug)]
struct Look {
    pairs: u32,
    level: f64,
    /// Quantile of Student's t with all pairs.
    quantile: f64,
}

impl Look {
    fn new((pairs, level): (u32, f64)) -> Self {
        Self { pairs, level, quantile: quantile(pairs, level) }
    }

    /// Returns the quantile with this number of pairs: runs in real time may be invalid.
    fn with(self, pairs: u32) -> f64 {
        if pairs == self.pairs { self.quantile } else { quantile(pairs, self.level) }
    }
}

fn quantile(pairs: u32, level: f64) -> f64 {
    let student = StudentsT::new(0.0, 1.0, f64::from(pairs) - 1.0);
    student.map_or(f64::INFINITY, |t| t.inverse_cdf(1.0 - level / 2.0))
}

/// When to look, and the margin.
#[derive(Clone, Debug)]
pub(crate) struct Rule {
    /// Looks, the first first.
    looks: Vec<Look>,
    /// Share by which means may differ that count as equal.
    margin: f64,
    /// Whether one pair is exact.
    exact: bool,
}

impl Rule {
    fn new(looks: &[(u32, f64)], margin: f64) -> Self {
        Self { looks: looks.iter().copied().map(Look::new).collect(), margin, exact: false }
    }

    /// Looks after 5, 10, 15, 20, 25 and 30 pairs, until the answer is known.
    pub(crate) fn sequential(margin: f64) -> Self {
        Self::new(&LOOKS, margin)
    }

    /// Looks once.
    pub(crate) fn once(pairs: u32, margin: f64) -> Self {
        Self::new(&[(pairs, LEVEL)], margin)
    }

    /// Takes one pair, of runs that nothing random reaches.
    pub(crate) fn exact(margin: f64) -> Self {
        Self { exact: true, ..Self::once(1, margin) }
    }

    /// Returns the numbers of pairs after which to look.
    pub(crate) fn looks(&self) -> impl Iterator<Item = u32> {
        self.looks.iter().map(|look| look.pairs)
    }

    pub(crate) fn margin(&self) -> f64 {
        self.margin
    }

    pub(crate) fn is_exact(&self) -> bool {
        self.exact
    }

    /// Returns the ratio of the first to the second value of the pairs, with its interval, and the
    /// verdict. All values must be above 0. The look is the first with so many pairs.
    pub(crate) fn decide(&self, pairs: &[(f64, f64)]) -> (Ratio, Verdict) {
        let n = pairs.len() as f64;
        let d: Vec<f64> = pairs.iter().map(|(a, b)| libm::log(a / b)).collect();
        let mean = d.iter().sum::<f64>() / n;
        let squares: f64 = d.iter().map(|d| (d - mean) * (d - mean)).sum();
        let count = pairs.len() as u32;
        let look = self.looks.iter().find(|look| look.pairs >= count);
        let quantile = look.map_or(f64::INFINITY, |look| look.with(count));
        let width = match pairs.len() {
            _ if self.exact => 0.0,
            1 => f64::INFINITY,
            _ if squares == 0.0 => 0.0,
            _ => quantile * (squares / (n - 1.0) / n).sqrt(),
        };
        let [low, high] = [mean - width, mean + width].map(libm::exp);
        (Ratio { value: libm::exp(mean), low, high }, self.verdict(low, high))
    }

    /// Returns the verdict on the interval of a ratio.
    pub(crate) fn verdict(&self, low: f64, high: f64) -> Verdict {
        let most = 1.0 + self.margin;
        match () {
            () if low > most => Verdict::More,
            () if high < 1.0 / most => Verdict::Less,
            () if low >= 1.0 / most && high <= most => Verdict::Equal,
            () => Verdict::Undecided,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MARGIN: f64 = 0.05;

    /// Ratios of 2 with a deviation of the logarithm: t(0.99370, 4) = 4.3056 at the first of six
    /// looks, 2.776 at a single one.
    #[test]
    fn closed_form() {
        let pairs: Vec<(f64, f64)> =
            [-2.0, -1.0, 0.0, 1.0, 2.0].map(|k: f64| (2.0 * libm::exp(0.1 * k), 1.0)).into();
        // s = 0.1 sqrt(2.5), s / sqrt(5) = 0.1 sqrt(0.5).
        for (rule, t) in [(Rule::sequential(MARGIN), 4.3056), (Rule::once(5, MARGIN), 2.776)] {
            let (ratio, verdict) = rule.decide(&pairs);
            let width = t * 0.1 * 0.5_f64.sqrt();
            assert!(
                (ratio.value - 2.0).abs() < 1e-12 && (ratio.high / 2.0 / libm::exp(width) - 1.0).abs() < 1e-3
            );
            assert!((ratio.low * ratio.high - 4.0).abs() < 1e-9, "{ratio:?}");
            assert_eq!(verdict, Verdict::More);
        }
    }

    #[test]
    fn verdicts() {
        let once = Rule::once(1, MARGIN);
        for (low, high, verdict) in [
            (1.051, 1.2, Verdict::More),
            (1.05, 1.2, Verdict::Undecided),
            (1.0 / 1.05, 1.05, Verdict::Equal),
            (0.99, 1.051, Verdict::Undecided),
            (0.5, 0.95, Verdict::Less),
            (0.5, 0.96, Verdict::Undecided),
        ] {
            assert_eq!(once.verdict(low, high), verdict, "{low} to {high}");
        }
        assert_eq!(once.decide(&[(2.0, 1.0)]).1, Verdict::Undecided, "one pair tells nothing");
        let four = Rule::once(5, MARGIN).decide(&[(2.0, 1.0), (2.1, 1.0), (2.0, 1.0), (1.9, 1.0)]);
        assert_eq!(four.1, Verdict::More, "one of five pairs is missing");
        let (ratio, verdict) = Rule::exact(MARGIN).decide(&[(2.0, 1.0)]);
        assert_eq!((ratio.low, ratio.high, verdict), (2.0, 2.0, Verdict::More), "unless it is exact");
    }

    /// Counts of a share of streams of pairs, each 0 to 1.
    #[derive(Debug)]
    struct Shares {
        /// The verdict is wrong.
        wrong: f64,
        /// The wrong one of two different means is called larger.
        reversed: f64,
        /// The printed interval contains the true ratio.
        covered: f64,
    }

    const STREAMS: u32 = 20_000;

    fn simulate(rule: &Rule, ratio: f64, spread: f64) -> Shares {
        let mut rng = units::Rng::stream(1, &format!("pairs {ratio} {spread}"));
        let (mut wrong, mut reversed, mut covered) = (0, 0, 0);
        let truth = if ratio > 1.0 + MARGIN { Verdict::More } else { Verdict::Equal };
        for _ in 0..STREAMS {
            let mut pairs = Vec::new();
            for look in rule.looks() {
                pairs.resize_with(look as usize, || (ratio * libm::exp(spread * rng.normal()), 1.0));
                let (found, verdict) = rule.decide(&pairs);
                if verdict != Verdict::Undecided || look == MOST_PAIRS {
                    wrong += u32::from(verdict != truth && verdict != Verdict::Undecided);
                    reversed += u32::from(ratio > 1.0 && verdict == Verdict::Less);
                    covered += u32::from(found.low <= ratio && ratio <= found.high);
                    break;
                }
            }
        }
        let share = |count: u32| f64::from(count) / f64::from(STREAMS);
        Shares { wrong: share(wrong), reversed: share(reversed), covered: share(covered) }
    }

    /// Returns the cases in which a rule promises too much.
    fn broken(rule: &Rule) -> Vec<String> {
        let mut broken = Vec::new();
        for ratio in [1.0, 1.04, 1.06, 1.2, 2.0] {
            for spread in [0.02, 0.1, 0.3] {
                let shares = simulate(rule, ratio, spread);
                if shares.wrong > 0.05 || shares.reversed > 0.005 || shares.covered < 0.945 {
                    broken.push(format!("{ratio}, {spread}: {shares:?}"));
                }
            }
        }
        broken
    }

    /// 20 000 streams for each true ratio and spread. Without the correction for several looks, the
    /// same test fails.
    #[test]
    fn promises_are_kept() {
        let rule = Rule::sequential(MARGIN);
        assert_eq!(broken(&rule), Vec::<String>::new());
        let plain = Rule::new(&LOOKS.map(|(pairs, _)| (pairs, LEVEL)), MARGIN);
        assert!(!broken(&plain).is_empty());
    }
}

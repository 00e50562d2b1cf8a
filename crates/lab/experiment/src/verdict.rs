//! Decides whether a check holds, by how much, and whether the difference exceeds the spread of the
//! runs.
//!
//! ```text
//! left is below right       slack = right - left          spread = sqrt(s_left^2 + s_right^2)
//! left is above right       slack = left - right          s: sample deviation over the repetitions
//! left is near right        slack = ln f - |ln(left / right)|, s relative to its value
//! a is increasing           the smallest step minus its spread
//!
//! holds   slack > spread        missed   slack < -spread        within the spread   otherwise
//! ```
//!
//! `right` is the number of the rows times the claim's factor. A multiple of a measured 0 is not
//! judged, because nothing can be some times as large as 0. Two zeros are equal.

use crate::file::{Check, Fold, Relation, Side};
use crate::metric::Metric;
use crate::row::RowLabel;
use serde::{Deserialize, Serialize};

/// Result of a check in a variant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// The check holds by more than the spread.
    Holds,
    /// The difference is within the spread.
    WithinSpread,
    /// The check fails by more than the spread.
    Missed,
    /// A number is missing, or there is nothing to compare.
    NotJudged,
}

/// A number with its deviation over the repetitions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Aggregate over the runs.
    pub value: f64,
    /// Sample deviation, `None` for a single run.
    pub spread: Option<f64>,
}

impl Sample {
    /// Creates a number that does not vary between runs.
    pub fn exact(value: f64) -> Self {
        Self { value, spread: Some(0.0) }
    }

    fn times(self, factor: f64) -> Self {
        Self { value: self.value * factor, spread: self.spread.map(|spread| spread * factor.abs()) }
    }

    fn relative(self) -> Option<f64> {
        Some(self.spread? / self.value.abs())
    }
}

/// Returns the deviation of a difference, unknown if one of the two is unknown.
fn combined_spread(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    Some(a?.hypot(b?))
}

/// Judgement on a check.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgement {
    /// Result with the spread taken into account.
    pub outcome: Outcome,
    /// Whether the check holds on the numbers alone, without the spread.
    pub stands: bool,
    /// Slack, relative to the right side.
    pub margin: f64,
    /// Deviation of the slack, relative to the right side. `None` if a row was run once.
    pub spread: Option<f64>,
    /// The compared numbers, in words.
    pub numbers: String,
}

/// Judges a check of `metric`. `value` returns a row's number for a metric, `published` the
/// source's number. Returns `None` if a number is missing.
pub fn judge(
    check: &Check,
    metric: &Metric,
    labels: &[RowLabel],
    value: impl Fn(&RowLabel, &Metric) -> Option<Sample>,
    published: impl Fn(&RowLabel) -> Option<f64>,
) -> Option<Judgement> {
    match check {
        Check::Compare { left, is, times, right } => {
            let (l, r) = (of_side(left, metric, labels, &value)?, of_side(right, metric, labels, &value)?);
            Some(compare(metric, l, *is, *times, r, matches!(right, Side::Number(_))))
        }
        Check::Increasing(rows) => {
            let samples = rows.iter().map(|row| value(row, metric)).collect::<Option<Vec<_>>>()?;
            Some(increasing(metric, &samples))
        }
        Check::Near { rows, factor } => {
            let picked = rows.pick(labels);
            let pairs = picked
                .iter()
                .map(|row| Some((*row, value(row, metric)?, published(row)?)))
                .collect::<Option<Vec<_>>>()?;
            Some(near_published(metric, &pairs, *factor))
        }
    }
}

fn of_side(
    side: &Side,
    metric: &Metric,
    labels: &[RowLabel],
    value: impl Fn(&RowLabel, &Metric) -> Option<Sample>,
) -> Option<Sample> {
    let (fold, rows, metric) = match side {
        Side::Number(number) => return Some(Sample::exact(*number)),
        Side::Rows { fold, rows, metric: own } => (fold, rows, own.as_deref().unwrap_or(metric)),
    };
    let samples = rows.pick(labels).into_iter().map(|row| value(row, metric)).collect::<Option<Vec<_>>>()?;
    let by_value = |a: &Sample, b: &Sample| a.value.total_cmp(&b.value);
    match fold {
        Fold::Max => samples.into_iter().max_by(by_value),
        Fold::Min => samples.into_iter().min_by(by_value),
        Fold::Mean => mean(&samples),
    }
}

fn mean(samples: &[Sample]) -> Option<Sample> {
    let n = samples.len() as f64;
    let value = samples.iter().map(|s| s.value).sum::<f64>() / n;
    let squares: Option<f64> = samples.iter().map(|s| Some(s.spread? * s.spread?)).sum();
    let spread = squares.map(|squares| squares.sqrt() / n);
    (!samples.is_empty()).then_some(Sample { value, spread })
}

fn compare(metric: &Metric, left: Sample, is: Relation, times: f64, right: Sample, typed: bool) -> Judgement {
    let right = right.times(times);
    let apart = combined_spread(left.spread, right.spread);
    let (slack, spread, scale) = match is {
        Relation::Below | Relation::AtMost => (right.value - left.value, apart, right.value.abs()),
        Relation::Above | Relation::AtLeast => (left.value - right.value, apart, right.value.abs()),
        Relation::Near(factor) => {
            (near(left.value, right.value, factor), combined_spread(left.relative(), right.relative()), 1.0)
        }
    };
    let stands = is.stands(left.value, right.value);
    let nothing = right.value == 0.0 && !typed;
    let outcome = match nothing && (times != 1.0 || matches!(is, Relation::Near(_))) {
        true => Outcome::NotJudged,
        // An exact tie with a typed limit holds: "at most 0" when nothing was lost.
        false
            if typed
                && is == Relation::AtMost
                && left.value == right.value
                && apart.unwrap_or(0.0) == 0.0 =>
        {
            Outcome::Holds
        }
        false => outcome(slack, spread),
    };
    let not = if stands { "" } else { "not " };
    let numbers = format!("{} is {not}{} {}", shown(metric, left), is.words(), shown(metric, right));
    Judgement { outcome, stands, margin: slack / scale, spread: spread.map(|s| s / scale), numbers }
}

/// Returns the slack between logarithms. NaN becomes minus infinity.
fn near(left: f64, right: f64, factor: f64) -> f64 {
    let distance = libm::log(left / right).abs();
    if distance.is_nan() { f64::NEG_INFINITY } else { libm::log(factor) - distance }
}

/// Compares a slack with its spread. A single run has no spread, so the numbers alone decide.
fn outcome(slack: f64, spread: Option<f64>) -> Outcome {
    let spread = finite_or_zero(spread);
    match slack {
        slack if slack > spread => Outcome::Holds,
        slack if slack >= -spread => Outcome::WithinSpread,
        _ => Outcome::Missed,
    }
}

fn finite_or_zero(spread: Option<f64>) -> f64 {
    spread.filter(|spread| spread.is_finite()).unwrap_or(0.0)
}

/// Returns the result of several checks that must all hold.
fn worst_outcome(outcomes: &(impl Iterator<Item = Outcome> + Clone)) -> Outcome {
    let has = |wanted| outcomes.clone().any(|outcome| outcome == wanted);
    [Outcome::Missed, Outcome::NotJudged, Outcome::WithinSpread]
        .into_iter()
        .find(|worse| has(*worse))
        .unwrap_or(Outcome::Holds)
}

fn increasing(metric: &Metric, samples: &[Sample]) -> Judgement {
    let steps = samples.windows(2).map(|pair| {
        (pair[1].value - pair[0].value, combined_spread(pair[0].spread, pair[1].spread), pair[0].value.abs())
    });
    let tightest =
        steps.clone().min_by(|a, b| (a.0 - finite_or_zero(a.1)).total_cmp(&(b.0 - finite_or_zero(b.1))));
    let (slack, spread, scale) = tightest.unwrap_or((0.0, None, 1.0));
    Judgement {
        outcome: worst_outcome(&steps.map(|(slack, spread, _)| outcome(slack, spread))),
        stands: samples.is_sorted_by(|a, b| a.value < b.value),
        margin: slack / scale,
        spread: spread.map(|spread| spread / scale),
        numbers: listed(metric, samples.iter().map(|sample| significant(sample.value))),
    }
}

fn near_published(metric: &Metric, pairs: &[(&RowLabel, Sample, f64)], factor: f64) -> Judgement {
    let slacks = pairs.iter().map(|(_, ours, theirs)| (near(ours.value, *theirs, factor), ours.relative()));
    let tightest =
        slacks.clone().min_by(|a, b| (a.0 - finite_or_zero(a.1)).total_cmp(&(b.0 - finite_or_zero(b.1))));
    let (margin, spread) = tightest.unwrap_or_default();
    let texts = pairs.iter().map(|(row, ours, theirs)| {
        format!("{row} {} for {}", significant(ours.value), shown(metric, Sample::exact(*theirs)))
    });
    Judgement {
        outcome: worst_outcome(&slacks.map(|(slack, spread)| outcome(slack, spread))),
        stands: pairs.iter().all(|(_, ours, theirs)| near(ours.value, *theirs, factor) >= 0.0),
        margin,
        spread,
        numbers: texts.collect::<Vec<_>>().join(", "),
    }
}

fn shown(metric: &Metric, sample: Sample) -> String {
    format!("{} {}", significant(sample.value), metric.unit()).trim_end().to_owned()
}

fn listed(metric: &Metric, texts: impl Iterator<Item = String>) -> String {
    format!("{} {}", texts.collect::<Vec<_>>().join(", "), metric.unit()).trim_end().to_owned()
}

/// Formats a number with four significant digits.
fn significant(number: f64) -> String {
    let size = number.abs();
    let decimals = [1000.0, 100.0, 10.0, 1.0, 0.1, 0.01].iter().position(|limit| size >= *limit).unwrap_or(6);
    let text = format!("{number:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

//! The numbers that a check compares, whether it holds on them alone, and the numbers in words.
//!
//! `results` judges a check by the same numbers and their spread.

use crate::file::check::{Check, Fold, Relation, Side};
use crate::metric::Metric;
use crate::row::RowLabel;

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
}

/// The numbers of a check.
#[derive(Clone, Debug, PartialEq)]
pub enum Compared {
    Sides {
        left: Sample,
        is: Relation,
        /// Factor of the right side, which `right` already includes.
        times: f64,
        right: Sample,
        /// Whether the file gives the right side as a number.
        typed: bool,
    },
    /// Values that increase.
    Steps(Vec<Sample>),
    /// Rows with our number and the published one, which differ by at most this factor.
    Published(Vec<(RowLabel, Sample, f64)>, f64),
}

impl Check {
    /// Collects the numbers of a check of `metric`. `value` returns a row's number for a metric,
    /// `published` the source's number. Returns `None` if a number is missing.
    pub fn numbers(
        &self,
        metric: &Metric,
        labels: &[RowLabel],
        value: impl Fn(&RowLabel, &Metric) -> Option<Sample>,
        published: impl Fn(&RowLabel) -> Option<f64>,
    ) -> Option<Compared> {
        match self {
            Self::Compare { left, is, times, right } => Some(Compared::Sides {
                left: left.number(metric, labels, &value)?,
                is: *is,
                times: *times,
                right: right.number(metric, labels, &value)?.times(*times),
                typed: matches!(right, Side::Number(_)),
            }),
            Self::Increasing(rows) => {
                rows.iter().map(|row| value(row, metric)).collect::<Option<_>>().map(Compared::Steps)
            }
            Self::Near { rows, factor } => {
                let pair = |row: &RowLabel| Some((row.clone(), value(row, metric)?, published(row)?));
                let pairs = rows.pick(labels).into_iter().map(pair).collect::<Option<_>>();
                pairs.map(|pairs| Compared::Published(pairs, *factor))
            }
        }
    }
}

impl Side {
    fn number(
        &self,
        metric: &Metric,
        labels: &[RowLabel],
        value: impl Fn(&RowLabel, &Metric) -> Option<Sample>,
    ) -> Option<Sample> {
        let (fold, rows, metric) = match self {
            Self::Number(number) => return Some(Sample::exact(*number)),
            Self::Rows { fold, rows, metric: own } => (fold, rows, own.as_deref().unwrap_or(metric)),
        };
        let samples =
            rows.pick(labels).into_iter().map(|row| value(row, metric)).collect::<Option<Vec<_>>>()?;
        let by_value = |a: &Sample, b: &Sample| a.value.total_cmp(&b.value);
        match fold {
            Fold::Max => samples.into_iter().max_by(by_value),
            Fold::Min => samples.into_iter().min_by(by_value),
            Fold::Mean => mean(&samples),
        }
    }
}

fn mean(samples: &[Sample]) -> Option<Sample> {
    let n = samples.len() as f64;
    let value = samples.iter().map(|s| s.value).sum::<f64>() / n;
    let squares: Option<f64> = samples.iter().map(|s| Some(s.spread? * s.spread?)).sum();
    let spread = squares.map(|squares| squares.sqrt() / n);
    (!samples.is_empty()).then_some(Sample { value, spread })
}

/// Returns the logarithm of the ratio that `factor` leaves between two numbers, negative if they
/// are further apart. NaN becomes minus infinity.
pub fn slack_within(left: f64, right: f64, factor: f64) -> f64 {
    let distance = libm::log(left / right).abs();
    if distance.is_nan() { f64::NEG_INFINITY } else { libm::log(factor) - distance }
}

impl Compared {
    /// Reports whether the check holds on the numbers alone, without their spread.
    pub fn stands(&self) -> bool {
        match self {
            Self::Sides { left, is, right, .. } => is.stands(left.value, right.value),
            Self::Steps(samples) => samples.is_sorted_by(|a, b| a.value < b.value),
            Self::Published(pairs, factor) => {
                pairs.iter().all(|(_, ours, theirs)| slack_within(ours.value, *theirs, *factor) >= 0.0)
            }
        }
    }

    /// Returns the numbers in words, in the unit of `metric`.
    pub fn in_words(&self, metric: &Metric) -> String {
        let shown = |text: String| format!("{text} {}", metric.unit()).trim_end().to_owned();
        let one = |number: f64| shown(significant(number));
        match self {
            Self::Sides { left, is, right, .. } => {
                let not = if self.stands() { "" } else { "not " };
                format!("{} is {not}{} {}", one(left.value), is.words(), one(right.value))
            }
            Self::Steps(samples) => shown(joined(samples.iter().map(|sample| significant(sample.value)))),
            Self::Published(pairs, _) => joined(pairs.iter().map(|(row, ours, theirs)| {
                format!("{row} {} for {}", significant(ours.value), one(*theirs))
            })),
        }
    }
}

fn joined(texts: impl Iterator<Item = String>) -> String {
    texts.collect::<Vec<_>>().join(", ")
}

/// Formats a number with four significant digits.
fn significant(number: f64) -> String {
    let size = number.abs();
    let decimals = [1000.0, 100.0, 10.0, 1.0, 0.1, 0.01].iter().position(|limit| size >= *limit).unwrap_or(6);
    let text = format!("{number:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

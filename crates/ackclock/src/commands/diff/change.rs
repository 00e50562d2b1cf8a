//! A number of two sets of results.

use experiment::metric::Metric;
use experiment::row::RowLabel;

use crate::commands::ratio::Ratio;

/// What users ask for first; all else comes after, by name.
const FIRST: [&str; 9] = [
    "goodput",
    "throughput",
    "utilization",
    "completion",
    "rtt_mean",
    "rtt_p95",
    "queue_delay_mean",
    "loss",
    "jain",
];

/// A number before and after.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Change {
    pub(super) experiment: String,
    pub(super) variant: String,
    pub(super) row: RowLabel,
    pub(super) metric: Metric,
    pub(super) before: f64,
    pub(super) after: f64,
    /// After over before with its interval, where both are above 0.
    pub(super) ratio: Option<Ratio>,
    /// More than the runs scatter.
    pub(super) is_beyond_spread: bool,
    /// There is a rule about its metric.
    pub(super) is_ruled: bool,
    /// The rule that it breaks.
    pub(super) broken: Option<String>,
}

impl Change {
    /// After less before, of before; nothing of nothing.
    pub(super) fn relative(&self) -> Option<f64> {
        (self.before != 0.0).then(|| self.after / self.before - 1.0)
    }

    /// Its place in an order of metrics.
    pub(super) fn rank(&self) -> (usize, &Metric) {
        let known = FIRST.iter().position(|word| *word == self.metric.word());
        (known.unwrap_or(FIRST.len()), &self.metric)
    }

    /// How far it is, for an order: from nothing or to nothing is farthest.
    pub(super) fn distance(&self) -> f64 {
        self.ratio.map_or(f64::INFINITY, |ratio| libm::log(ratio.value).abs())
    }

    #[cfg(test)]
    pub(super) fn example(before: f64, after: f64) -> Self {
        Self {
            experiment: "e".to_owned(),
            variant: String::new(),
            row: "r".into(),
            metric: "loss".into(),
            before,
            after,
            ratio: None,
            is_beyond_spread: false,
            is_ruled: false,
            broken: None,
        }
    }
}

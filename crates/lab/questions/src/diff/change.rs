//! One number in two sets of results.

use experiment::metric::Metric;
use experiment::row::RowLabel;
use serde::Serialize;

use crate::ratio::Ratio;

/// Metrics that are listed first, in this order. All others follow by name.
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
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Change {
    pub experiment: String,
    pub variant: String,
    pub row: RowLabel,
    pub metric: Metric,
    pub before: f64,
    pub after: f64,
    /// Ratio of after to before with its interval, if both are above 0.
    pub ratio: Option<Ratio>,
    /// Whether the change is larger than the spread between runs.
    pub is_beyond_spread: bool,
    /// Whether a rule is about this metric.
    pub is_ruled: bool,
    /// Text of the rule that the change breaks.
    pub broken: Option<String>,
}

impl Change {
    /// Returns the change as a share of the number before; `None` if that is 0.
    pub(super) fn relative(&self) -> Option<f64> {
        (self.before != 0.0).then(|| self.after / self.before - 1.0)
    }

    /// Returns the position of the metric in the order of metrics.
    pub(super) fn rank(&self) -> (usize, &Metric) {
        let known = FIRST.iter().position(|word| *word == self.metric.word());
        (known.unwrap_or(FIRST.len()), &self.metric)
    }

    /// Returns the size of the change, for sorting. A change from or to 0 is the largest.
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

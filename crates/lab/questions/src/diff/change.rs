//! One number in two sets of results.

use experiment::metric::Metric;
use experiment::row::RowLabel;
use serde::Serialize;

use super::evidence::Evidence;

/// Metrics that are listed first, in this order. All others follow by name.
const FIRST: [&str; 9] = [
    "goodput",
    "throughput",
    "utilization",
    "completion",
    "rtt_mean",
    "rtt_p95",
    "queue_delay",
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
    pub evidence: Evidence,
    /// Outcome of each rule about this metric.
    pub rulings: Vec<Ruling>,
}

/// Outcome of a rule for one number.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Ruling {
    /// The rule as it was written.
    pub rule: String,
    pub is_broken: bool,
    /// Whether a change of this number could break it. A fall ends at 0, and a share at 100 %.
    pub can_be_broken: bool,
    /// Smallest change that the runs show, as a share or in the unit of the metric. `None` if the
    /// spread is unknown.
    pub smallest: Option<f64>,
    /// Whether the rule accepts less than that, so that the runs cannot check it.
    pub is_too_fine: bool,
    /// The smallest change in words, as in `a fall of 1.2 % or more, four times out of five`.
    pub sees: String,
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
        self.evidence.ratio.map_or(f64::INFINITY, |ratio| libm::log(ratio.value).abs())
    }

    /// Returns the first rule that the change breaks.
    pub fn broken(&self) -> Option<&str> {
        self.rulings.iter().find(|ruling| ruling.is_broken).map(|ruling| ruling.rule.as_str())
    }

    /// Names experiment, variant and row.
    pub(super) fn place(&self) -> String {
        join([self.experiment.as_str(), &self.variant, self.row.as_str()])
    }

    /// Names variant, row and metric.
    pub(super) fn case(&self) -> String {
        join([&self.variant, self.row.as_str(), self.metric.as_str()])
    }
}

/// Joins the words that are not empty.
pub(super) fn join(words: [&str; 3]) -> String {
    words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(", ")
}

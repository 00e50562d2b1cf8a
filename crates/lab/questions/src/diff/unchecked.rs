//! Rows and numbers that cannot be compared, and whether a rule is about them.

use std::collections::BTreeSet;

use experiment::metric::Metric;
use results::summary::Row;
use serde::Serialize;

use super::rule::Rule;

/// Reason for a number that has no counterpart.
pub(super) const GONE: &str = "a value before, none after";

/// A row or number that could not be compared.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Unchecked {
    /// Experiment and row, and the metric if the rest of the row was compared.
    pub what: String,
    pub why: &'static str,
    /// Metrics of the rules that are about it.
    pub metrics: Vec<Metric>,
}

impl Unchecked {
    /// Says what follows.
    pub(super) fn sentence(&self) -> String {
        let follows = match (self.metrics.is_empty(), self.why) {
            (true, _) => "not compared",
            (_, GONE) => "which breaks the rule",
            _ => "not checked",
        };
        format!("{}: {}, {follows}", self.what, self.why)
    }
}

/// Returns what cannot be compared in a row: all of it, or the metrics of rules.
pub(super) fn of_row(row: &str, sides: [Option<&Row>; 2], rules: &[Rule]) -> Vec<Unchecked> {
    let rows = || sides.iter().flatten();
    let metrics: BTreeSet<&Metric> = rules.iter().map(|rule| &rule.metric).collect();
    let metrics = metrics.into_iter().filter(|metric| rows().any(|row| can_have(row, metric)));
    let why = match sides.map(|row| row.is_some_and(|row| !row.is_trusted())) {
        [false, false] => return metrics.filter_map(|metric| of_metric(row, sides, metric)).collect(),
        [true, false] => "no valid run before",
        [false, true] => "no valid run after",
        [true, true] => "no valid run on either side",
    };
    vec![Unchecked { what: row.to_owned(), why, metrics: metrics.cloned().collect() }]
}

fn of_metric(row: &str, sides: [Option<&Row>; 2], metric: &Metric) -> Option<Unchecked> {
    let why = match sides.map(|row| row.is_some_and(|row| row.cells.contains_key(metric))) {
        [true, true] => return None,
        [true, false] => GONE,
        [false, true] => "a value after, none before",
        [false, false] => "no value on either side",
    };
    Some(Unchecked { what: format!("{row}: {metric}"), why, metrics: vec![metric.clone()] })
}

/// Reports whether a row is of a kind that can have a metric: it has one that every such row has,
/// with the same label and window.
fn can_have(row: &Row, metric: &Metric) -> bool {
    let word = metric.word();
    let begins = |beginning: &str| word.starts_with(beginning);
    let witness = match word {
        "completion" => "finished",
        // TCP only, the stack only, several flows only.
        "rto_mean" | "receive_times" => word,
        _ if word.ends_with("_flow_std") => word,
        _ if begins("ping") => "ping_loss",
        _ if begins("udp") => "udp_throughput",
        _ if begins("media") || begins("frame") => "media_rate",
        _ if begins("object") => "objects",
        _ => "acks_sent",
    };
    let witness = metric.as_str().replacen(word, witness, 1);
    row.cells.contains_key(metric) || row.cells.contains_key(witness.as_str())
}

//! Two connections side by side.

use std::fmt::Write as _;

use serde::Serialize;

use super::analysed::{Analysed, MAIN, number};
use crate::text::cut;

/// Comparison of two connections.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Pair {
    /// Names of the two.
    pub labels: [String; 2],
    /// Metrics that both tell: word, name, the two values, and the second over the first.
    pub rows: Vec<PairRow>,
    /// Metrics that only one tells.
    pub only_one: Vec<&'static str>,
}

/// A metric of both connections.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PairRow {
    /// Word in files.
    pub metric: &'static str,
    /// Name with its unit.
    pub name: &'static str,
    /// Values.
    pub values: [f64; 2],
    /// Second value over the first. `None` if the first is 0.
    pub ratio: Option<f64>,
}

impl Pair {
    pub(super) fn new(one: &Analysed, other: &Analysed) -> Self {
        let (mut rows, mut only_one) = (Vec::new(), Vec::new());
        for (metric, name) in MAIN {
            match [one, other].map(|of| of.value(metric)) {
                [Some(a), Some(b)] => {
                    let ratio = (a != 0.0).then(|| b / a);
                    rows.push(PairRow { metric, name: name.trim_start(), values: [a, b], ratio });
                }
                [None, None] => {}
                _ => only_one.push(metric),
            }
        }
        Self { labels: [one.label.clone(), other.label.clone()], rows, only_one }
    }

    fn row(&self, metric: &str) -> Option<&PairRow> {
        self.rows.iter().find(|row| row.metric == metric)
    }

    /// Compares goodput, RTT and retransmissions in a sentence.
    pub(super) fn verdict(&self) -> String {
        let [first, second] = &self.labels;
        let parts: Vec<String> =
            [("goodput", "goodput"), ("rtt_mean", "mean RTT"), ("retransmissions", "retransmissions")]
                .iter()
                .filter_map(|(metric, name)| {
                    let row = self.row(metric)?;
                    let [a, b] = row.values.map(|value| number(metric, value));
                    let times = row.ratio.map(|ratio| format!(" ({ratio:.2} times)")).unwrap_or_default();
                    Some(format!("{name} {b} after {a}{times}"))
                })
                .collect();
        match parts.is_empty() {
            true => format!("{second} and {first} have no metric in common."),
            false => format!(
                "{second} beside {first}: {}. One connection of each says nothing about their spread.",
                parts.join(", ")
            ),
        }
    }

    pub(super) fn text(&self, _: bool) -> String {
        let [first, second] = [&self.labels[0], &self.labels[1]].map(|label| cut(label, 16));
        let is_same = first == second;
        let [first, second] = if is_same { ["first", "second"].map(str::to_owned) } else { [first, second] };
        let mut out = format!("  {:<26} {first:>16} {second:>16} {:>8}\n", "", "ratio");
        for row in &self.rows {
            let [a, b] = row.values.map(|value| number(row.metric, value));
            let ratio = row.ratio.map_or_else(|| "-".to_owned(), |ratio| format!("{ratio:.3}"));
            let _ = writeln!(out, "  {:<26} {a:>16} {b:>16} {ratio:>8}", row.name);
        }
        if !self.only_one.is_empty() {
            let _ = writeln!(out, "  in one log only: {}", self.only_one.join(", "));
        }
        out.push('\n');
        out
    }
}

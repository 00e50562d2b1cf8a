//! What an experiment's results say: the one data model of tables, JSON and report.
//!
//! An experiment varies some keys. The values of one of them, the `rows` key, are the rows of its table; every
//! combination of the others is a *variant*, with a table of its own.

use std::collections::BTreeMap;

use experiment::backend::Backend;
use experiment::chart::Chart;
use experiment::metric::Metric;
use experiment::row::RowLabel;
use experiment::verdict::Outcome;
pub use scenario::Repeated;
use serde::{Deserialize, Serialize};

use crate::network::Network;
use crate::variables::Variables;

/// The results of one experiment, as `summary.json` holds them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// `quic-dc/table-1`.
    pub experiment: String,
    /// Where its runs took place; on the wire beside their simulations.
    #[serde(default)]
    pub world: Backend,
    /// The experiment's title.
    pub title: String,
    /// The document it comes from.
    pub source: String,
    /// A remark of the experiment's author on how to read it, may be empty.
    pub note: String,
    /// Why the reference is what it is; may be empty.
    #[serde(default)]
    pub why_reference: String,
    /// Metrics of the table, in order.
    pub metrics: Vec<Metric>,
    /// One table each.
    pub variants: Vec<Variant>,
    /// The checks.
    pub claims: Vec<ClaimResult>,
    /// The charts that its file asks for.
    pub charts: Vec<Chart>,
    /// Algorithm to the names of its states: the series have their places there, from 0.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub states: BTreeMap<String, Vec<String>>,
    /// Algorithm to its variables in the series, if series were recorded.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub variables: Variables,
}

/// One combination of the keys that are not rows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Variant {
    /// `limit-counts = queue+delay`; empty when nothing else varies.
    pub name: String,
    /// Whether it is one of the file's reference.
    #[serde(default = "yes")]
    pub reference: bool,
    /// Rows of the table.
    pub rows: Vec<Row>,
    /// Columns that differ from the published ones as a whole.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub biases: Vec<BiasFound>,
}

fn yes() -> bool {
    true
}

/// One value of the rows key.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// `QUIC-DC 10`, with the backend that ran it.
    pub label: RowLabel,
    /// The algorithm's name, which decides its colour: `quic-dc`.
    pub algorithm: String,
    /// Metric to cell; a metric that does not apply is absent.
    pub cells: BTreeMap<Metric, Cell>,
    /// How its runs went, if they were measured in real time, or if connections of real endpoints died.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trust: Option<Trust>,
}

/// How far the runs of a row are to be believed that were measured in real time or made by real endpoints.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trust {
    /// Runs that are valid by their own audit. If there are any, they alone make up the numbers.
    pub valid: u32,
    /// Of each other run why it is not, after every try.
    pub invalid: Vec<String>,
    /// Tries that were not valid and were made again.
    pub repeated: u32,
}

impl Trust {
    /// In a few words, if there is anything to say against it.
    pub fn remark(&self) -> Option<String> {
        let runs = self.valid as usize + self.invalid.len();
        match (self.valid, self.invalid.as_slice()) {
            (_, []) => None,
            (0, [why, ..]) => Some(format!("none of its {runs} runs is valid: {why}")),
            (_, [why, ..]) => {
                Some(format!("{} of {runs} runs not counted, not valid: {why}", self.invalid.len()))
            }
        }
    }
}

/// One number of the table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// Mean over the repetitions.
    pub mean: f64,
    /// Sample standard deviation over the repetitions (n - 1); none of one.
    #[serde(default)]
    pub spread: Option<f64>,
    /// Where the repetitions lie, if there are several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runs: Option<Quartiles>,
    /// What the table shows and claims are judged by, if the file asks for something else than the mean.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shown: Option<f64>,
    /// What the source prints.
    pub published: Option<f64>,
    /// Why ours differs, if the experiment's file has it on record.
    pub reason: Option<String>,
    /// The cause is not known: the reason says what was tried.
    #[serde(default, skip_serializing_if = "is_false")]
    pub open: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
fn is_false(flag: &bool) -> bool {
    !flag
}

/// Five numbers of a sample: between two values quartiles are interpolated, the p-th of n sorted ones at 1 + p (n - 1) (R's
/// type 7).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Quartiles {
    /// The smallest.
    pub min: f64,
    /// A quarter is no larger.
    pub lower: f64,
    /// Half is no larger.
    pub median: f64,
    /// Three quarters are no larger.
    pub upper: f64,
    /// The largest.
    pub max: f64,
}

impl Quartiles {
    /// None of fewer than two values.
    pub fn of(values: &[f64]) -> Option<Self> {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let last = sorted.len().checked_sub(1).filter(|last| *last > 0)?;
        let at = |part: f64| {
            let place = part * last as f64;
            let (below, rest) = (place.floor() as usize, place - place.floor());
            sorted[below] + rest * (sorted[(below + 1).min(last)] - sorted[below])
        };
        Some(Self { min: at(0.0), lower: at(0.25), median: at(0.5), upper: at(0.75), max: at(1.0) })
    }
}

impl Row {
    /// Whether its numbers come from runs that count.
    pub fn is_trusted(&self) -> bool {
        self.trust.as_ref().is_none_or(|trust| trust.valid > 0)
    }
}

impl Cell {
    /// The number that stands for its runs.
    pub fn value(&self) -> f64 {
        self.shown.unwrap_or(self.mean)
    }

    /// Relative difference from the published value, if there is one and it is not zero.
    pub fn difference(&self) -> Option<f64> {
        self.published.filter(|p| *p != 0.0).map(|p| self.value() / p - 1.0)
    }
}

/// Where a claim stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Every part of it holds in every reference variant that it speaks of, by more than the spread of the runs.
    Holds,
    /// Some of its parts hold there, or all of them in some variant, but not all in all.
    Partly,
    /// The numbers are as it says or as it does not, by less than the spread of the runs.
    WithinSpread,
    /// It does not hold.
    Missed,
    /// It needs numbers that are not there: none of its runs was valid, or nothing was lost that it could compare.
    NotJudged,
}

impl Verdict {
    /// As a sentence has it.
    pub fn words(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Partly => "partly",
            Self::WithinSpread => "within the spread",
            Self::Missed => "missed",
            Self::NotJudged => "not judged",
        }
    }
}

/// A check, judged in a variant.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Judged {
    /// The variant's name.
    pub variant: String,
    /// Whether it is one of the file's reference.
    pub reference: bool,
    /// How it came out.
    pub outcome: Outcome,
    /// By how much it holds (above 0) or not, relative to the right side.
    pub margin: Option<f64>,
    /// The deviation of the margin over the repetitions, likewise.
    pub spread: Option<f64>,
    /// A row that it needs was run once: of its numbers there is no deviation, and none is in `spread`.
    #[serde(default, skip_serializing_if = "is_false")]
    pub one_run: bool,
    /// The numbers that were compared, in words.
    pub numbers: String,
}

/// A check of a claim, judged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PartResult {
    /// Which part of the sentence, if it has several.
    pub says: Option<String>,
    /// The metric it speaks of.
    pub metric: Metric,
    /// Whether it holds on the numbers that the source prints, where they can be checked.
    pub holds_published: Option<bool>,
    /// In each variant that it speaks of.
    pub variants: Vec<Judged>,
}

/// A claim, judged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClaimResult {
    /// `S0-02`.
    pub id: String,
    /// The source's sentence.
    pub says: String,
    /// It is not the source's but this project's own.
    #[serde(default)]
    pub ours: bool,
    /// One of the few sentences that the source itself puts first.
    #[serde(default, skip_serializing_if = "is_false")]
    pub main: bool,
    /// The checks that it consists of.
    pub parts: Vec<PartResult>,
    /// The answer.
    pub verdict: Verdict,
    /// Why it does not hold, or not everywhere, if the file has it on record.
    pub reason: Option<String>,
    /// The cause is not known: the reason says what was tried.
    #[serde(default, skip_serializing_if = "is_false")]
    pub open: bool,
}

impl ClaimResult {
    /// Whether it holds on the numbers that the source prints, as far as they can be checked.
    pub fn holds_published(&self) -> Option<bool> {
        let parts = || self.parts.iter().map(|part| part.holds_published);
        if parts().any(|holds| holds == Some(false)) {
            Some(false)
        } else {
            parts().all(|h| h.is_some()).then_some(true)
        }
    }

    /// It does not hold, or in part alone, and nobody has said why.
    pub fn is_unexplained(&self) -> bool {
        matches!(self.verdict, Verdict::Missed | Verdict::Partly) && self.reason.is_none()
    }

    /// The variants in which all of its parts that speak of them hold, and in how many it was judged.
    pub fn held(&self) -> (Vec<&str>, usize) {
        let mut names: Vec<&str> = Vec::new();
        for judged in self.judged() {
            if !names.contains(&judged.variant.as_str()) {
                names.push(&judged.variant);
            }
        }
        let all = names.len();
        names
            .retain(|name| self.judged().filter(|j| j.variant == *name).all(|j| j.outcome == Outcome::Holds));
        (names, all)
    }

    /// Of all parts and variants.
    pub fn judged(&self) -> impl Iterator<Item = &Judged> {
        self.parts.iter().flat_map(|part| &part.variants)
    }
}

/// A column of which all rows are above the published ones, or all below, by much the same.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BiasFound {
    /// The column.
    pub metric: Metric,
    /// The mean relative difference.
    pub mean: f64,
    /// The smallest and the largest.
    pub range: (f64, f64),
    /// Why, if the file has it on record.
    pub reason: Option<String>,
    /// The cause is not known: the reason, or one of its rows', says what was tried.
    #[serde(default, skip_serializing_if = "is_false")]
    pub open: bool,
}

/// A finished experiment as the report needs it: everything comes from the files of its results folder.
#[derive(Clone, Debug, PartialEq)]
pub struct Results {
    /// `summary.json`.
    pub summary: Summary,
    /// Of `series.parquet` what its charts draw.
    pub series: Vec<Track>,
    /// `flows.parquet`.
    pub flows: Vec<FlowRow>,
    /// `rtt_cdf.parquet`: all flows and repetitions of a row together.
    pub rtt_cdf: Vec<Cdf>,
    /// What the networks of the rows allow, from `manifest.toml`.
    pub networks: Vec<Network>,
}

/// The metrics of one flow in one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FlowRow {
    /// Variant name.
    pub variant: String,
    /// Row label.
    pub row: RowLabel,
    /// Repetition, from 0.
    pub repetition: u32,
    /// Number of the flow in its run, from 0.
    pub flow: u32,
    /// Its label without a number: flows with one label are of one kind.
    pub label: String,
    /// The name of its algorithm, which decides its colour.
    pub algorithm: String,
    /// Metric to value: `goodput`, `rtt_mean`, ... A metric that does not apply is absent.
    pub values: BTreeMap<Metric, f64>,
}

/// The time series of one flow in one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Track {
    /// Variant name.
    pub variant: String,
    /// Row label.
    pub row: RowLabel,
    /// Repetition, from 0.
    pub repetition: u32,
    /// Number of the flow in its run, from 0.
    pub flow: u32,
    /// Seconds.
    pub times: Vec<f64>,
    /// Column name (with unit) to values; NaN where the flow did not run. The bottleneck's `queue_bytes` and `drops` and
    /// the probe's `ping_ms` and `udp_mbit_s` stand in each flow's track.
    pub columns: BTreeMap<String, Repeated>,
}

impl Track {
    /// Its flow and run: variant, row, repetition, number.
    pub(crate) fn key(&self) -> (&str, &str, u32, u32) {
        (&self.variant, self.row.as_str(), self.repetition, self.flow)
    }
}

/// A distribution of RTTs.
#[derive(Clone, Debug, PartialEq)]
pub struct Cdf {
    /// Variant name.
    pub variant: String,
    /// Row label.
    pub row: RowLabel,
    /// Milliseconds and the share of samples up to there, ascending.
    pub points: Vec<(f64, f64)>,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R: `quantile(c(7, 1, 3, 5))` is 1, 2.5, 4, 5.5, 7, and of five values each is one of them.
    #[test]
    fn quartiles_of_few_values() {
        let of = |values: &[f64]| Quartiles::of(values).map(|q| [q.min, q.lower, q.median, q.upper, q.max]);
        assert_eq!(of(&[7.0, 1.0, 3.0, 5.0]), Some([1.0, 2.5, 4.0, 5.5, 7.0]));
        assert_eq!(of(&[9.0, 2.0, 4.0, 3.0, 7.0]), Some([2.0, 3.0, 4.0, 7.0, 9.0]));
        assert_eq!(of(&[1.0]), None);
    }
}

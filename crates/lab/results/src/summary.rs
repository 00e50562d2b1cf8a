//! The results of an experiment: the data model of tables, JSON and report.
//!
//! An experiment varies some keys. The values of one of them, the `rows` key, are the rows of its
//! table. Every combination of the others is a *variant* with its own table.

use std::collections::BTreeMap;

use experiment::chart::Chart;
use experiment::metric::Metric;
use experiment::place::Place;
use experiment::row::RowLabel;
pub use scenario::RunLength;
use serde::{Deserialize, Serialize};

use crate::exchange::Exchange;
use crate::network::Network;
use crate::variables::Variables;
use crate::verdict::Outcome;

/// Results of one experiment, as stored in `summary.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Name: `quic-dc/table-1`.
    pub experiment: String,
    /// World of its runs. On the wire, simulations stand beside them.
    #[serde(default)]
    pub world: Place,
    pub title: String,
    /// Document that the experiment reproduces.
    pub source: String,
    /// Remark of the author on how to read the results; may be empty.
    pub note: String,
    /// Reason for the choice of the reference; may be empty.
    #[serde(default)]
    pub why_reference: String,
    /// Metrics of the table, in order.
    pub metrics: Vec<Metric>,
    /// Variants, each with a table.
    pub variants: Vec<Variant>,
    /// Judged claims.
    pub claims: Vec<ClaimResult>,
    /// Charts that the file asks for.
    pub charts: Vec<Chart>,
    /// Algorithm to the names of its states. The series hold their indices, from 0.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub states: BTreeMap<String, Vec<String>>,
    /// Algorithm to its variables in the series, if series were recorded.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub variables: Variables,
    /// Packets that its sequence diagrams draw.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exchanges: Vec<Exchange>,
}

/// A combination of the keys other than the rows key.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Variant {
    /// Name: `limit-counts = queue+delay`; empty if nothing else varies.
    pub name: String,
    /// Whether the variant belongs to the file's reference.
    #[serde(default = "yes")]
    pub reference: bool,
    pub rows: Vec<Row>,
    /// Biased columns.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub biases: Vec<BiasFound>,
}

fn yes() -> bool {
    true
}

/// A value of the rows key.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Label with the backend that ran it: `QUIC-DC 10`.
    pub label: RowLabel,
    /// Algorithm, which decides the colour: `quic-dc`.
    pub algorithm: String,
    /// Metric to cell. A metric that does not apply is absent.
    pub cells: BTreeMap<Metric, Cell>,
    /// Validity of its runs, if they were measured in real time, or if connections of real
    /// endpoints died.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trust: Option<Trust>,
}

/// Validity of a row's runs that were measured in real time or made by real endpoints.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trust {
    /// Number of runs that passed their own audit. If there are any, only they are averaged.
    pub valid: u32,
    /// Reason for each invalid run, after all attempts.
    pub invalid: Vec<String>,
    /// Number of invalid attempts that were repeated.
    pub repeated: u32,
}

impl Trust {
    /// Describes the invalid runs, if there are any.
    pub fn remark(&self) -> Option<String> {
        let runs = self.valid as usize + self.invalid.len();
        match (self.valid, self.invalid.as_slice()) {
            (_, []) => None,
            (0, [why, ..]) => Some(format!("none of {runs} runs is valid: {why}")),
            (_, [why, ..]) => {
                Some(format!("{} of {runs} runs are invalid and not counted: {why}", self.invalid.len()))
            }
        }
    }
}

/// A number of the table.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    pub mean: f64,
    /// Sample standard deviation over the repetitions (n - 1); `None` for one run.
    #[serde(default)]
    pub spread: Option<f64>,
    /// Quartiles of the repetitions, if there are several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runs: Option<Quartiles>,
    /// Value for tables and claims, if the file asks for something other than the mean.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shown: Option<f64>,
    /// Number of runs without a value, which are not part of it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub without: u32,
    /// Published value.
    pub published: Option<f64>,
    /// Recorded reason for a difference.
    pub reason: Option<String>,
    /// The cause is not known. The reason says what was tried.
    #[serde(default, skip_serializing_if = "is_false")]
    pub open: bool,
    /// The source's path is not known, so the two numbers are not comparable.
    #[serde(default, skip_serializing_if = "is_false")]
    pub path_unknown: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
fn is_zero(count: &u32) -> bool {
    *count == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
fn is_false(flag: &bool) -> bool {
    !flag
}

/// Five-number summary of a sample. Quartiles are interpolated between two values: the p-th of n
/// sorted ones is at 1 + p (n - 1) (R's type 7).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Quartiles {
    pub min: f64,
    /// First quartile.
    pub lower: f64,
    pub median: f64,
    /// Third quartile.
    pub upper: f64,
    pub max: f64,
}

impl Quartiles {
    /// Computes the quartiles. Returns `None` for fewer than two values.
    pub fn from_values(values: &[f64]) -> Option<Self> {
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
    /// Reports whether its numbers come from valid runs.
    pub fn is_trusted(&self) -> bool {
        self.trust.as_ref().is_none_or(|trust| trust.valid > 0)
    }
}

impl Cell {
    /// Returns the number that represents the runs.
    pub fn value(&self) -> f64 {
        self.shown.unwrap_or(self.mean)
    }

    /// Returns the relative difference from the published value, if that exists and is not zero.
    pub fn difference(&self) -> Option<f64> {
        self.published.filter(|p| *p != 0.0).map(|p| self.value() / p - 1.0)
    }
}

/// Verdict on a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Every part holds in every reference variant that it refers to, by more than the spread of
    /// the runs.
    Holds,
    /// Some parts hold there, or all parts hold in some reference variant, but not all in all.
    Partly,
    /// The difference is smaller than the spread of the runs, so the claim may or may not hold.
    WithinSpread,
    Missed,
    /// Numbers are missing: no run was valid, or there were no losses to compare.
    NotJudged,
}

impl Verdict {
    /// Returns the words used in sentences.
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

/// A check, judged in one variant.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Judged {
    pub variant: String,
    /// Whether the variant belongs to the file's reference.
    pub reference: bool,
    pub outcome: Outcome,
    /// Margin relative to the right side; above 0 if the check holds.
    pub margin: Option<f64>,
    /// Standard deviation of the margin over the repetitions, relative to the right side.
    pub spread: Option<f64>,
    /// A required row has only one run. Its numbers have no deviation and are not in `spread`.
    #[serde(default, skip_serializing_if = "is_false")]
    pub one_run: bool,
    /// Compared numbers, in words.
    pub numbers: String,
}

impl Judged {
    /// Text in place of the numbers if a run measured none.
    pub(crate) const MISSING: &str = "a value is missing";
}

/// A check of a claim with its outcomes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PartResult {
    /// Part of the sentence, if it has several.
    pub says: Option<String>,
    pub metric: Metric,
    /// Whether it holds on the published numbers, if these can be checked.
    pub holds_published: Option<bool>,
    /// Outcome in each variant that it refers to.
    pub variants: Vec<Judged>,
}

/// A judged claim.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClaimResult {
    /// Id: `S0-02`.
    pub id: String,
    pub says: String,
    /// The claim is this project's own, not the source's.
    #[serde(default)]
    pub ours: bool,
    /// The source itself puts this sentence first.
    #[serde(default, skip_serializing_if = "is_false")]
    pub main: bool,
    /// Checks that make up the claim.
    pub parts: Vec<PartResult>,
    pub verdict: Verdict,
    /// Recorded reason why it does not hold, or not everywhere.
    pub reason: Option<String>,
    /// The cause is not known. The reason says what was tried.
    #[serde(default, skip_serializing_if = "is_false")]
    pub open: bool,
}

impl ClaimResult {
    /// Reports whether the claim holds on the published numbers, if these can be checked.
    pub fn holds_published(&self) -> Option<bool> {
        let parts = || self.parts.iter().map(|part| part.holds_published);
        if parts().any(|holds| holds == Some(false)) {
            Some(false)
        } else {
            parts().all(|h| h.is_some()).then_some(true)
        }
    }

    /// Reports whether the claim fails, at least in part, or lacks a value, without a recorded reason.
    pub fn is_unexplained(&self) -> bool {
        let lacks = |judged: &Judged| judged.reference && judged.numbers == Judged::MISSING;
        let fails = match self.verdict {
            Verdict::Missed | Verdict::Partly => true,
            Verdict::NotJudged => self.judged().any(lacks),
            Verdict::Holds | Verdict::WithinSpread => false,
        };
        fails && self.reason.is_none()
    }

    /// Returns the variants in which all parts hold, and the number of variants in which it was
    /// judged.
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

    /// Returns the outcomes of all parts and variants.
    pub fn judged(&self) -> impl Iterator<Item = &Judged> {
        self.parts.iter().flat_map(|part| &part.variants)
    }
}

/// A biased column: all rows are above the published ones, or all below, by similar amounts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BiasFound {
    pub metric: Metric,
    /// Mean relative difference.
    pub mean: f64,
    /// Smallest and largest relative difference.
    pub range: (f64, f64),
    /// Recorded reason.
    pub reason: Option<String>,
    /// The cause is not known. The reason, or that of one of its rows, says what was tried.
    #[serde(default, skip_serializing_if = "is_false")]
    pub open: bool,
}

/// A finished experiment for the report, read from its results folder.
#[derive(Clone, Debug, PartialEq)]
pub struct Results {
    /// Content of `summary.json`.
    pub summary: Summary,
    /// The part of `series.parquet` that its charts draw.
    pub series: Vec<Track>,
    /// Content of `flows.parquet`.
    pub flows: Vec<FlowRow>,
    /// Content of `rtt_cdf.parquet`, over all flows and repetitions of a row.
    pub rtt_cdf: Vec<Cdf>,
    /// Limits of the rows' networks, from `manifest.toml`.
    pub networks: Vec<Network>,
}

/// Metrics of one flow in one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FlowRow {
    pub variant: String,
    pub row: RowLabel,
    /// Repetition, from 0.
    pub repetition: u32,
    /// Number of the flow in its run, from 0.
    pub flow: u32,
    /// Label without a number. Flows with the same label are of one kind.
    pub label: String,
    /// Algorithm, which decides the colour.
    pub algorithm: String,
    /// Metric to value: `goodput`, `rtt_mean`, ... A metric that does not apply is absent.
    pub values: BTreeMap<Metric, f64>,
}

/// Time series of one flow in one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Track {
    pub variant: String,
    pub row: RowLabel,
    /// Repetition, from 0.
    pub repetition: u32,
    /// Number of the flow in its run, from 0.
    pub flow: u32,
    /// Times in seconds.
    pub times: Vec<f64>,
    /// Column name (with unit) to values; NaN while the flow did not run. Each flow's track repeats
    /// the bottleneck's `queue_bytes` and `drops`, and the probe's `ping_ms` and `udp_mbit_s`.
    pub columns: BTreeMap<String, RunLength>,
}

impl Track {
    /// Returns its flow and run: variant, row, repetition, number.
    pub(crate) fn key(&self) -> (&str, &str, u32, u32) {
        (&self.variant, self.row.as_str(), self.repetition, self.flow)
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Cdf {
    pub variant: String,
    pub row: RowLabel,
    /// Milliseconds and the share of samples up to there, ascending.
    pub points: Vec<(f64, f64)>,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In R, `quantile(c(7, 1, 3, 5))` is 1, 2.5, 4, 5.5, 7. Quartiles of five values are among
    /// them.
    #[test]
    fn quartiles_of_few_values() {
        let five = |values: &[f64]| {
            Quartiles::from_values(values).map(|q| [q.min, q.lower, q.median, q.upper, q.max])
        };
        assert_eq!(five(&[7.0, 1.0, 3.0, 5.0]), Some([1.0, 2.5, 4.0, 5.5, 7.0]));
        assert_eq!(five(&[9.0, 2.0, 4.0, 3.0, 7.0]), Some([2.0, 3.0, 4.0, 7.0, 9.0]));
        assert_eq!(five(&[1.0]), None);
    }
}

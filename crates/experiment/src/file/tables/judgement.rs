//! `[table]`, `[published]`, `[reference]`, `[[claim]]`, `[[miss]]`, `[[bias]]` and `[[chart]]`: keys that a manifest's run does not have.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::file::tables::Needs;

/// `[table]`.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "table", transform = Needs(""))]
pub(crate) struct TableTable {
    /// The key or axis of `[vary]` that makes the rows; every other combination is a table of its own.
    rows: Option<String>,
    /// Metric words, `word of label` for a group of flows, `... @ window`. Default: goodput, loss, RTT.
    metrics: Option<Vec<String>>,
    /// What stands for the repetitions: `"mean"` (default), `"median"`, or `{ median-of = "wire_throughput" }`.
    over_runs: Option<serde_json::Value>,
}

/// `[published]`.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "published", transform = Needs("table rows columns"))]
pub(crate) struct Published {
    /// A file of `published/`, of the experiment's folder or shipped.
    table: String,
    /// The columns that name a row.
    rows: Vec<String>,
    /// `{ metric = "column" }`.
    columns: BTreeMap<String, String>,
}

/// `[reference]`.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "reference", transform = Needs("variants why"))]
pub(crate) struct ReferenceTable {
    /// Patterns of the variants' names.
    variants: Vec<String>,
    /// What the source states and, where it is silent, whose default is taken.
    why: String,
    /// How often each other variant runs, if less often: claims are judged by the spread of the reference variants alone. `--repeat` and
    /// `--set repetitions` hold for all.
    repetitions_of_others: Option<u32>,
}

/// A side of a comparison: a number, or an aggregate of rows.
type Side = serde_json::Value;

/// What is checked, of a claim or a part of one.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "check")]
pub(crate) struct Check {
    /// Of both sides, unless a side has its own.
    metric: Option<String>,
    /// A number, or `max`, `min`, `mean` of rows: `{ min = ["b: *"], metric = "goodput" }`.
    left: Option<Side>,
    /// `"below"`, `"above"`, `"at-most"`, `"at-least"`, `"near"`.
    is: Option<String>,
    /// Of `near`, or of rows beside their published values.
    within_factor: Option<f64>,
    /// A factor of the right side.
    times: Option<f64>,
    /// As `left`.
    right: Option<Side>,
    /// Rows whose values rise in this order.
    increasing: Option<Vec<String>>,
    /// Rows that are near their published values.
    rows: Option<Vec<String>>,
    /// Whether it holds on the source's own numbers, where the file knows it.
    holds_published: Option<bool>,
    /// Where it is judged; all without it.
    variants: Option<Vec<String>>,
}

/// `[[claim]]`.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "claim", transform = Needs("id says"))]
pub(crate) struct Claim {
    /// A name like `"S0-01"`.
    id: String,
    /// The sentence of the source.
    says: String,
    /// No sentence of the source but our own; counted apart.
    ours: Option<bool>,
    /// One of the few sentences that the source itself puts first, in its abstract or conclusion; shown first.
    main: Option<bool>,
    /// It speaks of all variants, not of the reference alone.
    everywhere: Option<bool>,
    /// The world whose rows it speaks of: `"wire"`; without it the simulator's.
    on: Option<String>,
    /// Why it does not hold, or not everywhere.
    reason: Option<String>,
    /// The cause is not known; the reason says what was tried.
    open: Option<bool>,
    /// Several checks, each with its words.
    part: Option<Vec<Part>>,
    #[serde(flatten)]
    check: Check,
}

/// `[[claim.part]]`.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "claim-part", transform = Needs("says"))]
pub(crate) struct Part {
    /// Which part of the sentence it is.
    says: String,
    #[serde(flatten)]
    check: Check,
}

/// `[[miss]]`.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "miss", transform = Needs("rows metrics reason"))]
pub(crate) struct Miss {
    /// Patterns of the rows that differ, like `["*"]`.
    rows: Vec<String>,
    /// The metrics that differ.
    metrics: Vec<String>,
    /// Patterns of the variants; all without it.
    variants: Option<Vec<String>>,
    /// The world whose rows it speaks of.
    on: Option<String>,
    /// Why ours differs.
    reason: String,
    /// The cause is not known; the reason says what was tried.
    open: Option<bool>,
}

/// `[[bias]]`.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "bias", transform = Needs("metrics reason"))]
pub(crate) struct Bias {
    /// The metrics whose columns are biased.
    metrics: Vec<String>,
    /// Patterns of the variants; all without it.
    variants: Option<Vec<String>>,
    /// Why the whole column differs.
    reason: String,
    /// The cause is not known; the reason says what was tried.
    open: Option<bool>,
}

/// A word, or a list of words.
type Names = serde_json::Value;

/// `[[chart]]`.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "chart", transform = Needs("mark title"))]
pub(crate) struct Chart {
    /// `"line"`, `"bar"`, `"area"`, `"point"`, `"box"` or `"rect"`.
    mark: String,
    /// What the chart shows; the paper's figure.
    title: String,
    /// `"time"`, `"rtt"`, `"row"`, `"variant"`, a key of `[vary]`; of points a metric too. Default: `"time"` of lines and areas, `"row"` of bars
    /// and boxes, `"rtt"` of points.
    x: Option<String>,
    /// Metrics of the table; over `"time"` columns of the series; of `rect` a second axis.
    y: Option<Names>,
    /// What colours tell apart: `"row"`, `"variant"`, `"flow"`, `"source"` (ours and published), `"metric"`, a key of `[vary]`; of `rect` the
    /// metric.
    colour: Option<String>,
    /// A panel for each `"variant"`, `"row"` or value of a key of `[vary]`.
    facet: Option<String>,
    /// Patterns of the rows; all without it.
    rows: Option<Vec<String>>,
    /// Of x: `"linear"` or `"log"`.
    scale: Option<String>,
    /// Of y: `"linear"` or `"log"`.
    y_scale: Option<String>,
    /// Over time: the mean of each such interval.
    interval: Option<String>,
}

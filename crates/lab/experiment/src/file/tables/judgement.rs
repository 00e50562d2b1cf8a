//! `[table]`, `[published]`, the checks of `[[claim]]`, and `[[chart]]`: tables that a manifest's
//! run does not have.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::file::tables::define::Needs;

/// `[table]`.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "table", transform = Needs(""))]
pub(crate) struct TableTable {
    /// The key or axis of `[vary]` whose values are the rows. Every combination of the other keys
    /// gets its own table.
    rows: Option<String>,
    /// Metrics: names, `name of label` for a group of flows, `... @ window`. Default: goodput,
    /// loss, RTT.
    metrics: Option<Vec<String>>,
    /// Aggregation of the repetitions: `"mean"` (default), `"median"`, or `{ median-of =
    /// "wire_throughput" }`.
    over_runs: Option<serde_json::Value>,
}

/// `[published]`.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "published", transform = Needs("table rows columns"))]
pub(crate) struct Published {
    /// File name of the table in a folder `published/`, next to the experiment or shipped.
    table: String,
    /// The columns that identify a row.
    rows: Vec<String>,
    /// The column of each metric: `{ metric = "column" }`.
    columns: BTreeMap<String, String>,
}

/// A side of a comparison: a number, or an aggregate of rows.
type Side = serde_json::Value;

/// The check of a claim or of a part of it.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "check")]
pub(crate) struct Check {
    /// Metric of both sides, unless a side has its own.
    metric: Option<String>,
    /// Left side: a number, or `max`, `min` or `mean` of rows: `{ min = ["b: *"], metric =
    /// "goodput" }`.
    left: Option<Side>,
    /// Relation: `"below"`, `"above"`, `"at-most"`, `"at-least"` or `"near"`.
    is: Option<String>,
    /// Largest ratio between the values, for `near` and for `rows`: `1.05` means within 5 %.
    within_factor: Option<f64>,
    /// Factor applied to the right side.
    times: Option<f64>,
    /// Right side, as `left`.
    right: Option<Side>,
    /// Rows whose values must increase in this order.
    increasing: Option<Vec<String>>,
    /// Rows that must be near their published values.
    rows: Option<Vec<String>>,
    /// Whether the check holds on the source's own numbers, if known.
    holds_published: Option<bool>,
    /// Patterns of the variants in which it is judged. Default: all.
    variants: Option<Vec<String>>,
}

/// `[[claim.part]]`.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "claim-part", transform = Needs("says"))]
pub(crate) struct Part {
    /// The part of the statement that is checked.
    says: String,
    #[serde(flatten)]
    check: Check,
}

/// A word, or a list of words.
type Names = serde_json::Value;

/// `[[chart]]`.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "chart", transform = Needs("mark title"))]
pub(crate) struct Chart {
    /// Graphical form: `"line"`, `"bar"`, `"area"` or `"point"`.
    mark: String,
    /// Title, usually the paper's figure.
    title: String,
    /// X axis: `"time"`, `"rtt"`, `"row"`, `"variant"` or a key of `[vary]`; for points also a
    /// metric. Default: `"time"` for lines and areas, `"row"` for bars, `"rtt"` for points.
    x: Option<String>,
    /// Y axis: metrics of the table; over `"time"`, columns of the series.
    y: Option<Names>,
    /// Meaning of the colours: `"row"`, `"variant"`, `"flow"`, `"source"` (ours and published),
    /// `"metric"` or a key of `[vary]`.
    colour: Option<String>,
    /// Panels: one for each `"variant"`, `"row"` or value of a key of `[vary]`.
    facet: Option<String>,
    /// Patterns of the rows. Default: all.
    rows: Option<Vec<String>>,
    /// Scale of x: `"linear"` or `"log"`.
    scale: Option<String>,
    /// Scale of y: `"linear"` or `"log"`.
    y_scale: Option<String>,
    /// Averaging interval of values over time.
    interval: Option<String>,
}

//! The tables of an experiment file, one struct each. They define the keys that the reader knows,
//! the JSON Schema, the tables of `docs/src/reference/keys.md` and, with every default written out,
//! a manifest's run.
//!
//! Each struct holds a fully resolved run. Keys that are resolved by then (`stack`, `[vary]`,
//! claims) have a field too, which stays empty.

pub(crate) mod define;
pub(crate) mod flow;
pub(crate) mod judgement;
pub(crate) mod network;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use units::{Bytes, Duration};

use define::{Needs, known_keys};
use flow::Flow;
use judgement::{Chart, Published, TableTable};
use network::{Links, Probe, Udp, Window};

use crate::file::claim::{ClaimTable, ReferenceTable};
use crate::file::miss::{Bias, Miss};

/// A whole experiment file.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "experiment", transform = Needs("title link flow"))]
pub(crate) struct File<'a> {
    /// Title of the experiment, in a few words.
    pub(crate) title: &'a str,
    /// The document that the experiment reproduces. Omit it for your own experiments.
    pub(crate) source: &'a str,
    /// Explanation for readers of the results.
    pub(crate) note: String,
    /// Length of the run, required here or in `[vary]`. The run ends earlier if every transfer is
    /// complete.
    pub(crate) duration: Duration,
    /// Bytes that each flow transfers, like `"100 MB"`. Default: unlimited data.
    pub(crate) transfer: Option<Bytes>,
    /// Number of runs of each case, default 1. Repetition n, counted from 0, uses `seed` + n.
    #[schemars(range(min = 1, max = 10_000))]
    pub(crate) repetitions: u32,
    /// Seed of the first repetition, default 1.
    pub(crate) seed: i64,
    /// Sampling interval of the time series, default `"100 ms"`, or `"off"`.
    pub(crate) series: String,
    /// Measuring window. Rates, losses, RTTs, Jain's index and shares are measured only in this
    /// window. Counters of loss recovery, `completion` and `utilization` cover the whole run.
    pub(crate) measure: Option<Window>,
    /// Additional windows by name, for metrics like `goodput @ before`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) windows: BTreeMap<&'a str, Window>,
    /// The bottleneck, or several links in series, each with a name.
    pub(crate) link: &'a Links,
    /// Links of the return path, with the keys of `[link]`. Without them the return path is a
    /// constant delay.
    pub(crate) reverse: Option<&'a Links>,
    /// A ping that runs alongside the flows, as in Flent.
    pub(crate) probe: Option<&'a Probe>,
    /// UDP traffic that does not respond to congestion.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub(crate) udp: &'a [Udp],
    /// The flows. With `count`, one table stands for several flows that differ only in their start.
    pub(crate) flow: &'a [Flow],
    /// Varied parameters. Each entry is a dotted key with its values, like `"link.queue" = ["1
    /// BDP", "3 BDP"]`, or an axis of your own: a list of `{ label = "...", set = { "flow.0.count"
    /// = 1 } }`.
    pub(crate) vary: Option<BTreeMap<String, serde_json::Value>>,
    /// Contents of the printed table.
    pub(crate) table: Option<TableTable>,
    /// The source's own numbers.
    pub(crate) published: Option<Published>,
    /// The variants that match the source's setup.
    pub(crate) reference: Option<ReferenceTable>,
    /// Statements of the source, written as checks.
    pub(crate) claim: Option<Vec<ClaimTable>>,
    /// Cells that differ from the published ones, with the reason.
    pub(crate) miss: Option<Vec<Miss>>,
    /// Columns that are consistently above or below the published ones, with the reason.
    pub(crate) bias: Option<Vec<Bias>>,
    /// Charts of the report.
    pub(crate) chart: Option<Vec<Chart>>,
}

known_keys!(KEYS: File<'static>);

//! The tables of an experiment file: one struct each, which says what keys there are. From it come the names that the reader knows,
//! the JSON Schema, the tables of `docs/keys.md` and, with every default written out, a manifest's run.
//!
//! The structs hold a run that is decided. Keys of the file that are decided by then (`stack`, `[vary]`, claims) have a field too, which
//! stays empty.

pub(crate) mod flow;
pub(crate) mod judgement;
pub(crate) mod network;

use std::collections::BTreeMap;

use schemars::transform::Transform;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use units::{Bytes, Duration};

use flow::FlowTable;
use judgement::{Bias, Chart, Claim, Miss, Published, ReferenceTable, TableTable};
use network::{Links, Probe, Udp};

/// A whole file.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "experiment", transform = Needs("title link flow"))]
pub(crate) struct File<'a> {
    /// What it is, in a few words.
    pub(crate) title: &'a str,
    /// The document it comes from; a question of one's own has none.
    pub(crate) source: &'a str,
    /// How to read it.
    pub(crate) note: String,
    /// The run ends then, or when every transfer is done.
    pub(crate) duration: Duration,
    /// Of every flow, like `"100 MB"`; without it there is data without end.
    pub(crate) transfer: Option<Bytes>,
    /// Runs of each case, 1 by default; repetition n has the seed plus n.
    #[schemars(range(min = 1, max = 10_000))]
    pub(crate) repetitions: u32,
    /// Of the first repetition; default 1.
    pub(crate) seed: i64,
    /// Sampling of the time series, `"100 ms"` by default, or `"off"`.
    pub(crate) series: String,
    /// Rates, losses, RTTs, Jain and shares count only this window; what loss recovery counts, `completion` and `utilization` the whole
    /// run.
    pub(crate) measure: Option<Window>,
    /// Other windows by name, for metrics like `goodput @ before`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) windows: BTreeMap<&'a str, Window>,
    /// The bottleneck, or several links in a row, each with a name.
    pub(crate) link: Links<'a>,
    /// The links of the way back, with the keys of `[link]`. Without it the way back is a delay.
    pub(crate) reverse: Option<Links<'a>>,
    /// A ping beside the flows, as Flent sends one.
    pub(crate) probe: Option<Probe<'a>>,
    /// Traffic that does not respond to congestion.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) udp: Vec<Udp<'a>>,
    /// One flow each or, with `count`, several that differ in their start alone.
    pub(crate) flow: Vec<FlowTable<'a>>,
    /// Dotted keys and their values, like `"link.queue" = ["1 BDP", "3 BDP"]`, or an axis of your own: a list of
    /// `{ label = "...", set = { "flow.0.count" = 1 } }`.
    pub(crate) vary: Option<BTreeMap<String, serde_json::Value>>,
    /// What the printed table shows.
    pub(crate) table: Option<TableTable>,
    /// The source's own numbers.
    pub(crate) published: Option<Published>,
    /// The variants that are what the source states.
    pub(crate) reference: Option<ReferenceTable>,
    /// A sentence of the source as a check.
    pub(crate) claim: Option<Vec<Claim>>,
    /// Cells that differ from the published ones, and why.
    pub(crate) miss: Option<Vec<Miss>>,
    /// Columns that are off to one side, and why.
    pub(crate) bias: Option<Vec<Bias>>,
    /// What the report draws.
    pub(crate) chart: Option<Vec<Chart>>,
}

/// A span of the run.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "window", transform = Needs(""))]
pub(crate) struct Window {
    /// Its beginning; default 0.
    pub(crate) from: Duration,
    /// Its end; default that of the run.
    pub(crate) to: Duration,
}

/// The keys that a table must have, with spaces between, but for those that `[vary]` may give; the structs themselves hold decided runs, in which nothing is left out.
#[derive(Clone)]
pub(crate) struct Needs(pub(crate) &'static str);

impl Transform for Needs {
    fn transform(&mut self, schema: &mut Schema) {
        schema.insert("required".to_owned(), self.0.split_whitespace().collect());
        schema.insert("additionalProperties".to_owned(), false.into());
    }
}

/// The names of a table's keys. They live as long as the program, so each table asks once.
pub(crate) fn keys<T: JsonSchema>() -> Vec<&'static str> {
    let schema = SchemaGenerator::default().into_root_schema_for::<T>();
    let properties = schema.get("properties").and_then(serde_json::Value::as_object);
    let mut names: Vec<String> = properties.into_iter().flatten().map(|(name, _)| name.clone()).collect();
    names.sort();
    names.into_iter().map(|name| &*name.leak()).collect()
}

/// `known_keys!(KEYS: FlowTable)`: the names of the keys of a table.
macro_rules! known_keys {
    ($name:ident: $table:ty) => {
        pub(crate) static $name: std::sync::LazyLock<Vec<&'static str>> =
            std::sync::LazyLock::new($crate::file::tables::keys::<$table>);
    };
}
pub(crate) use known_keys;

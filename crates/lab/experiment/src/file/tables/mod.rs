//! The tables of an experiment file, one struct each. They define the keys that the reader knows,
//! the JSON Schema, the tables of `docs/src/reference/keys.md` and, with every default written out,
//! a manifest's run.
//!
//! Each struct holds a fully resolved run. Keys that are resolved by then (`stack`, `[vary]`,
//! claims) have a field too, which stays empty.

pub(crate) mod flow;
pub(crate) mod judgement;
pub(crate) mod network;

use std::collections::BTreeMap;

use schemars::transform::Transform;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use units::{Bytes, Duration};

use flow::Flow;
use judgement::{Bias, Chart, Claim, Miss, Published, ReferenceTable, TableTable};
use network::{Links, Probe, Udp};

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
    pub(crate) claim: Option<Vec<Claim>>,
    /// Cells that differ from the published ones, with the reason.
    pub(crate) miss: Option<Vec<Miss>>,
    /// Columns that are consistently above or below the published ones, with the reason.
    pub(crate) bias: Option<Vec<Bias>>,
    /// Charts of the report.
    pub(crate) chart: Option<Vec<Chart>>,
}

/// A time window of the run.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "window", transform = Needs(""))]
pub(crate) struct Window {
    /// Start of the window, default 0.
    pub(crate) from: Duration,
    /// End of the window, default the end of the run.
    pub(crate) to: Duration,
}

/// The required keys of a table, separated by spaces. Keys that `[vary]` can supply are not
/// required. The structs cannot tell, because they hold resolved runs in which nothing is omitted.
#[derive(Clone)]
pub(crate) struct Needs(pub(crate) &'static str);

impl Transform for Needs {
    fn transform(&mut self, schema: &mut Schema) {
        schema.insert("required".to_owned(), self.0.split_whitespace().collect());
        schema.insert("additionalProperties".to_owned(), false.into());
    }
}

/// Returns the names of a table's keys. The names are leaked, so each table should ask only once.
pub(crate) fn keys<T: JsonSchema>() -> Vec<&'static str> {
    let schema = SchemaGenerator::default().into_root_schema_for::<T>();
    let properties = schema.get("properties").and_then(serde_json::Value::as_object);
    let mut names: Vec<String> = properties.into_iter().flatten().map(|(name, _)| name.clone()).collect();
    names.sort();
    names.into_iter().map(|name| &*name.leak()).collect()
}

/// Defines a table: each key with its documentation, type and default, and with the reader of its
/// value if not every value of the type is allowed. The known keys, the reader, the schema, the
/// reference page and a manifest's run follow from it. `=> later` leaves a key to the reader of the
/// whole table, because its value depends on other keys.
macro_rules! table {
    (@value $at:ident, $default:expr) => { $at.read()? };
    (@value $at:ident, $default:expr, $reader:expr) => { $reader(&$at)? };
    (@value $at:ident, $default:expr => later) => { { let _ = $at; $default } };
    ($(#[$about:meta])* $table:ident {
        $($(#[$key_about:meta])* $key:ident: $type:ty = $default:expr $(, $reader:expr)? $(=> $later:ident)?;)*
    }) => {
        #[derive(Clone, Debug, serde::Serialize, schemars::JsonSchema)]
        #[serde(rename_all = "kebab-case")]
        $(#[$about])*
        pub(crate) struct $table { $($(#[$key_about])* pub(crate) $key: $type,)* }

        impl $table {
            /// Returns the names of its keys.
            pub(crate) fn known() -> &'static [&'static str] {
                static KEYS: std::sync::LazyLock<Vec<&'static str>> =
                    std::sync::LazyLock::new($crate::file::tables::keys::<$table>);
                &KEYS
            }

            /// Reads the keys of a table over their defaults.
            pub(crate) fn read(
                fields: &$crate::file::cursor::Fields<'_>,
            ) -> Result<Self, $crate::diagnostic::Diagnostic> {
                Ok(Self { $($key: match fields.get(&stringify!($key).replace('_', "-")) {
                    Some(at) => $crate::file::tables::table!(@value at, $default $(, $reader)? $(=> $later)?),
                    None => $default,
                },)* })
            }
        }
    };
}
pub(crate) use table;

/// Defines a static with the names of a table's keys: `known_keys!(KEYS: FlowTable)`.
macro_rules! known_keys {
    ($name:ident: $table:ty) => {
        pub(crate) static $name: std::sync::LazyLock<Vec<&'static str>> =
            std::sync::LazyLock::new($crate::file::tables::keys::<$table>);
    };
}
pub(crate) use known_keys;

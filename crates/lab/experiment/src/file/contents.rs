//! `[table]`: contents of the printed table.

use crate::aggregate::Aggregate;
use crate::diagnostic::Diagnostic;
use crate::file::cursor::Cursor;
use crate::file::groups::Groups;
use crate::file::node::Value;
use crate::file::tables::define::{Needs, table};
use crate::metric::Metric;

table! {
    /// `[table]`.
    #[schemars(rename = "table", transform = Needs(""))]
    pub(crate) Contents(groups: &Groups) {
        /// The key or axis of `[vary]` whose values are the rows. Every combination of the other
        /// keys gets its own table.
        rows: Option<String> = None => later;
        /// Metrics: names, `name of label` for a group of flows, `... @ window`. Default: goodput,
        /// loss, RTT.
        #[schemars(with = "Vec<String>")]
        metrics: Vec<Metric> = Vec::new(), |at: &Cursor<'_>| {
            at.filled_list()?.iter().map(|metric| groups.read_metric(metric)).collect::<Result<_, _>>()
        };
        /// Aggregation of the repetitions: `"mean"` (default), `"median"`, or `{ median-of =
        /// "wire_throughput" }`.
        #[schemars(with = "serde_json::Value")]
        over_runs: Aggregate = Aggregate::default(), |at| aggregate(at, groups);
    }
}

/// Reads `"mean"`, `"median"`, or `{ median-of = "goodput" }`.
fn aggregate(cursor: &Cursor<'_>, groups: &Groups) -> Result<Aggregate, Diagnostic> {
    if let Value::Table(_) = cursor.node().value {
        let fields = cursor.table(&["median-of"])?;
        let metric =
            fields.need("median-of", "write the metric whose median selects the run, like \"goodput\"")?;
        return groups.read_metric(&metric).map(Aggregate::MedianRun);
    }
    match cursor.word("aggregate", &[("mean", false), ("median", true)])? {
        true => Ok(Aggregate::Median),
        false => Ok(Aggregate::Mean),
    }
}

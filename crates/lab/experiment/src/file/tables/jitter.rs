//! The `jitter` of a link: an upper end, or a table with more.

use link::JitterOrder;
use schemars::JsonSchema;
use serde::Serialize;
use units::{Duration, Percent};

use crate::diagnostic::Diagnostic;
use crate::file::cursor::Cursor;
use crate::file::tables::define::{Needs, table};
use crate::file::values::{Share, probability};

/// The `jitter` of a link.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub(crate) enum Jitter {
    UpTo(Duration),
    Table(Table),
}

table! {
    /// Extra random delay.
    #[derive(Copy)]
    #[schemars(rename = "jitter", transform = Needs("up-to"))]
    pub(crate) Table {
        /// Upper end of the delay, which is uniform from 0.
        up_to: Duration => "write the longest extra delay, like { up-to = \"5 ms\" }";
        /// Correlation of the delays of successive packets of the link, below 100 %; default 0 %.
        /// The delays stay uniform; those of netem do not.
        #[schemars(with = "Percent")]
        correlation: Share = Share(0.0), |at: &Cursor<'_>| match probability(at)? {
            Share(1.0) => Err(at.invalid("a correlation of 100 %", "must be below \"100 %\"")),
            share => Ok(share),
        };
        /// Packets that keep their order; default `"link"`.
        order: JitterOrder = JitterOrder::Link, |at: &Cursor<'_>| {
            at.word("order", &[("link", JitterOrder::Link), ("flow", JitterOrder::Flow)])
        };
    }
}

impl Jitter {
    /// Returns the table in full.
    pub(crate) fn table(&self) -> Table {
        match self {
            Self::UpTo(up_to) => Table { up_to: *up_to, correlation: Share(0.0), order: JitterOrder::Link },
            Self::Table(table) => *table,
        }
    }
}

/// Reads the `jitter` of a link.
pub(crate) fn jitter(cursor: &Cursor<'_>) -> Result<Jitter, Diagnostic> {
    if !cursor.node().is_table() {
        return cursor.read().map(Jitter::UpTo);
    }
    Table::read(&cursor.table(Table::known())?).map(Jitter::Table)
}

//! Keys that refer to rows of the table: statements of the source, known differences, charts.

use std::collections::BTreeMap;

use crate::chart::Chart;
use crate::diagnostic::Diagnostic;
use crate::file::chart::{self, ChartTable};
use crate::file::claim::{Claim, ClaimTable, ReferenceTable};
use crate::file::contents::Contents;
use crate::file::cursor::Cursor;
use crate::file::labels::Labels;
use crate::file::miss::{Bias, Miss};
use crate::file::reference::PublishedTable;
use crate::file::tables::define::table;
use crate::file::vary::Case;

/// Treatment of claims, known deviations and charts that refer to unknown rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UnknownRows {
    /// Report a mistake in the file.
    Refused,
    /// Drop them, because the rows differ from those of the file.
    LeftOut,
}

impl UnknownRows {
    pub(crate) fn kept<T>(self, read: Result<T, Diagnostic>) -> Result<Option<T>, Diagnostic> {
        match self {
            Self::Refused => read.map(Some),
            Self::LeftOut => Ok(read.ok()),
        }
    }
}

/// The rows that the keys may refer to.
pub(crate) struct View<'a> {
    pub(crate) labels: &'a Labels,
    pub(crate) cases: &'a [Case],
    pub(crate) unknown: UnknownRows,
}

table! {
    /// Keys about the table of results.
    pub(crate) Judgement(view: &View<'_>) {
        /// Varied parameters. Each entry is a dotted key with its values, like `"link.queue" = ["1
        /// BDP", "3 BDP"]` or its range, like `"0.1..8 BDP"`, or an axis of your own: a list of `{
        /// label = "...", set = { "flow.0.count" = 1 } }`. A range has eight values, evenly spaced
        /// on a logarithmic scale. With `sample = 100`, the ranges have 100 points together: a
        /// Latin hypercube; `sample = { count = 100, seed = 2 }` draws another one.
        vary: BTreeMap<String, serde_json::Value> = BTreeMap::new() => later;
        /// Contents of the printed table.
        table: Option<Contents> = None => later;
        /// The source's own numbers.
        published: Option<PublishedTable> = None => later;
        /// The variants that match the source's setup.
        reference: Option<ReferenceTable> = None, |at: &Cursor<'_>| {
            let fields = at.table(ReferenceTable::known())?;
            view.unknown.kept(ReferenceTable::read(&fields, view.labels))
        };
        /// Statements of the source, written as checks.
        #[schemars(with = "Vec<ClaimTable>")]
        claim: Vec<Claim> = Vec::new(), |at| {
            let mut ids = Vec::new();
            view.each(at, |claim| Claim::read_whole(claim, view.labels, &mut ids))
        };
        /// Cells that differ from the published ones, with the reason.
        miss: Vec<Miss> = Vec::new(), |at| view.each(at, |miss| Miss::read_whole(miss, view.labels));
        /// Columns that are consistently above or below the published ones, with the reason.
        bias: Vec<Bias> = Vec::new(),
            |at| view.each(at, |bias| Bias::read(&bias.table(Bias::known())?, view.labels));
        /// Charts of the report.
        #[schemars(with = "Vec<ChartTable>")]
        chart: Vec<Chart> = Vec::new(), |at| view.each(at, |at| chart::read(at, view.labels, view.cases));
    }
}

impl View<'_> {
    /// Reads each table of a list.
    fn each<T>(
        &self,
        list: &Cursor<'_>,
        mut read: impl FnMut(&Cursor<'_>) -> Result<T, Diagnostic>,
    ) -> Result<Vec<T>, Diagnostic> {
        list.tables()?.iter().filter_map(|table| self.unknown.kept(read(table)).transpose()).collect()
    }
}

//! Reads `[published]`: the source's table for the experiment, and the column of each metric.

use serde::Serialize;

use crate::diagnostic::{Diagnostic, did_you_mean};
use crate::file::cursor::Cursor;
use crate::file::groups::Groups;
use crate::file::tables::define::{Needs, table};
use crate::library;
use crate::metric::Metric;
use crate::published::{Csv, Published};
use crate::quantity::QUANTITIES;
use crate::row::RowLabel;

/// The source's own numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Reference {
    /// File name of the table.
    pub table: String,
    /// Metrics with their columns.
    pub columns: Vec<(Metric, String)>,
    /// Numbers of the table.
    pub numbers: Published,
}

table! {
    /// `[published]`.
    #[schemars(rename = "published", transform = Needs("table rows columns"))]
    pub(crate) PublishedTable(groups: &Groups) {
        /// File name of the table in a folder `published/`, next to the experiment or shipped.
        #[schemars(with = "String")]
        table: Source =>
            "write the file name of the published table, like \"quic-dc-table1.csv\"", Source::read;
        /// The columns that identify a row.
        rows: Vec<String> => "write the columns that identify a row, like [\"cca\"]",
            |at: &Cursor<'_>| at.filled_list()?.iter().map(|c| table.column(c)).collect::<Result<_, _>>();
        /// The column of each metric: `{ metric = "column" }`.
        #[schemars(with = "std::collections::BTreeMap<String, String>")]
        columns: Vec<(Metric, String)> =>
            "write the column of each metric, like { goodput = \"goodput_mbit_s\" }",
            |at| table.columns(at, groups);
    }
}

/// A published table and its file name.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Source {
    name: String,
    #[serde(skip)]
    csv: Csv,
}

impl Source {
    fn read(cursor: &Cursor<'_>) -> Result<Self, Diagnostic> {
        let name: String = cursor.read()?;
        let (label, text) = library::published(cursor.file(), &name)
            .map_err(|(wrong, right)| cursor.invalid(wrong, right))?;
        Ok(Self { csv: Csv::parse(&label, &text)?, name })
    }

    fn columns(&self, cursor: &Cursor<'_>, groups: &Groups) -> Result<Vec<(Metric, String)>, Diagnostic> {
        let mut columns = Vec::new();
        for (entry, below) in cursor.entries()? {
            let metric = Metric::from(entry.key.as_str());
            if metric.quantity().is_none() {
                let known = QUANTITIES.iter().map(|quantity| quantity.name);
                let right = did_you_mean(&entry.key, known);
                return Err(below.invalid(format!("unknown metric `{}`", entry.key), right));
            }
            groups.check_window(cursor, &metric)?;
            columns.push((metric, self.column(&below)?));
        }
        Ok(columns)
    }

    fn column(&self, cursor: &Cursor<'_>) -> Result<String, Diagnostic> {
        let column: String = cursor.read()?;
        if self.csv.header().any(|name| name == column) {
            return Ok(column);
        }
        let wrong = format!("{} has no column `{column}`", self.name);
        Err(cursor.invalid(wrong, did_you_mean(&column, self.csv.header())))
    }
}

impl Reference {
    pub(crate) fn read(cursor: &Cursor<'_>, known: &[RowLabel], groups: &Groups) -> Result<Self, Diagnostic> {
        let fields = cursor.table(PublishedTable::known())?;
        let PublishedTable { table, rows, columns } = PublishedTable::read(&fields, groups)?;
        let names: Vec<String> = columns.iter().map(|(_, column)| column.clone()).collect();
        let numbers = table.csv.numbers(&rows, &names)?;
        if !known.iter().any(|row| numbers.rows.contains_key(row.in_file())) {
            let list = |keys: Vec<&str>| keys.join(", ");
            let wrong = format!("no row of {} matches a row of the experiment", table.name);
            let ours = list(known.iter().map(RowLabel::in_file).collect());
            let theirs: Vec<&str> = numbers.rows.keys().map(String::as_str).collect();
            let by_label = match (&rows[..], &theirs[..]) {
                ([_, _, ..], [label, ..]) => format!(
                    "; rows match by label, so vary one axis of {{ label = \"{label}\", set = {{ ... }} }}"
                ),
                _ => String::new(),
            };
            let right = format!("the table has: {}; the experiment has: {ours}{by_label}", list(theirs));
            return Err(fields.at("rows").problem(wrong, right));
        }
        Ok(Self { table: table.name, columns, numbers })
    }

    /// Returns the source's number for a row, whichever backend ran ours.
    pub fn value(&self, row: &RowLabel, metric: &Metric) -> Option<f64> {
        let (_, column) = self.columns.iter().find(|(name, _)| name == metric)?;
        self.numbers.rows.get(row.in_file())?.get(column).copied()
    }
}

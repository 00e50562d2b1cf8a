//! Reads `[published]`: the source's table for the experiment, and the column of each metric.

use crate::diagnostic::{Diagnostic, did_you_mean};
use crate::file::cursor::Cursor;
use crate::file::groups::Groups;
use crate::file::tables::define::known_keys;
use crate::file::tables::judgement;
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

known_keys!(KEYS: judgement::Published);

/// Returns the metrics named by `[published]`, in file order.
pub(crate) fn metrics(cursor: Option<&Cursor<'_>>) -> Result<Vec<Metric>, Diagnostic> {
    let Some(columns) = cursor.map(|c| c.table(&KEYS)).transpose()?.and_then(|fields| fields.get("columns"))
    else {
        return Ok(Vec::new());
    };
    Ok(columns.entries()?.iter().map(|(entry, _)| entry.key.as_str().into()).collect())
}

impl Reference {
    pub(crate) fn read(
        cursor: &Cursor<'_>,
        file: &str,
        known: &[RowLabel],
        groups: &Groups,
    ) -> Result<Self, Diagnostic> {
        let fields = cursor.table(&KEYS)?;
        let table_at = fields
            .need("table", "write the file name of the published table, like \"quic-dc-table1.csv\"")?;
        let table: String = table_at.read()?;
        let (label, text) =
            library::published(file, &table).map_err(|(wrong, right)| table_at.invalid(wrong, right))?;
        let csv = Csv::parse(&label, &text)?;
        let rows_at = fields.need("rows", "write the columns that identify a row, like [\"cca\"]")?;
        let rows: Vec<String> =
            rows_at.filled_list()?.iter().map(|c| read_column(c, &table, &csv)).collect::<Result<_, _>>()?;
        let columns_at = fields
            .need("columns", "write the column of each metric, like { goodput = \"goodput_mbit_s\" }")?;
        let columns = read_columns(&columns_at, &table, &csv)?;
        columns.iter().try_for_each(|(metric, _)| groups.check_window(&columns_at, metric))?;
        let names: Vec<String> = columns.iter().map(|(_, column)| column.clone()).collect();
        let numbers = csv.numbers(&rows, &names)?;
        if !known.iter().any(|row| numbers.rows.contains_key(row.in_file())) {
            let rows = |keys: Vec<&str>| keys.join(", ");
            let wrong = format!("no row of {table} matches a row of the experiment");
            let ours = rows(known.iter().map(RowLabel::in_file).collect());
            let theirs = rows(numbers.rows.keys().map(String::as_str).collect());
            return Err(
                rows_at.problem(wrong, format!("the table has: {theirs}; the experiment has: {ours}"))
            );
        }
        Ok(Self { table, columns, numbers })
    }

    /// Returns the source's number for a row, whichever backend ran ours.
    pub fn value(&self, row: &RowLabel, metric: &Metric) -> Option<f64> {
        let (_, column) = self.columns.iter().find(|(name, _)| name == metric)?;
        self.numbers.rows.get(row.in_file())?.get(column).copied()
    }
}

fn read_columns(cursor: &Cursor<'_>, table: &str, csv: &Csv) -> Result<Vec<(Metric, String)>, Diagnostic> {
    let mut columns = Vec::new();
    for (entry, below) in cursor.entries()? {
        let metric = Metric::from(entry.key.as_str());
        if metric.quantity().is_none() {
            let known = QUANTITIES.iter().map(|quantity| quantity.name);
            return Err(
                below.invalid(format!("unknown metric `{}`", entry.key), did_you_mean(&entry.key, known))
            );
        }
        columns.push((metric, read_column(&below, table, csv)?));
    }
    Ok(columns)
}

fn read_column(cursor: &Cursor<'_>, table: &str, csv: &Csv) -> Result<String, Diagnostic> {
    let column: String = cursor.read()?;
    if csv.header().any(|name| name == column) {
        return Ok(column);
    }
    Err(cursor.invalid(format!("{table} has no column `{column}`"), did_you_mean(&column, csv.header())))
}

//! Reads `[published]`: the source's table for the experiment, and the column of each metric.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::diagnostic::{Diagnostic, did_you_mean};
use crate::file::column::Column;
use crate::file::cursor::{Cursor, Fields};
use crate::file::groups::Groups;
use crate::file::tables::define::{Needs, table};
use crate::file::tables::network::NameOr;
use crate::file::vary::Case;
use crate::library;
use crate::metric::Metric;
use crate::published::{Csv, Published};
use crate::quantity::QUANTITIES;
use crate::row::RowLabel;

/// Most rows that a message lists.
const LISTED: usize = 12;

/// The source's own numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Reference {
    /// File name of the table.
    pub table: String,
    /// Metrics with their columns.
    pub columns: Vec<(Metric, String)>,
    /// Numbers of the table, in the units of the metrics.
    pub numbers: Published,
    /// Row of the table for each variant and row of the experiment, if the varied keys match it.
    by_keys: Option<BTreeMap<(String, String), String>>,
}

table! {
    /// `[published]`.
    #[schemars(rename = "published", transform = Needs("table rows columns"))]
    pub(crate) PublishedTable(groups: &Groups) {
        /// File name of the table in a folder `published/`, next to the experiment or shipped.
        #[schemars(with = "String")]
        table: Source =>
            "write the file name of the published table, like \"quic-dc-table1.csv\"", Source::read;
        /// The columns that identify a row. Their cells, joined by spaces, are the label of a row,
        /// or each column has values of one key of `[vary]`. A bare number is a share, or has the
        /// unit of its column: `{ column = "rate", unit = "Mbit/s" }`.
        #[schemars(with = "Vec<NameOr<Column>>")]
        rows: Vec<Column> => "write the columns that identify a row, like [\"cca\"]",
            |at: &Cursor<'_>| at.filled_list()?.iter().map(|c| Column::read(c, |at| table.column(at))).collect::<Result<_, _>>();
        /// The column of each metric, with its unit: `{ goodput = { column = "goodput_kbps", unit =
        /// "kbit/s" } }`. A count needs no unit: `{ retransmissions = "lost" }`.
        #[schemars(with = "BTreeMap<String, NameOr<Column>>")]
        columns: Vec<(Metric, Column)> =>
            "write the column of each metric, like { goodput = { column = \"goodput_kbps\", unit = \"kbit/s\" } }",
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

    fn columns(&self, cursor: &Cursor<'_>, groups: &Groups) -> Result<Vec<(Metric, Column)>, Diagnostic> {
        let mut columns = Vec::new();
        for (entry, below) in cursor.entries()? {
            let metric = Metric::from(entry.key.as_str());
            if metric.quantity().is_none() {
                let known = QUANTITIES.iter().map(|quantity| quantity.name);
                let right = did_you_mean(&entry.key, known);
                return Err(below.invalid(format!("unknown metric `{}`", entry.key), right));
            }
            groups.check_window(cursor, &metric)?;
            let column = Column::read(&below, |at| self.column(at))?;
            column.factor(metric.unit()).map_err(|wrong| {
                let (name, unit) = (&column.column, column.likely_unit(metric.unit()));
                below.invalid(
                    wrong,
                    format!("write {} = {{ column = \"{name}\", unit = \"{unit}\" }}", entry.key),
                )
            })?;
            columns.push((metric, column));
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
    pub(crate) fn read(cursor: &Cursor<'_>, cases: &[Case], groups: &Groups) -> Result<Self, Diagnostic> {
        let fields = cursor.table(PublishedTable::known())?;
        let PublishedTable { table, rows, columns } = PublishedTable::read(&fields, groups)?;
        let names = |columns: &[Column]| columns.iter().map(|c| c.column.clone()).collect::<Vec<_>>();
        let measured: Vec<Column> = columns.iter().map(|(_, column)| column.clone()).collect();
        let mut numbers = table.csv.numbers(&names(&rows), &names(&measured))?;
        let has_label = |case: &Case| numbers.rows.contains_key(&case.row);
        let by_keys = match cases.iter().any(has_label) {
            true => None,
            false => Some(by_keys(cases, &rows, &table.csv)),
        };
        if by_keys.as_ref().is_some_and(BTreeMap::is_empty) {
            return Err(no_row(&fields, &table.name, &numbers, cases, rows.len()));
        }
        for row in numbers.rows.values_mut() {
            for (metric, column) in &columns {
                let factor = column.factor(metric.unit()).unwrap_or(1.0);
                row.entry(column.column.clone()).and_modify(|number| *number *= factor);
            }
        }
        let columns = columns.into_iter().map(|(metric, column)| (metric, column.column)).collect();
        Ok(Self { table: table.name, columns, numbers, by_keys })
    }

    /// Returns the source's number for a row, whichever backend ran ours.
    pub fn value(&self, variant: &str, row: &RowLabel, metric: &Metric) -> Option<f64> {
        let key = match &self.by_keys {
            None => row.in_file(),
            Some(by_keys) => by_keys.get(&(variant.to_owned(), row.in_file().to_owned()))?,
        };
        self.number(key, metric)
    }

    /// Returns the source's number for a row in whichever variant, or `None` if variants have
    /// numbers of their own.
    pub(crate) fn in_any_variant(&self, row: &RowLabel, metric: &Metric) -> Option<f64> {
        if self.by_keys.is_some() { None } else { self.number(row.in_file(), metric) }
    }

    /// Reports whether the source has a number for a row in some variant.
    pub(crate) fn has(&self, row: &RowLabel, metric: &Metric) -> bool {
        let keyed = self.by_keys.iter().flatten().filter(|((_, own), _)| own == row.in_file());
        let mut keys = keyed.map(|(_, key)| key.as_str()).chain([row.in_file()]);
        keys.any(|key| self.number(key, metric).is_some())
    }

    fn number(&self, key: &str, metric: &Metric) -> Option<f64> {
        let (_, column) = self.columns.iter().find(|(name, _)| name == metric)?;
        self.numbers.rows.get(key)?.get(column).copied()
    }
}

/// Finds the row of the table for each case: each column has the values of one varied key.
fn by_keys(cases: &[Case], columns: &[Column], csv: &Csv) -> BTreeMap<(String, String), String> {
    let Some(first) = cases.first() else { return BTreeMap::new() };
    let cells: Vec<Vec<&str>> = columns.iter().map(|column| csv.cells(&column.column)).collect();
    let agreeing = |column: usize, key: usize| {
        let is_there = |case: &&Case| {
            cells[column].iter().any(|cell| columns[column].is_value(cell, &case.values[key].1))
        };
        cases.iter().filter(is_there).count()
    };
    // Each column takes the key with which most cases agree.
    let mut keys: Vec<usize> = Vec::new();
    for column in 0..columns.len() {
        let free = (0..first.values.len()).filter(|key| !keys.contains(key));
        let best = free.map(|key| (agreeing(column, key), key)).filter(|(count, _)| *count > 0);
        let Some((_, key)) = best.max_by_key(|(count, key)| (*count, usize::MAX - key)) else {
            return BTreeMap::new();
        };
        keys.push(key);
    }
    let of = |case: &Case| {
        let fits = |row: &usize| {
            let mut all = columns.iter().zip(&keys).zip(&cells);
            all.all(|((column, key), cells)| column.is_value(cells[*row], &case.values[*key].1))
        };
        let row = (0..cells.first().map_or(0, Vec::len)).find(fits)?;
        let key: Vec<&str> = cells.iter().map(|cells| cells[row]).filter(|cell| !cell.is_empty()).collect();
        Some(((case.variant.clone(), case.row.clone()), key.join(" ")))
    };
    cases.iter().filter_map(of).collect()
}

/// Refuses a table none of whose rows is one of the experiment.
fn no_row(
    fields: &Fields<'_>,
    table: &str,
    numbers: &Published,
    cases: &[Case],
    columns: usize,
) -> Diagnostic {
    let mut ours: Vec<String> = Vec::new();
    for case in cases {
        let values: Vec<&str> = case.values.iter().map(|(_, value)| value.as_str()).collect();
        let shown = if columns > 1 { values.join(" ") } else { case.row.clone() };
        if !ours.contains(&shown) && ours.len() < LISTED {
            ours.push(shown);
        }
    }
    let theirs: Vec<&str> = numbers.rows.keys().take(LISTED).map(String::as_str).collect();
    let right = format!(
        "each column of `rows` must have the labels of the rows or the values of one key of [vary], with its unit, \
         like {{ column = \"rate\", unit = \"Mbit/s\" }}; the table has: {}; the experiment has: {}",
        theirs.join(", "),
        ours.join(", ")
    );
    fields.at("rows").problem(format!("no row of {table} matches a row of the experiment"), right)
}

//! `[[miss]]` and `[[bias]]`: reasons for differences from the published numbers.

use crate::diagnostic::Diagnostic;
use crate::file::cursor::Cursor;
use crate::file::labels::{Labels, read_prose, read_table_metric, read_world};
use crate::file::rows::Rows;
use crate::file::tables::define::{Needs, table};
use crate::metric::Metric;
use crate::place::Place;
use crate::row::RowLabel;

table! {
    /// `[[miss]]`: a reason why cells of the table differ from the published ones.
    #[derive(PartialEq)]
    #[schemars(rename = "miss", transform = Needs("rows metrics reason"))]
    pub Miss(labels: &Labels) {
        /// Patterns of the rows that differ, like `["*"]`.
        #[schemars(with = "Vec<String>")]
        rows: Rows => "write the rows that differ, like [\"*\"]", |at| Rows::read(at, "row", &labels.rows);
        /// The metrics that differ.
        #[schemars(with = "Vec<String>")]
        metrics: Vec<Metric> => "write the metrics that differ, like [\"loss\"]", |at| metrics(at, labels);
        /// World of the rows: `"sim"` (default), `"stack"` or `"wire"`.
        #[schemars(with = "Option<String>")]
        on: Place = Place::SIM => later;
        /// Patterns of the variants. Default: all.
        #[schemars(with = "Option<Vec<String>>")]
        variants: Option<Rows> = None, |at| Rows::read(at, "variant", &labels.variants).map(Some);
        /// Reason for the difference.
        reason: String => "write the reason for the difference", |at| read_prose(at, labels);
        /// Whether the cause is unknown. The reason then lists what was tried.
        open: bool = false;
        /// Whether the source measured on a path that is not known, so that the numbers are not
        /// comparable. Not together with `open`.
        path_unknown: bool = false;
    }
}

table! {
    /// `[[bias]]`: a reason why a whole column is above or below the published one.
    #[derive(PartialEq)]
    #[schemars(rename = "bias", transform = Needs("metrics reason"))]
    pub Bias(labels: &Labels) {
        /// The metrics whose columns are biased.
        #[schemars(with = "Vec<String>")]
        metrics: Vec<Metric> =>
            "write the metrics whose columns are biased, like [\"loss\"]",
            |at| metrics(at, labels);
        /// Patterns of the variants. Default: all.
        #[schemars(with = "Option<Vec<String>>")]
        variants: Option<Rows> = None, |at| Rows::read(at, "variant", &labels.variants).map(Some);
        /// Reason why the whole column differs.
        reason: String => "write the reason why the whole column differs", |at| read_prose(at, labels);
        /// Whether the cause is unknown. The reason then lists what was tried.
        open: bool = false;
    }
}

fn metrics(cursor: &Cursor<'_>, labels: &Labels) -> Result<Vec<Metric>, Diagnostic> {
    cursor.filled_list()?.iter().map(|metric| read_table_metric(metric, labels)).collect()
}

impl Miss {
    pub(crate) fn read_whole(cursor: &Cursor<'_>, labels: &Labels) -> Result<Self, Diagnostic> {
        let fields = cursor.table(Self::known())?;
        let on = read_world(&fields)?;
        let miss = Self { on, ..Self::read(&fields, &labels.on(on))? };
        match fields.get("path-unknown").filter(|_| miss.open && miss.path_unknown) {
            Some(at) => Err(at.problem("not allowed together with `open`", "remove one of the two")),
            None => Ok(miss),
        }
    }

    /// Reports whether the reason applies to this cell.
    pub fn explains(&self, variant: &str, row: &RowLabel, metric: &Metric) -> bool {
        self.metrics.contains(metric)
            && row.backend() == self.on
            && self.rows.matches(row.as_str())
            && self.variants.as_ref().is_none_or(|v| v.matches(variant))
    }
}

impl Bias {
    /// Reports whether the reason applies to this column.
    pub fn explains(&self, variant: &str, metric: &Metric) -> bool {
        self.metrics.contains(metric) && self.variants.as_ref().is_none_or(|v| v.matches(variant))
    }
}

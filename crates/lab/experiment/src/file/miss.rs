//! Reads `[[miss]]` and `[[bias]]`: reasons for differences from the published numbers.

use crate::diagnostic::Diagnostic;
use crate::file::claim::{read_prose, read_table_metric, read_variants, read_world};
use crate::file::cursor::Cursor;
use crate::file::labels::Labels;
use crate::file::rows::Rows;
use crate::file::tables::{judgement, known_keys};
use crate::metric::Metric;
use crate::place::Place;
use crate::row::RowLabel;

known_keys!(MISS_KEYS: judgement::Miss);
known_keys!(BIAS_KEYS: judgement::Bias);

/// A reason why cells of the table differ from the published ones.
#[derive(Clone, Debug, PartialEq)]
pub struct Miss {
    pub rows: Rows,
    pub metrics: Vec<Metric>,
    /// Place of the rows.
    pub on: Place,
    /// The variants; `None` for all.
    pub variants: Option<Rows>,
    pub reason: String,
    /// Whether the cause is unknown. The reason then lists what was tried.
    pub open: bool,
}

impl Miss {
    pub(crate) fn read(cursor: &Cursor<'_>, labels: &Labels) -> Result<Self, Diagnostic> {
        let fields = cursor.table(&MISS_KEYS)?;
        let on = read_world(&fields)?;
        let labels = &labels.on(on);
        let metrics =
            fields.need("metrics", "write the metrics that differ, like [\"loss\"]")?.filled_list()?;
        Ok(Self {
            on,
            rows: Rows::read(
                &fields.need("rows", "write the rows that differ, like [\"*\"]")?,
                "row",
                &labels.rows,
            )?,
            metrics: metrics.iter().map(|m| read_table_metric(m, labels)).collect::<Result<_, _>>()?,
            variants: read_variants(&fields, labels)?,
            reason: read_prose(&fields.need("reason", "write the reason for the difference")?, labels)?,
            open: fields.read("open")?.unwrap_or_default(),
        })
    }

    /// Reports whether the reason applies to this cell.
    pub fn explains(&self, variant: &str, row: &RowLabel, metric: &Metric) -> bool {
        self.metrics.contains(metric)
            && row.backend() == self.on
            && self.rows.matches(row.as_str())
            && self.variants.as_ref().is_none_or(|v| v.matches(variant))
    }
}

/// A reason why a whole column is above or below the published one.
#[derive(Clone, Debug, PartialEq)]
pub struct Bias {
    pub metrics: Vec<Metric>,
    /// The variants; `None` for all.
    pub variants: Option<Rows>,
    pub reason: String,
    /// Whether the cause is unknown. The reason then lists what was tried.
    pub open: bool,
}

impl Bias {
    pub(crate) fn read(cursor: &Cursor<'_>, labels: &Labels) -> Result<Self, Diagnostic> {
        let fields = cursor.table(&BIAS_KEYS)?;
        let metrics = fields
            .need("metrics", "write the metrics whose columns are biased, like [\"loss\"]")?
            .filled_list()?;
        Ok(Self {
            metrics: metrics.iter().map(|m| read_table_metric(m, labels)).collect::<Result<_, _>>()?,
            variants: read_variants(&fields, labels)?,
            reason: read_prose(
                &fields.need("reason", "write the reason why the whole column differs")?,
                labels,
            )?,
            open: fields.read("open")?.unwrap_or_default(),
        })
    }

    /// Reports whether the reason applies to this column.
    pub fn explains(&self, variant: &str, metric: &Metric) -> bool {
        self.metrics.contains(metric) && self.variants.as_ref().is_none_or(|v| v.matches(variant))
    }
}

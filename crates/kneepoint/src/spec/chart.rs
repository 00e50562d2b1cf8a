//! `[[chart]]`.

use crate::problem::Problem;
use crate::spec::claim::{Labels, read_metric_of};
use crate::spec::cursor::{Cursor, Fields};
use crate::spec::rows::Rows;
use crate::summary::Chart;

#[derive(Clone, Copy)]
enum Kind {
    RttCdf,
    OverTime,
    Bars,
}

const KINDS: &[(&str, Kind)] =
    &[("rtt-cdf", Kind::RttCdf), ("over-time", Kind::OverTime), ("bars", Kind::Bars)];

/// Row patterns become the labels that they match: who draws the chart looks for labels.
pub(crate) fn read(cursor: &Cursor<'_>, labels: &Labels) -> Result<Chart, Problem> {
    let fields = cursor.table(&["kind", "title", "metrics", "rows"])?;
    let kind = fields.need("kind", "one of rtt-cdf, over-time, bars")?.word("kind of chart", KINDS)?;
    let title = fields.need("title", "what the chart shows; the paper's figure")?.read()?;
    let fields = cursor.table(match kind {
        Kind::RttCdf => &["kind", "title", "rows"],
        Kind::OverTime => &["kind", "title", "metrics", "rows"],
        Kind::Bars => &["kind", "title", "metrics"],
    })?;
    Ok(match kind {
        Kind::RttCdf => Chart::RttCdf { title, rows: read_rows(&fields, labels)? },
        Kind::OverTime => {
            // Columns of the series: which there are depends on the controllers' own variables.
            let metrics = metrics(&fields)?.iter().map(Cursor::read).collect::<Result<_, _>>()?;
            Chart::OverTime { title, metrics, rows: read_rows(&fields, labels)? }
        }
        Kind::Bars => {
            let metrics =
                metrics(&fields)?.iter().map(|m| read_metric_of(m, labels)).collect::<Result<_, _>>()?;
            Chart::Bars { title, metrics }
        }
    })
}

fn metrics<'a>(fields: &Fields<'a>) -> Result<Vec<Cursor<'a>>, Problem> {
    fields.need("metrics", "what the chart shows, like [\"goodput\"] or [\"cwnd_bytes\"]")?.filled_list()
}

fn read_rows(fields: &Fields<'_>, labels: &Labels) -> Result<Vec<String>, Problem> {
    let Some(cursor) = fields.get("rows") else { return Ok(Vec::new()) };
    let rows = Rows::read(&cursor, "row", &labels.rows)?;
    Ok(rows.pick(&labels.rows).into_iter().map(str::to_owned).collect())
}

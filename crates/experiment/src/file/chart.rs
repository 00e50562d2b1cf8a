//! `[[chart]]`: each has a `title`, usually the paper's figure, and by its `kind`:
//!
//! ```text
//! rtt-cdf        rows                distribution of RTT
//! over-time      metrics, rows       columns of the time series, first repetition
//! bars           metrics             ours beside the published value, per row
//! box            metrics, rows       quartiles of a metric over the repetitions; without metrics, of the RTT samples
//! grouped-bars   metrics             bars per variant, one per row, all variants in one figure
//! stacked        rows, interval      goodput of a run's flows on top of each other over time, first repetition;
//!                                    by default in bins of 1 s where the run is longer than 20 s
//! plane          rows                goodput against RTT: flows of all repetitions, their mean and deviation
//! shares         rows                how a run's flows divide its goodput, first repetition
//! ```

use units::Duration;

use crate::chart::Chart;
use crate::diagnostic::Diagnostic;
use crate::file::claim::read_metric_of;
use crate::file::cursor::{Cursor, Fields};
use crate::file::labels::Labels;
use crate::file::rows::Rows;
use crate::metric::Metric;
use crate::row::RowLabel;

#[derive(Clone, Copy)]
enum Kind {
    RttCdf,
    OverTime,
    Bars,
    Box,
    GroupedBars,
    Stacked,
    Plane,
    Shares,
}

const KINDS: &[(&str, Kind)] = &[
    ("rtt-cdf", Kind::RttCdf),
    ("over-time", Kind::OverTime),
    ("bars", Kind::Bars),
    ("box", Kind::Box),
    ("grouped-bars", Kind::GroupedBars),
    ("stacked", Kind::Stacked),
    ("plane", Kind::Plane),
    ("shares", Kind::Shares),
];

impl Kind {
    fn keys(self) -> &'static [&'static str] {
        match self {
            Self::RttCdf | Self::Plane | Self::Shares => &["kind", "title", "rows"],
            Self::OverTime | Self::Box => &["kind", "title", "metrics", "rows"],
            Self::Bars | Self::GroupedBars => &["kind", "title", "metrics"],
            Self::Stacked => &["kind", "title", "rows", "interval"],
        }
    }
}

/// Row patterns become the labels that they match: who draws the chart looks for labels.
pub(crate) fn read(cursor: &Cursor<'_>, labels: &Labels) -> Result<Chart, Diagnostic> {
    let fields = cursor.table(&["kind", "title", "metrics", "rows", "interval"])?;
    let words: Vec<&str> = KINDS.iter().map(|(word, _)| *word).collect();
    let kind = fields.need("kind", &format!("one of {}", words.join(", ")))?.word("kind of chart", KINDS)?;
    let title = fields.need("title", "what the chart shows; the paper's figure")?.read()?;
    let fields = cursor.table(kind.keys())?;
    Ok(match kind {
        Kind::RttCdf => Chart::RttCdf { title, rows: read_rows(&fields, labels)? },
        Kind::OverTime => {
            // Columns of the series: which there are depends on the controllers' own variables.
            let metrics = metrics(&fields)?.iter().map(Cursor::read).collect::<Result<_, _>>()?;
            Chart::OverTime { title, metrics, rows: read_rows(&fields, labels)? }
        }
        Kind::Bars => Chart::Bars { title, metrics: of_table(&fields, labels)? },
        Kind::Box => Chart::Box {
            title,
            metrics: if fields.get("metrics").is_some() { of_table(&fields, labels)? } else { Vec::new() },
            rows: read_rows(&fields, labels)?,
        },
        Kind::GroupedBars => Chart::GroupedBars { title, metrics: of_table(&fields, labels)? },
        Kind::Stacked => {
            Chart::Stacked { title, rows: read_rows(&fields, labels)?, interval: read_interval(&fields)? }
        }
        Kind::Plane => Chart::Plane { title, rows: read_rows(&fields, labels)? },
        Kind::Shares => Chart::Shares { title, rows: read_rows(&fields, labels)? },
    })
}

/// Metrics that the table shows too.
fn of_table(fields: &Fields<'_>, labels: &Labels) -> Result<Vec<Metric>, Diagnostic> {
    metrics(fields)?.iter().map(|m| read_metric_of(m, labels)).collect()
}

fn read_interval(fields: &Fields<'_>) -> Result<Option<Duration>, Diagnostic> {
    let Some(cursor) = fields.get("interval") else { return Ok(None) };
    match cursor.read()? {
        Duration::ZERO => Err(cursor.problem("an average over no time", "more than 0, like \"1 s\"")),
        interval => Ok(Some(interval)),
    }
}

fn metrics<'a>(fields: &Fields<'a>) -> Result<Vec<Cursor<'a>>, Diagnostic> {
    fields.need("metrics", "what the chart shows, like [\"goodput\"] or [\"cwnd_bytes\"]")?.filled_list()
}

fn read_rows(fields: &Fields<'_>, labels: &Labels) -> Result<Vec<RowLabel>, Diagnostic> {
    let Some(cursor) = fields.get("rows") else { return Ok(Vec::new()) };
    let rows = Rows::read(&cursor, "row", &labels.rows)?;
    Ok(rows.pick(&labels.rows).into_iter().cloned().collect())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::file::Experiment;

    const FILE: &str = "title = \"T\"\nsource = \"S\"\nduration = \"1 s\"\nlink = { rate = \"1 Mbit/s\", delay = \
                        \"1 ms\" }\n[[flow]]\ncontroller = \"cubic\"\n[[chart]]\n";

    fn chart(keys: &str) -> Result<Chart, String> {
        let file = Experiment::parse("t", Path::new("t.toml"), &format!("{FILE}{keys}\n"));
        file.map(|mut exp| exp.charts.remove(0)).map_err(|problem| problem.to_string())
    }

    #[test]
    fn every_kind_is_read_and_stored() {
        for (keys, kind) in [
            ("kind = \"grouped-bars\"\ntitle = \"T\"\nmetrics = [\"loss\"]", "GroupedBars"),
            ("kind = \"stacked\"\ntitle = \"T\"\ninterval = \"500 ms\"", "Stacked"),
            ("kind = \"stacked\"\ntitle = \"T\"\nrows = [\"*\"]", "Stacked"),
            ("kind = \"plane\"\ntitle = \"T\"", "Plane"),
            ("kind = \"box\"\ntitle = \"T\"\nmetrics = [\"loss\"]\nrows = [\"*\"]", "Box"),
            ("kind = \"box\"\ntitle = \"T\"", "Box"),
            ("kind = \"shares\"\ntitle = \"T\"", "Shares"),
        ] {
            let chart = chart(keys).unwrap();
            assert!(format!("{chart:?}").starts_with(kind), "{chart:?}");
            let stored = serde_json::to_string(&chart).unwrap();
            assert_eq!(serde_json::from_str::<Chart>(&stored).unwrap(), chart, "{stored}");
        }
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        for (keys, parts) in [
            ("kind = \"plan\"\ntitle = \"T\"", &["t.toml:8", "chart.0.kind", "did you mean \"plane\"?"][..]),
            ("title = \"T\"", &["chart.0.kind: missing", "grouped-bars, stacked, plane, shares"]),
            ("kind = \"plane\"\ntitle = \"T\"\nx = 1", &["t.toml:10", "chart.0.x: unknown key"]),
            ("kind = \"plane\"\ntitle = \"T\"\ninterval = \"1 s\"", &["chart.0.interval: unknown key"]),
            ("kind = \"stacked\"\ntitle = \"T\"\ninterval = \"0 s\"", &["t.toml:10", "over no time"]),
            ("kind = \"stacked\"\ntitle = \"T\"\ninterval = 1", &["chart.0.interval", "`1` has no unit"]),
            ("kind = \"shares\"\ntitle = \"T\"\nrows = [\"x\"]", &["t.toml:10", "`x` matches no row"]),
            ("kind = \"grouped-bars\"\ntitle = \"T\"", &["chart.0.metrics: missing"]),
            ("kind = \"grouped-bars\"\ntitle = \"T\"\nmetrics = [\"jain\"]", &["`jain` is not in the table"]),
        ] {
            let told = chart(keys).unwrap_err();
            assert!(parts.iter().all(|part| told.contains(part)), "{keys}\n{told}");
        }
    }
}

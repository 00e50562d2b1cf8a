//! `[[chart]]`: each has a `title`, usually the paper's figure, and by its `kind`:
//!
//! ```text
//! rtt-cdf        rows, scale         distribution of RTT
//! over-time      metrics, rows,      columns of the time series, first repetition
//!                y-scale
//! line           x, y, colour,       metrics over a key of [vary], with their deviation over the repetitions: a line per value of the
//!                facet, scale,       key `colour`, by default that of the rows, a panel per value of `facet` or of what is left
//!                y-scale
//! heatmap        x, y, colour        the metric `colour` over two keys of [vary], a panel per value of what is left
//! bars           metrics             ours beside the published value, per row
//! box            metrics, rows       quartiles of a metric over the repetitions; without metrics, of the RTT samples
//! grouped-bars   metrics             bars per variant, one per row, all variants in one figure
//! stacked        rows, interval      goodput of a run's flows on top of each other over time, first repetition;
//!                                    by default in bins of 1 s where the run is longer than 20 s
//! plane          rows                goodput against RTT: flows of all repetitions, their mean and deviation
//! shares         rows                how a run's flows divide its goodput, first repetition
//! ```

use units::Duration;

use crate::chart::{Chart, ScaleKind};
use crate::diagnostic::Diagnostic;
use crate::file::claim::read_metric_of;
use crate::file::cursor::{Cursor, Fields};
use crate::file::labels::Labels;
use crate::file::rows::Rows;
use crate::file::swept::{self, Roles};
use crate::file::vary::Case;
use crate::metric::Metric;
use crate::row::RowLabel;

#[derive(Clone, Copy)]
enum Kind {
    RttCdf,
    OverTime,
    Line,
    Heatmap,
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
    ("line", Kind::Line),
    ("heatmap", Kind::Heatmap),
    ("bars", Kind::Bars),
    ("box", Kind::Box),
    ("grouped-bars", Kind::GroupedBars),
    ("stacked", Kind::Stacked),
    ("plane", Kind::Plane),
    ("shares", Kind::Shares),
];

const SCALES: &[(&str, ScaleKind)] = &[("linear", ScaleKind::Linear), ("log", ScaleKind::Log)];

impl Kind {
    fn keys(self) -> &'static [&'static str] {
        match self {
            Self::Plane | Self::Shares => &["kind", "title", "rows"],
            Self::RttCdf => &["kind", "title", "rows", "scale"],
            Self::OverTime => &["kind", "title", "metrics", "rows", "y-scale"],
            Self::Line => &["kind", "title", "x", "y", "colour", "facet", "scale", "y-scale"],
            Self::Heatmap => &["kind", "title", "x", "y", "colour"],
            Self::Box => &["kind", "title", "metrics", "rows"],
            Self::Bars | Self::GroupedBars => &["kind", "title", "metrics"],
            Self::Stacked => &["kind", "title", "rows", "interval"],
        }
    }
}

/// Row patterns become the labels that they match: who draws the chart looks for labels.
pub(crate) fn read(cursor: &Cursor<'_>, labels: &Labels, cases: &[Case]) -> Result<Chart, Diagnostic> {
    let fields = cursor.table(&[
        "kind", "title", "metrics", "rows", "interval", "x", "y", "colour", "facet", "scale", "y-scale",
    ])?;
    let words: Vec<&str> = KINDS.iter().map(|(word, _)| *word).collect();
    let kind = fields.need("kind", &format!("one of {}", words.join(", ")))?.word("kind of chart", KINDS)?;
    let title = fields.need("title", "what the chart shows; the paper's figure")?.read()?;
    let fields = cursor.table(kind.keys())?;
    Ok(match kind {
        Kind::RttCdf => {
            let scale = read_scale(&fields, "scale")?.unwrap_or_default();
            Chart::RttCdf { title, rows: read_rows(&fields, labels)?, scale }
        }
        Kind::Line => line(title, &fields, labels, cases)?,
        Kind::Heatmap => heatmap(title, &fields, labels, cases)?,
        Kind::OverTime => {
            // Columns of the series: which there are depends on the controllers' own variables.
            let metrics = metrics(&fields)?.iter().map(Cursor::read).collect::<Result<_, _>>()?;
            let y_scale = read_scale(&fields, "y-scale")?.unwrap_or_default();
            Chart::OverTime { title, metrics, rows: read_rows(&fields, labels)?, y_scale }
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

/// `x`, `y`, `colour`, `facet`.
fn line(title: String, fields: &Fields<'_>, labels: &Labels, cases: &[Case]) -> Result<Chart, Diagnostic> {
    let keys = swept::keys(cases);
    let at = fields.need("x", "the key of [vary] that the lines go along")?;
    let x = swept::read_key(&at, &keys)?;
    let (colour, facet) =
        (read_other(fields, "colour", &keys, &[x])?, read_other(fields, "facet", &keys, &[x])?);
    let taken: Vec<usize> = facet.into_iter().chain([x]).collect();
    let first = colour.or_else(|| swept::default_series(&keys, &taken));
    if let (Some(cursor), true) = (fields.get("facet"), facet.is_some() && facet == first) {
        return Err(cursor.problem("the key that `colour` names", "one key for each"));
    }
    // Where panels are asked for, they are of that key alone: what is left parts the lines.
    let others = (0..keys.len()).filter(|i| facet.is_some() && !taken.contains(i) && first != Some(*i));
    let roles = Roles { axes: vec![x], series: first.into_iter().chain(others).collect() };
    Ok(Chart::Line {
        title,
        x: swept::axis(&keys[x], read_scale(fields, "scale")?),
        metrics: one_or_more(&fields.need("y", "a metric or several, like \"goodput\"")?, labels)?,
        y_scale: read_scale(fields, "y-scale")?.unwrap_or_default(),
        spots: swept::spots(cases, &keys, &roles),
    })
}

fn heatmap(title: String, fields: &Fields<'_>, labels: &Labels, cases: &[Case]) -> Result<Chart, Diagnostic> {
    let keys = swept::keys(cases);
    let x = swept::read_key(&fields.need("x", "a key of [vary]")?, &keys)?;
    let at = fields.need("y", "another key of [vary]")?;
    let y = swept::read_key(&at, &keys)?;
    if x == y {
        return Err(at.problem("the same key as x", "another key of [vary]"));
    }
    Ok(Chart::Heatmap {
        title,
        x: swept::axis(&keys[x], None),
        y: swept::axis(&keys[y], None),
        metric: read_metric_of(&fields.need("colour", "the metric that colours the fields")?, labels)?,
        spots: swept::spots(cases, &keys, &Roles { axes: vec![x, y], series: Vec::new() }),
    })
}

/// A key of [vary] that is not one of those `taken`.
fn read_other(
    fields: &Fields<'_>,
    name: &str,
    keys: &[swept::Key<'_>],
    taken: &[usize],
) -> Result<Option<usize>, Diagnostic> {
    let Some(cursor) = fields.get(name) else { return Ok(None) };
    let key = swept::read_key(&cursor, keys)?;
    if taken.contains(&key) {
        return Err(cursor.problem("the key of the x axis", "another key of [vary]"));
    }
    Ok(Some(key))
}

fn read_scale(fields: &Fields<'_>, name: &str) -> Result<Option<ScaleKind>, Diagnostic> {
    fields.get(name).map(|cursor| cursor.word("scale", SCALES)).transpose()
}

/// `"goodput"` or `["goodput", "loss"]`.
fn one_or_more(cursor: &Cursor<'_>, labels: &Labels) -> Result<Vec<Metric>, Diagnostic> {
    match cursor.node().as_str() {
        Some(_) => Ok(vec![read_metric_of(cursor, labels)?]),
        None => cursor.filled_list()?.iter().map(|metric| read_metric_of(metric, labels)).collect(),
    }
}

/// Metrics that the table shows too.
fn of_table(fields: &Fields<'_>, labels: &Labels) -> Result<Vec<Metric>, Diagnostic> {
    metrics(fields)?.iter().map(|m| read_metric_of(m, labels)).collect()
}

fn read_interval(fields: &Fields<'_>) -> Result<Option<Duration>, Diagnostic> {
    let Some(cursor) = fields.get("interval") else { return Ok(None) };
    match cursor.read()? {
        Duration::ZERO => Err(cursor.invalid("an average over no time", "more than 0, like \"1 s\"")),
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

    const SWEPT: &str = "title = \"T\"\nsource = \"S\"\nduration = \"1 s\"\nlink = { rate = \"100 Mbit/s\", delay = \"1 ms\" }\n\
                         [[flow]]\ncontroller = \"cubic\"\n[vary]\n\"link.queue\" = [\"0.1 BDP\", \"1 BDP\", \"4 BDP\"]\n\
                         \"link.delay\" = [\"5 ms\", \"50 ms\"]\n\"flow.controller\" = [\"cubic\", \"bbr3\"]\n";

    fn swept(keys: &str) -> Result<Chart, String> {
        let file = Experiment::parse("t", Path::new("t.toml"), &format!("{SWEPT}{keys}\n"));
        file.map(|mut exp| exp.charts.remove(0)).map_err(|problem| problem.to_string())
    }

    #[test]
    fn a_line_stands_at_the_values_of_its_key() {
        let text = "[[chart]]\nkind = \"line\"\ntitle = \"T\"\nx = \"link.queue\"\ny = \"goodput\"";
        let Chart::Line { x, metrics, spots, .. } = swept(text).unwrap() else { panic!() };
        assert_eq!((x.name.as_str(), x.unit.as_str(), x.scale), ("queue", "BDP", ScaleKind::Log));
        assert_eq!((metrics.as_slice(), spots.len()), (&[Metric::from("goodput")][..], 12));
        let spot = spots
            .iter()
            .find(|s| s.variant == "queue = 4 BDP, delay = 50 ms" && s.row.as_str() == "bbr3")
            .unwrap();
        assert_eq!(
            (spot.at.as_slice(), spot.series.as_str(), spot.facet.as_str()),
            (&[4.0][..], "bbr3", "delay = 50 ms")
        );
        let faceted = format!("{text}\ncolour = \"delay\"\nfacet = \"controller\"\nscale = \"linear\"");
        let Chart::Line { x, spots, .. } = swept(&faceted).unwrap() else { panic!() };
        assert_eq!(
            (x.scale, spots[0].series.as_str(), spots[0].facet.as_str()),
            (ScaleKind::Linear, "5 ms", "controller = cubic")
        );
    }

    #[test]
    fn a_heatmap_stands_at_two_and_is_stored() {
        let text =
            "[[chart]]\nkind = \"heatmap\"\ntitle = \"T\"\nx = \"queue\"\ny = \"delay\"\ncolour = \"loss\"";
        let chart = swept(text).unwrap();
        let stored = serde_json::to_string(&chart).unwrap();
        assert_eq!(serde_json::from_str::<Chart>(&stored).unwrap(), chart, "{stored}");
        let Chart::Heatmap { metric, spots, .. } = chart else { panic!() };
        assert_eq!(
            (metric.as_str(), spots[3].at.as_slice(), spots[3].facet.as_str()),
            ("loss", &[0.1, 50.0][..], "controller = bbr3")
        );
    }

    #[test]
    fn a_file_without_a_chart_gets_one_that_fits() {
        let Chart::Line { x, metrics, spots, .. } = swept("").unwrap() else { panic!() };
        assert_eq!((x.name.as_str(), metrics.len(), spots[0].series.as_str()), ("queue", 4, "cubic"));
        let bare = FILE.trim_end_matches("[[chart]]\n");
        let of = |text: &str| Experiment::parse("t", Path::new("t.toml"), text).unwrap().charts;
        assert!(matches!(of(bare)[..], [Chart::Bars { .. }]));
        assert!(matches!(of(&format!("series = \"10 ms\"\n{bare}"))[..], [Chart::OverTime { .. }]));
    }

    #[test]
    fn a_wrong_axis_is_told_with_its_line() {
        let line = |keys: &str| {
            swept(&format!("[[chart]]\nkind = \"line\"\ntitle = \"T\"\ny = \"goodput\"\n{keys}"))
        };
        for (keys, parts) in [
            ("", &["chart.0.x: missing"][..]),
            (
                "x = \"link.queu\"",
                &["t.toml:15", "`link.queu` does not vary", "did you mean \"link.queue\"?"],
            ),
            ("x = \"queue\"\ncolour = \"queue\"", &["t.toml:16", "the key of the x axis"]),
            (
                "x = \"queue\"\ncolour = \"delay\"\nfacet = \"delay\"",
                &["t.toml:17", "the key that `colour` names"],
            ),
            ("x = \"queue\"\nscale = \"lg\"", &["unknown scale `lg`"]),
            ("x = \"queue\"\nrows = [\"cubic\"]", &["chart.0.rows: unknown key"]),
        ] {
            let told = line(keys).unwrap_err();
            assert!(parts.iter().all(|part| told.contains(part)), "{keys}\n{told}");
        }
        let same = swept(
            "[[chart]]\nkind = \"heatmap\"\ntitle = \"T\"\nx = \"queue\"\ny = \"queue\"\ncolour = \"loss\"",
        );
        assert!(same.unwrap_err().contains("the same key as x"));
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

//! Boxes: where the repetitions of a metric lie, or the RTT samples, one box per row.
//!
//! ```text
//! |-----[  |    ]--------|     least, lower quartile, median, upper quartile, most
//! ```

use experiment::metric::Metric;
use experiment::row::RowLabel;
use maud::{Markup, html};

use super::axis::{Scale, extent, is_drawable};
use super::svg::{self, Anchor, Figure, SMALL, TEXT, WIDTH};
use super::{Source, wanted};
use crate::colours::{INK, PAPER};
use crate::number;
use crate::styles::Style;
use results::summary::{Cdf, Cell, Quartiles, Variant};

/// Height of a row.
const ROW: f64 = 22.0;
/// Height of a box.
const BOX: f64 = 12.0;
/// What the distribution of RTTs is called among the metrics.
const RTT: &str = "rtt_mean";

/// One figure per variant.
pub(super) fn draw(source: &Source<'_>, title: &str, metrics: &[Metric], rows: &[RowLabel]) -> Vec<Figure> {
    let what: Vec<What<'_>> = match metrics {
        [] => vec![What::Rtt],
        metrics => metrics.iter().map(What::Metric).collect(),
    };
    let variants = &source.results.summary.variants;
    let scales: Vec<Scale> = what.iter().map(|what| scale(source, variants, rows, *what)).collect();
    let panels: Vec<(What<'_>, &Scale)> = what.into_iter().zip(&scales).collect();
    variants.iter().map(|variant| figure(source, title, variant, rows, &panels)).collect()
}

/// What the boxes of a panel are of.
#[derive(Clone, Copy)]
enum What<'a> {
    Rtt,
    Metric(&'a Metric),
}

impl What<'_> {
    fn name(self) -> String {
        match self {
            Self::Rtt => number::with_unit("RTT samples", Metric::new(RTT).unit()),
            Self::Metric(metric) => number::with_unit(&number::metric(metric).label, metric.unit()),
        }
    }

    fn shown(self, value: f64) -> String {
        let decimals = match self {
            Self::Rtt => Metric::new(RTT).decimals(value),
            Self::Metric(metric) => metric.decimals(value),
        };
        number::fixed(value, decimals)
    }
}

/// The five numbers of a row, if there are any that can be drawn.
fn of_row(source: &Source<'_>, variant: &Variant, label: &str, what: What<'_>) -> Option<Quartiles> {
    let five = match what {
        What::Rtt => {
            let mut all = source.results.rtt_cdf.iter();
            of_samples(all.find(|cdf| cdf.variant == variant.name && cdf.row == label)?)
        }
        What::Metric(metric) => {
            of_runs(variant.rows.iter().find(|row| row.label == label)?.cells.get(metric)?)
        }
    }?;
    [five.min, five.lower, five.median, five.upper, five.max].iter().all(|v| is_drawable(*v)).then_some(five)
}

/// A single run is where it is.
fn of_runs(cell: &Cell) -> Option<Quartiles> {
    let one = cell.mean;
    cell.runs.or(Some(Quartiles { min: one, lower: one, median: one, upper: one, max: one }))
}

/// By the points of the distribution.
fn of_samples(cdf: &Cdf) -> Option<Quartiles> {
    let at = |share: f64| cdf.points.iter().find(|(_, s)| *s >= share).map(|(rtt, _)| *rtt);
    let (min, max) = (cdf.points.first()?.0, cdf.points.last()?.0);
    Some(Quartiles { min, lower: at(0.25)?, median: at(0.5)?, upper: at(0.75)?, max })
}

/// The same in all variants.
fn scale(source: &Source<'_>, variants: &[Variant], rows: &[RowLabel], what: What<'_>) -> Scale {
    let all = variants.iter().flat_map(|v| wanted(v, rows).into_iter().map(move |label| (v, label)));
    let ends =
        all.filter_map(|(v, label)| of_row(source, v, label, what)).flat_map(|five| [five.min, five.max]);
    Scale::values(extent(ends), true, 5)
}

fn figure(
    source: &Source<'_>,
    title: &str,
    variant: &Variant,
    rows: &[RowLabel],
    panels: &[(What<'_>, &Scale)],
) -> Figure {
    let labels = wanted(variant, rows);
    let widest = labels.iter().map(|label| svg::text_width(label, TEXT)).fold(40.0, f64::max);
    let left = widest.min(WIDTH / 3.0) + 18.0;
    let mut top = 6.0;
    let mut drawn = Vec::new();
    for (what, scale) in panels {
        let (markup, height) = panel(source, variant, &labels, *what, &scale.on(left, WIDTH - 56.0), top);
        drawn.push(markup);
        top += height;
    }
    let body = html! { @for panel in drawn { (panel) } };
    Figure {
        kind: "box",
        title: title.to_owned(),
        variant: variant.name.clone(),
        width: WIDTH,
        height: top,
        body,
    }
}

fn panel(
    source: &Source<'_>,
    variant: &Variant,
    labels: &[&str],
    what: What<'_>,
    scale: &Scale,
    top: f64,
) -> (Markup, f64) {
    let boxes: Vec<(&str, Quartiles)> =
        labels.iter().filter_map(|label| Some((*label, of_row(source, variant, label, what)?))).collect();
    let first = top + 24.0;
    let bottom = first + ROW * boxes.len().max(1) as f64 + 4.0;
    let markup = html! {
        (svg::heading(8.0, top + 14.0, &what.name()))
        (svg::grid_x(scale, first, bottom, true))
        @for (i, (label, five)) in boxes.iter().enumerate() {
            @let y = first + ROW * (i as f64 + 0.5) + 2.0;
            (svg::label(scale.left() - 8.0, y + 4.0, TEXT, Anchor::End, scale.left() - 14.0, label))
            (row(scale, y, five, &source.style(label), label, what))
        }
        @if boxes.is_empty() { (svg::nothing(WIDTH, first + 16.0, "no values")) }
    };
    (markup, bottom + 30.0 - top)
}

/// The box, its whiskers, and the median as a number at the right edge.
fn row(scale: &Scale, y: f64, five: &Quartiles, style: &Style, label: &str, what: What<'_>) -> Markup {
    let [least, lower, median, upper, most] =
        [five.min, five.lower, five.median, five.upper, five.max].map(|value| scale.at(value));
    let name = format!(
        "{label}: median {}, quartiles {} and {}, from {} to {}",
        what.shown(five.median),
        what.shown(five.lower),
        what.shown(five.upper),
        what.shown(five.min),
        what.shown(five.max)
    );
    html! {
        (svg::line(least, y, lower, y, INK))
        (svg::line(upper, y, most, y, INK))
        (svg::line(least, y - 3.0, least, y + 3.0, INK))
        (svg::line(most, y - 3.0, most, y + 3.0, INK))
        rect x=(svg::px(lower)) y=(svg::px(y - BOX / 2.0)) width=(svg::px((upper - lower).max(1.0)))
            height=(svg::px(BOX)) fill=(style.colour) stroke=(PAPER) { title { (name) } }
        (svg::line(median, y - BOX / 2.0, median, y + BOX / 2.0, INK))
        (svg::text(WIDTH - 4.0, y + 4.0, SMALL - 1.0, INK, Anchor::End, &what.shown(five.median)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quartiles_of_a_distribution() {
        let points = (1..=100).map(|i| (f64::from(i), f64::from(i) / 100.0)).collect();
        let cdf = Cdf { variant: String::new(), row: "".into(), points };
        let five = of_samples(&cdf).unwrap();
        assert_eq!((five.min, five.lower, five.median, five.upper, five.max), (1.0, 25.0, 50.0, 75.0, 100.0));
        assert_eq!(of_samples(&Cdf { points: Vec::new(), ..cdf }), None);
    }

    #[test]
    fn one_run_is_a_line() {
        let cell = Cell {
            mean: 3.0,
            spread: None,
            runs: None,
            shown: None,
            published: None,
            reason: None,
            open: false,
        };
        let five = of_runs(&cell).unwrap();
        assert_eq!((five.min, five.median, five.max), (3.0, 3.0, 3.0));
    }
}

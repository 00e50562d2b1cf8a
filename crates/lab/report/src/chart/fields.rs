//! A heat map: a metric on two axes. The higher the value of a field, the stronger its colour. The
//! value is printed in the field.

use experiment::metric::Metric;
use maud::{Markup, html};

use super::axis::{extent, is_drawable};
use super::svg::{self, Anchor, Figure, SMALL, TEXT, WIDTH};
use super::{Source, distinct};
use crate::colours::{self, INK, PAPER};
use crate::number;
use experiment::chart::{Along, Axis, Spot};

const LEFT: f64 = 92.0;
const RIGHT: f64 = WIDTH - 10.0;
/// Height of a field, and of the space above and below the fields of a facet.
const FIELD: f64 = 26.0;
const AROUND: (f64, f64) = (22.0, 24.0);
/// Share of the colour in the field of the lowest value.
const LEAST: f64 = 0.08;
/// Share of the colour from which numbers have the background colour.
const FULL: f64 = 0.55;

/// Axes and metric of a heat map.
pub(super) struct Fields<'a> {
    pub(super) title: &'a str,
    pub(super) x: &'a Axis,
    pub(super) y: &'a Axis,
    pub(super) metric: &'a Metric,
    pub(super) spots: &'a [Spot],
}

/// A value of an axis with its name.
type Tick = (f64, String);

/// A field: column, row from the bottom, value.
type Field = (usize, usize, f64);

/// Draws one figure of all variants.
pub(super) fn draw(source: &Source<'_>, chart: &Fields<'_>) -> Vec<Figure> {
    let (columns, rows) = (ticks(chart, 0), ticks(chart, 1));
    let range =
        extent(chart.spots.iter().filter_map(|spot| value(source, chart, spot))).unwrap_or((0.0, 1.0));
    let words = number::metric(chart.metric);
    let mut top = 30.0;
    let mut drawn = Vec::new();
    for facet in distinct(chart.spots.iter().map(|spot| spot.facet.as_str())) {
        let spots = chart.spots.iter().filter(|spot| spot.facet == facet);
        let field = |spot: &Spot| {
            let at = |ticks: &[Tick], i: usize| ticks.iter().position(|tick| Some(&tick.0) == spot.at.get(i));
            Some((at(&columns, 0)?, at(&rows, 1)?, value(source, chart, spot)?))
        };
        let fields: Vec<Field> = spots.filter_map(field).collect();
        let (markup, height) = panel(chart, facet, &fields, (&columns, &rows), range, top);
        drawn.push(markup);
        top += height;
    }
    let body = html! {
        (key(&number::with_unit(&words.label, words.unit), chart.metric, range))
        @for panel in drawn { (panel) }
        (svg::x_axis_name(LEFT, RIGHT, top + 8.0, &axis_name(chart.x)))
        (svg::y_axis_name(30.0, top, &axis_name(chart.y)))
    };
    let (title, variant) = (chart.title.to_owned(), String::new());
    let kind = format!("rect-{}-{}", chart.x.name, chart.y.name);
    vec![Figure { kind, title, variant, width: WIDTH, height: top + 18.0, body }]
}

fn axis_name(axis: &Axis) -> String {
    match axis.along {
        Along::Key => number::with_unit(&axis.name, &axis.unit),
        Along::Rows | Along::Variants => String::new(),
    }
}

fn value(source: &Source<'_>, chart: &Fields<'_>, spot: &Spot) -> Option<f64> {
    source.cell(spot, chart.metric).map(results::summary::Cell::value).filter(|value| is_drawable(*value))
}

/// Returns the values of an axis in ascending order, with their names.
fn ticks(chart: &Fields<'_>, index: usize) -> Vec<Tick> {
    let axis = if index == 0 { chart.x } else { chart.y };
    let mut values: Vec<f64> = chart.spots.iter().filter_map(|spot| spot.at.get(index).copied()).collect();
    values.sort_by(f64::total_cmp);
    values.dedup();
    let name = |value: f64| axis.words.get(value as usize).cloned().unwrap_or_else(|| number::plain(value));
    values.into_iter().map(|value| (value, name(value))).collect()
}

fn share(value: f64, (low, high): (f64, f64)) -> f64 {
    let part = if high > low { (value - low) / (high - low) } else { 1.0 };
    LEAST + (1.0 - LEAST) * part
}

fn panel(
    chart: &Fields<'_>,
    facet: &str,
    fields: &[Field],
    (columns, rows): (&[Tick], &[Tick]),
    range: (f64, f64),
    top: f64,
) -> (Markup, f64) {
    let width = (RIGHT - LEFT) / columns.len().max(1) as f64;
    let first = top + if facet.is_empty() { 4.0 } else { AROUND.0 };
    let bottom = first + FIELD * rows.len() as f64;
    let markup = html! {
        @if !facet.is_empty() { (svg::label(LEFT, first - 6.0, TEXT, Anchor::Start, RIGHT - LEFT, facet)) }
        @for (column, row, value) in fields {
            @let place = (LEFT + width * *column as f64, bottom - FIELD * (row + 1) as f64);
            @let name = format!("{}, {}", columns[*column].1, rows[*row].1);
            (field(place, width, *value, share(*value, range), chart.metric, &name))
        }
        @for (i, (_, name)) in columns.iter().enumerate() {
            (svg::label(LEFT + width * (i as f64 + 0.5), bottom + 14.0, SMALL, Anchor::Middle, width - 2.0, name))
        }
        @for (i, (_, name)) in rows.iter().enumerate() {
            (svg::label(LEFT - 6.0, bottom - FIELD * (i as f64 + 0.5) + 4.0, SMALL, Anchor::End, LEFT - 26.0, name))
        }
    };
    (markup, bottom + AROUND.1 - top)
}

fn field((x, y): (f64, f64), width: f64, value: f64, share: f64, metric: &Metric, name: &str) -> Markup {
    let text = number::fixed(value, metric.decimals(value));
    let ink = if share > FULL { PAPER } else { INK };
    let fill = colours::towards_paper(colours::colour(0), share);
    html! {
        rect x=(svg::px(x)) y=(svg::px(y)) width=(svg::px(width)) height=(FIELD) fill=(fill) stroke=(PAPER) {
            title { (name) ": " (number::valued(metric, value)) }
        }
        @if svg::text_width(&text, SMALL - 1.0) < width {
            (svg::text(x + width / 2.0, y + FIELD / 2.0 + 4.0, SMALL - 1.0, ink, Anchor::Middle, &text))
        }
    }
}

/// Draws the metric's name and the colours of its range.
fn key(name: &str, metric: &Metric, (low, high): (f64, f64)) -> Markup {
    const STEPS: usize = 12;
    let shown = |value: f64| number::fixed(value, metric.decimals(value));
    let right = RIGHT - svg::text_width(&shown(high), SMALL) - 6.0;
    let step = |i: usize| share(i as f64, (0.0, (STEPS - 1) as f64));
    html! {
        (svg::heading(8.0, 17.0, name))
        @for i in 0..STEPS {
            @let x = right - 8.0 * (STEPS - i) as f64;
            rect x=(svg::px(x)) y="7" width="8" height="11" fill=(colours::towards_paper(colours::colour(0), step(i))) {}
        }
        (svg::text(right - 8.0 * STEPS as f64 - 6.0, 17.0, SMALL, INK, Anchor::End, &shown(low)))
        (svg::text(RIGHT, 17.0, SMALL, INK, Anchor::End, &shown(high)))
    }
}

//! Bars per variant, one per row, one panel per metric: how a metric changes with the key that makes the variants.

use experiment::metric::Metric;
use maud::{Markup, html};

use super::Source;
use super::axis::{Scale, extent, is_drawable};
use super::bars::{spread, upper};
use super::svg::{self, Anchor, BOX, Figure, SMALL, TEXT};
use crate::colours::INK;
use crate::number;
use crate::styles::Style;
use crate::variants::keys_and_values;
use results::summary::{Cell, Variant};

const LEFT: f64 = 50.0;
/// Height of a panel and of its heading.
const PANEL: (f64, f64) = (150.0, 34.0);
/// Share of a variant's room that its bars fill, and the widest bar.
const FILLED: f64 = 0.8;
const WIDEST: f64 = 34.0;
/// Labels that do not fit side by side are turned by 30 degrees, whose sine and cosine these are; the longest of them.
const TURN: (f64, f64) = (0.5, 0.866);
const LONGEST: f64 = 120.0;

/// The variants, and the figure's width.
struct Groups<'a> {
    variants: &'a [Variant],
    width: f64,
}

/// A row's label and style.
type Row<'a> = (&'a str, &'a Style);

/// One figure for all variants.
pub(super) fn draw(source: &Source<'_>, title: &str, metrics: &[Metric]) -> Vec<Figure> {
    let variants = &source.results.summary.variants;
    if variants.is_empty() {
        return Vec::new();
    }
    let labels = labels(variants);
    let styles: Vec<Style> = labels.iter().map(|l| source.style(l).solid()).collect();
    let rows: Vec<Row<'_>> = labels.into_iter().zip(&styles).collect();
    let groups = Groups { variants, width: source.width };
    let (body, height) = match metrics {
        [] => (svg::nothing(groups.width, 26.0, "no metrics"), 46.0),
        _ => panels(&groups, metrics, &rows),
    };
    vec![Figure {
        kind: "grouped-bars",
        title: title.to_owned(),
        variant: String::new(),
        width: source.width,
        height,
        body,
    }]
}

/// The labels of all rows, in order.
fn labels(variants: &[Variant]) -> Vec<&str> {
    let mut labels: Vec<&str> = Vec::new();
    for row in variants.iter().flat_map(|v| &v.rows) {
        if !labels.contains(&row.label.as_str()) {
            labels.push(row.label.as_str());
        }
    }
    labels
}

fn panels(groups: &Groups<'_>, metrics: &[Metric], rows: &[Row<'_>]) -> (Markup, f64) {
    // A single row needs no name to tell it from others.
    let (legend, start) =
        if rows.len() > 1 { svg::legend(groups.width, 4.0, rows, BOX) } else { (Markup::default(), -4.0) };
    let end = start + (PANEL.0 + PANEL.1) * metrics.len() as f64;
    let (names, height) = names(groups, end);
    let body = html! {
        (legend)
        @for (i, metric) in metrics.iter().enumerate() {
            (panel(groups, metric, rows, start + (PANEL.0 + PANEL.1) * i as f64 + PANEL.1))
        }
        (names)
    };
    (body, end + height)
}

fn panel(groups: &Groups<'_>, metric: &Metric, rows: &[Row<'_>], top: f64) -> Markup {
    let words = number::metric(metric);
    let y = scale(groups.variants, metric).on(top + PANEL.0, top);
    let width = (FILLED * groups.room() / rows.len().max(1) as f64).min(WIDEST);
    html! {
        (svg::heading(8.0, top - 9.0, &number::with_unit(&words.label, words.unit)))
        (svg::grid_y(&y, LEFT, groups.right()))
        @for (i, variant) in groups.variants.iter().enumerate() {
            @let start = groups.middle(i) - width * rows.len() as f64 / 2.0;
            @for (j, row) in rows.iter().enumerate() {
                @let cell = variant.rows.iter().find(|r| r.label == row.0).and_then(|r| r.cells.get(metric));
                @if let Some(cell) = cell.filter(|c| is_drawable(c.value())) {
                    (bar(&y, start + width * j as f64, width, cell, *row, metric))
                }
            }
        }
        (svg::floor(LEFT, groups.right(), y.at(y.base())))
    }
}

impl Groups<'_> {
    fn right(&self) -> f64 {
        self.width - 8.0
    }

    fn room(&self) -> f64 {
        (self.right() - LEFT) / self.variants.len() as f64
    }

    fn middle(&self, index: usize) -> f64 {
        LEFT + self.room() * (index as f64 + 0.5)
    }
}

fn scale(variants: &[Variant], metric: &Metric) -> Scale {
    let cells = variants.iter().flat_map(|v| &v.rows).filter_map(|r| r.cells.get(metric));
    let cells = cells.filter(|c| is_drawable(c.value()));
    Scale::values(extent(cells.flat_map(|c| [c.value(), upper(c, metric)])), false, 4)
}

fn bar(y: &Scale, left: f64, width: f64, cell: &Cell, row: Row<'_>, metric: &Metric) -> Markup {
    let (value, base) = (y.at(cell.value()), y.at(y.base()));
    let gap = if width > 6.0 { 1.0 } else { 0.0 };
    let decimals = metric.decimals(cell.value());
    let deviation = cell.spread.map(|spread| format!(" ± {}", number::fixed(spread, decimals)));
    let name =
        format!("{}: {}{}", row.0, number::fixed(cell.value(), decimals), deviation.unwrap_or_default());
    html! {
        rect x=(svg::px(left + gap)) y=(svg::px(value.min(base))) width=(svg::px(width - 2.0 * gap))
            height=(svg::px((value - base).abs())) fill=(row.1.fill) stroke=(row.1.colour) { title { (name) } }
        @if spread(cell) > 0.0 {
            (whisker(left + width / 2.0, (width / 4.0).min(3.0), y.at(upper(cell, metric)), y.at(cell.value() - spread(cell))))
        }
    }
}

fn whisker(x: f64, half: f64, top: f64, bottom: f64) -> Markup {
    html! {
        (svg::line(x, top, x, bottom, INK))
        (svg::line(x - half, top, x + half, top, INK))
        (svg::line(x - half, bottom, x + half, bottom, INK))
    }
}

/// The variants' names under the axis, and the name of what they are values of; returns the height.
fn names(groups: &Groups<'_>, top: f64) -> (Markup, f64) {
    let (keys, values) =
        keys_and_values(&groups.variants.iter().map(|v| v.name.as_str()).collect::<Vec<_>>());
    let widest = values.iter().flatten().map(|v| svg::text_width(v, SMALL)).fold(0.0, f64::max);
    let (drawn, height) =
        if widest < groups.room() { level(groups, &values, top) } else { turned(groups, &values, top) };
    let markup = html! {
        @for label in drawn { (label) }
        (svg::axis_name(LEFT, groups.right(), top + height + 17.0, &svg::shortened(&keys, TEXT, groups.right() - LEFT)))
    };
    (markup, height + if keys.is_empty() { 8.0 } else { 26.0 })
}

fn level(groups: &Groups<'_>, values: &[Vec<String>], top: f64) -> (Vec<Markup>, f64) {
    const LINE: f64 = 14.0;
    let widest = values.iter().flatten().map(|v| svg::text_width(v, SMALL)).fold(0.0, f64::max);
    // A little smaller where neighbours would touch.
    let size = if widest < groups.room() - 6.0 { SMALL } else { SMALL - 1.5 };
    let lines = |i: usize| {
        let x = groups.middle(i);
        let line = move |(j, value): (usize, &String)| {
            svg::text(x, top + 15.0 + LINE * j as f64, size, INK, Anchor::Middle, value)
        };
        values[i].iter().enumerate().map(line)
    };
    let most = values.iter().map(Vec::len).max().unwrap_or(0);
    ((0..values.len()).flat_map(lines).collect(), 4.0 + LINE * most as f64)
}

fn turned(groups: &Groups<'_>, values: &[Vec<String>], top: f64) -> (Vec<Markup>, f64) {
    let (sine, cosine) = TURN;
    let mut height: f64 = 0.0;
    let label = |(i, values): (usize, &Vec<String>)| {
        let (x, whole) = (groups.middle(i), values.join(", "));
        let short = svg::shortened(&whole, SMALL, LONGEST.min(x / cosine - 8.0));
        height = height.max(svg::text_width(&short, SMALL) * sine);
        let place = format!("translate({} {}) rotate(-30)", svg::px(x + 4.0), svg::px(top + 13.0));
        html! {
            text font-size=(SMALL) fill=(INK) text-anchor="end" transform=(place) { (short) title { (whole) } }
        }
    };
    (values.iter().enumerate().map(label).collect(), height + 14.0)
}

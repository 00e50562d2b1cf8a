//! Bars per variant, one per row, one panel per metric: how a metric changes with the key that makes the variants.

use maud::{Markup, html};

use super::Source;
use super::axis::{Scale, extent, is_drawable};
use super::bars::spread;
use super::svg::{self, Anchor, BOX, Figure, SMALL, TEXT, WIDTH};
use crate::number;
use crate::palette::{INK, Style};
use experiment::metric::Metric;
use results::summary::{Cell, Variant};

const LEFT: f64 = 50.0;
const RIGHT: f64 = WIDTH - 8.0;
/// Height of a panel and of its heading.
const PANEL: (f64, f64) = (150.0, 34.0);
/// Share of a variant's room that its bars fill, and the widest bar.
const FILLED: f64 = 0.8;
const WIDEST: f64 = 34.0;
/// Labels that do not fit side by side are turned by 30 degrees, whose sine and cosine these are; the longest of them.
const TURN: (f64, f64) = (0.5, 0.866);
const LONGEST: f64 = 120.0;

/// A row's label and style.
type Row<'a> = (&'a str, &'a Style);

/// One figure for all variants.
pub(super) fn draw(source: &Source<'_>, title: &str, metrics: &[Metric]) -> Vec<Figure> {
    let variants = &source.results.summary.variants;
    if variants.is_empty() {
        return Vec::new();
    }
    let labels = labels(variants);
    let styles: Vec<Style> = labels.iter().map(|l| Style { dash: None, ..source.style(l) }).collect();
    let rows: Vec<Row<'_>> = labels.into_iter().zip(&styles).collect();
    let (body, height) = match metrics {
        [] => (svg::nothing(26.0, "no metrics"), 46.0),
        _ => panels(variants, metrics, &rows),
    };
    vec![Figure { kind: "grouped-bars", title: title.to_owned(), variant: String::new(), height, body }]
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

fn panels(variants: &[Variant], metrics: &[Metric], rows: &[Row<'_>]) -> (Markup, f64) {
    // A single row needs no name to tell it from others.
    let (legend, start) =
        if rows.len() > 1 { svg::legend(4.0, rows, BOX) } else { (Markup::default(), -4.0) };
    let end = start + (PANEL.0 + PANEL.1) * metrics.len() as f64;
    let (names, height) = names(variants, end);
    let body = html! {
        (legend)
        @for (i, metric) in metrics.iter().enumerate() {
            (panel(variants, metric, rows, start + (PANEL.0 + PANEL.1) * i as f64 + PANEL.1))
        }
        (names)
    };
    (body, end + height)
}

fn panel(variants: &[Variant], metric: &Metric, rows: &[Row<'_>], top: f64) -> Markup {
    let words = number::metric(metric);
    let y = scale(variants, metric).on(top + PANEL.0, top);
    let width = (FILLED * room(variants) / rows.len().max(1) as f64).min(WIDEST);
    html! {
        (svg::heading(8.0, top - 9.0, &number::with_unit(&words.label, words.unit)))
        (svg::grid_y(&y, LEFT, RIGHT))
        @for (i, variant) in variants.iter().enumerate() {
            @let start = middle(variants, i) - width * rows.len() as f64 / 2.0;
            @for (j, row) in rows.iter().enumerate() {
                @let cell = variant.rows.iter().find(|r| r.label == row.0).and_then(|r| r.cells.get(metric));
                @if let Some(cell) = cell.filter(|c| is_drawable(c.value())) {
                    (bar(&y, start + width * j as f64, width, cell, *row, metric))
                }
            }
        }
        (svg::floor(LEFT, RIGHT, y.at(y.base())))
    }
}

fn room(variants: &[Variant]) -> f64 {
    (RIGHT - LEFT) / variants.len() as f64
}

fn middle(variants: &[Variant], index: usize) -> f64 {
    LEFT + room(variants) * (index as f64 + 0.5)
}

fn scale(variants: &[Variant], metric: &Metric) -> Scale {
    let cells = variants.iter().flat_map(|v| &v.rows).filter_map(|r| r.cells.get(metric));
    let cells = cells.filter(|c| is_drawable(c.value()));
    Scale::values(extent(cells.flat_map(|c| [c.value(), upper(c, metric)])), false, 4)
}

/// Where a cell's deviation ends: it may reach beyond what can be, its whisker must not.
fn upper(cell: &Cell, metric: &Metric) -> f64 {
    let most = metric.quantity().and_then(|quantity| quantity.most).unwrap_or(f64::INFINITY);
    (cell.value() + spread(cell)).min(most).max(cell.value())
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
            height=(svg::px((value - base).abs())) fill=(row.1.colour) { title { (name) } }
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
fn names(variants: &[Variant], top: f64) -> (Markup, f64) {
    let (keys, values) = keys_and_values(&variants.iter().map(|v| v.name.as_str()).collect::<Vec<_>>());
    let widest = values.iter().flatten().map(|v| svg::text_width(v, SMALL)).fold(0.0, f64::max);
    let (drawn, height) = if widest < room(variants) - 4.0 {
        level(variants, &values, top)
    } else {
        turned(variants, &values, top)
    };
    let markup = html! {
        @for label in drawn { (label) }
        (svg::axis_name(LEFT, RIGHT, top + height + 17.0, &svg::shortened(&keys, TEXT, RIGHT - LEFT)))
    };
    (markup, height + if keys.is_empty() { 8.0 } else { 26.0 })
}

/// Without the keys, if all names have the same: `queue`, and `1 BDP`, `3 BDP`. A line per key.
fn keys_and_values(names: &[&str]) -> (String, Vec<Vec<String>>) {
    let split: Option<Vec<Vec<_>>> =
        names.iter().map(|name| name.split(", ").map(|part| part.split_once(" = ")).collect()).collect();
    let keys = |pairs: &[(&str, &str)]| pairs.iter().map(|(key, _)| *key).collect::<Vec<_>>().join(", ");
    match split {
        Some(split) if split.windows(2).all(|w| keys(&w[0]) == keys(&w[1])) => {
            let values = split.iter().map(|pairs| pairs.iter().map(|(_, v)| (*v).to_owned()).collect());
            (split.first().map_or(String::new(), |first| keys(first)), values.collect())
        }
        _ => (String::new(), names.iter().map(|name| vec![(*name).to_owned()]).collect()),
    }
}

fn level(variants: &[Variant], values: &[Vec<String>], top: f64) -> (Vec<Markup>, f64) {
    const LINE: f64 = 14.0;
    let lines = |i: usize| {
        let x = middle(variants, i);
        let line = move |(j, value): (usize, &String)| {
            svg::text(x, top + 15.0 + LINE * j as f64, SMALL, INK, Anchor::Middle, value)
        };
        values[i].iter().enumerate().map(line)
    };
    let most = values.iter().map(Vec::len).max().unwrap_or(0);
    ((0..values.len()).flat_map(lines).collect(), 4.0 + LINE * most as f64)
}

fn turned(variants: &[Variant], values: &[Vec<String>], top: f64) -> (Vec<Markup>, f64) {
    let (sine, cosine) = TURN;
    let mut height: f64 = 0.0;
    let label = |(i, values): (usize, &Vec<String>)| {
        let (x, whole) = (middle(variants, i), values.join(", "));
        let short = svg::shortened(&whole, SMALL, LONGEST.min(x / cosine - 8.0));
        height = height.max(svg::text_width(&short, SMALL) * sine);
        let place = format!("translate({} {}) rotate(-30)", svg::px(x + 4.0), svg::px(top + 13.0));
        html! {
            text font-size=(SMALL) fill=(INK) text-anchor="end" transform=(place) { (short) title { (whole) } }
        }
    };
    (values.iter().enumerate().map(label).collect(), height + 14.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lose_what_they_share() {
        let split = |names: &[&str]| {
            let (keys, values) = keys_and_values(names);
            let values: Vec<_> = values.iter().map(|v| v.join("|")).collect();
            format!("{keys}: {}", values.join(" "))
        };
        assert_eq!(split(&["queue = 1 BDP", "queue = 3 BDP"]), "queue: 1 BDP 3 BDP");
        assert_eq!(split(&["a = 1, b = x", "a = 2, b = y"]), "a, b: 1|x 2|y");
        assert_eq!(split(&["a = 1", "b = 1"]), ": a = 1 b = 1");
        assert_eq!(split(&["a = 1, 2", "a = 3"]), ": a = 1, 2 a = 3");
        assert_eq!(split(&[""]), ": ");
        assert_eq!(split(&[]), ": ");
    }

    #[test]
    fn a_whisker_ends_where_the_metric_does() {
        let cell = Cell {
            mean: 0.98,
            spread: Some(0.1),
            runs: None,
            shown: None,
            published: None,
            reason: None,
            open: false,
        };
        assert_eq!(upper(&cell, &"jain".into()), 1.0);
        assert_eq!(upper(&cell, &"rate_ratio".into()), 1.0);
        assert!((upper(&cell, &"goodput".into()) - 1.08).abs() < 1e-12);
    }
}

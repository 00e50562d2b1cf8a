//! Bars: ours beside the published value, one panel per metric, one pair of bars per row.

use experiment::metric::Metric;
use maud::{Markup, html};

use super::Source;
use super::axis::{Scale, extent, is_drawable};
use super::svg::{self, Anchor, Figure, SMALL, TEXT, WIDTH};
use crate::colours::{AXIS, INK, MUTED};
use crate::number;
use crate::styles::Style;
use results::summary::{Cell, Variant};

/// Height of a pair of bars.
const PAIR: f64 = 24.0;
/// Height of our bar.
const OURS: f64 = 10.0;
/// Height of the published bar.
const PUBLISHED: f64 = 7.0;

/// One figure per variant.
pub(super) fn draw(source: &Source<'_>, title: &str, metrics: &[Metric]) -> Vec<Figure> {
    let variants = &source.results.summary.variants;
    let scales: Vec<Scale> = metrics.iter().map(|m| scale(variants, m)).collect();
    let panels: Vec<_> = metrics.iter().zip(&scales).collect();
    variants.iter().map(|v| figure(source, title, v, &panels)).collect()
}

fn scale(variants: &[Variant], metric: &Metric) -> Scale {
    let cells = variants.iter().flat_map(|v| &v.rows).filter_map(|r| r.cells.get(metric));
    let ends = cells.flat_map(|c| [c.value(), c.value() + spread(c), c.published.unwrap_or(c.value())]);
    Scale::values(extent(ends), false, 5)
}

/// The deviation over the repetitions, if it can be drawn.
pub(super) fn spread(cell: &Cell) -> f64 {
    cell.spread.filter(|spread| is_drawable(*spread)).map_or(0.0, |spread| spread.max(0.0))
}

/// Where a cell's deviation ends: it may reach beyond what can be, its whisker must not.
pub(super) fn upper(cell: &Cell, metric: &Metric) -> f64 {
    let most = metric.quantity().and_then(|quantity| quantity.most).unwrap_or(f64::INFINITY);
    (cell.value() + spread(cell)).min(most).max(cell.value())
}

fn figure(source: &Source<'_>, title: &str, variant: &Variant, panels: &[(&Metric, &Scale)]) -> Figure {
    let with_published = panels.iter().any(|(m, _)| has_published(variant, m));
    let left = label_room(variant);
    let mut top = if with_published { 26.0 } else { 6.0 };
    let mut drawn = Vec::new();
    for (metric, scale) in panels {
        let (markup, height) = panel(source, variant, metric, scale, left, top);
        drawn.push(markup);
        top += height;
    }
    let body = html! {
        @if with_published { (key()) }
        @for panel in drawn { (panel) }
        @if panels.is_empty() { (svg::nothing(WIDTH, top + 20.0, "no metrics")) }
    };
    let height = if panels.is_empty() { top + 40.0 } else { top };
    Figure {
        kind: "bars",
        title: title.to_owned(),
        variant: variant.name.clone(),
        width: WIDTH,
        height,
        body,
    }
}

fn has_published(variant: &Variant, metric: &Metric) -> bool {
    variant.rows.iter().any(|r| r.cells.get(metric).is_some_and(|c| c.published.is_some()))
}

/// Room for the row labels: what they need, but no more than a third.
fn label_room(variant: &Variant) -> f64 {
    let widest = variant.rows.iter().map(|r| svg::text_width(r.label.as_str(), TEXT)).fold(40.0, f64::max);
    widest.min(WIDTH / 3.0) + 18.0
}

/// What the two bars of a pair are.
fn key() -> Markup {
    let style = Style::plain(MUTED);
    html! {
        (bar(8.0, 7.0, 26.0, OURS, &style, true, "ours"))
        (svg::text(40.0, 16.0, TEXT, INK, Anchor::Start, "ours, with spread over repetitions"))
        (bar(268.0, 8.5, 26.0, PUBLISHED, &style, false, "published"))
        (svg::text(300.0, 16.0, TEXT, INK, Anchor::Start, "published"))
    }
}

fn panel(
    source: &Source<'_>,
    variant: &Variant,
    metric: &Metric,
    scale: &Scale,
    left: f64,
    top: f64,
) -> (Markup, f64) {
    let words = number::metric(metric);
    let rows: Vec<_> = variant.rows.iter().filter_map(|r| Some((r, r.cells.get(metric)?))).collect();
    let is_zero = |cell: &Cell| cell.value() == 0.0 && cell.published.unwrap_or(0.0) == 0.0;
    if rows.len() > 1 && rows.iter().all(|(_, cell)| is_zero(cell)) {
        // Bars without length would only take room.
        let markup = html! {
            (svg::heading(8.0, top + 14.0, &number::with_unit(&words.label, words.unit)))
            (svg::text(8.0, top + 30.0, SMALL, MUTED, Anchor::Start, "0 in every row"))
        };
        return (markup, 44.0);
    }
    let printed = rows.iter().filter_map(|(_, c)| c.published);
    let printed = number::printed_decimals(printed, words.decimals);
    let first = top + 24.0;
    let bottom = first + PAIR * rows.len().max(1) as f64 + 4.0;
    let scale = scale.on(left, WIDTH - 56.0);
    let markup = html! {
        (svg::heading(8.0, top + 14.0, &number::with_unit(&words.label, words.unit)))
        (svg::grid_x(&scale, first, bottom, true))
        @for (i, (row, cell)) in rows.iter().enumerate() {
            @let y = first + PAIR * i as f64 + 4.0;
            (svg::label(left - 8.0, y + 12.0, TEXT, Anchor::End, left - 14.0, row.label.as_str()))
            (pair(&scale, y, cell, &source.style(row.label.as_str()), (metric.decimals(cell.value()), printed)))
        }
        @if rows.is_empty() { (svg::nothing(WIDTH, first + 16.0, "no values")) }
        (svg::line(scale.at(scale.base()), first, scale.at(scale.base()), bottom, AXIS))
    };
    (markup, bottom + 30.0 - top)
}

/// Our bar, the published one under it, and their values at the right edge.
fn pair(scale: &Scale, y: f64, cell: &Cell, style: &Style, decimals: (usize, usize)) -> Markup {
    let base = scale.at(scale.base());
    let ours = number::fixed(cell.value(), decimals.0);
    let values = cell.published.map(|p| (p, number::fixed(p, decimals.1)));
    html! {
        @if is_drawable(cell.value()) {
            (bar(base, y, scale.at(cell.value()) - base, OURS, style, true, &ours))
            @if spread(cell) > 0.0 { (whisker(scale, y + OURS / 2.0, cell.value(), spread(cell))) }
        }
        (svg::text(WIDTH - 4.0, y + 8.5, SMALL - 1.0, INK, Anchor::End, &ours))
        @if let Some((value, text)) = &values {
            @if is_drawable(*value) {
                (bar(base, y + OURS + 1.0, scale.at(*value) - base, PUBLISHED, style, false, text))
            }
            (svg::text(WIDTH - 4.0, y + 18.5, SMALL - 1.0, MUTED, Anchor::End, text))
        }
    }
}

/// A bar from `x`, to the left if its length is negative; hollow if it is not ours.
fn bar(x: f64, y: f64, length: f64, height: f64, style: &Style, is_ours: bool, name: &str) -> Markup {
    let (start, length) = (x.min(x + length), length.abs());
    let (inset, opacity) = if is_ours { (0.0, "1") } else { (0.5, ".18") };
    html! {
        rect x=(svg::px(start)) y=(svg::px(y + inset)) width=(svg::px(length)) height=(svg::px(height - 2.0 * inset))
            fill=(style.colour) fill-opacity=(opacity) stroke=[(!is_ours).then_some(&style.colour)] { title { (name) } }
    }
}

fn whisker(scale: &Scale, y: f64, mean: f64, spread: f64) -> Markup {
    let (low, high) = (scale.at(mean - spread), scale.at(mean + spread));
    html! {
        (svg::line(low, y, high, y, INK))
        (svg::line(low, y - 3.0, low, y + 3.0, INK))
        (svg::line(high, y - 3.0, high, y + 3.0, INK))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert!((upper(&cell, &"goodput".into()) - 1.08).abs() < 1e-12);
    }

    #[test]
    fn a_panel_of_zeros_is_a_line_of_words() {
        let mut experiments = crate::fixture::realistic();
        for row in experiments[0].summary.variants.iter_mut().flat_map(|v| &mut v.rows) {
            row.cells.values_mut().for_each(|cell| (cell.mean, cell.published) = (0.0, None));
        }
        let palette = crate::styles::Palette::of(&experiments);
        let figures = draw(&Source::new(&experiments[0], &palette, WIDTH), "T", &["loss".into()]);
        assert!(figures[0].body.0.contains("0 in every row") && figures[0].height < 80.0);
    }
}

//! Cells of the table as lines, bars or points, along rows, variants or a varied key. There
//! is a panel per metric and facet, and a colour per series.

mod allowed;
mod frame;
mod horizontal;
mod names;
mod pen;
mod value;
mod vertical;

pub(super) use frame::Cells;

use experiment::chart::{Along, Mark, Spot};
use maud::{Markup, html};

use super::Source;
use super::svg::{self, Anchor, Figure, TEXT};
use crate::colours::{INK, MUTED};
use crate::styles::Style;
use frame::Frame;
use pen::{Pen, Slot};

/// Draws one figure of all variants, or one per variant.
pub(super) fn draw(source: &Source<'_>, chart: &Cells<'_>, together: bool) -> Vec<Figure> {
    let frame = Frame::new(source, chart, together);
    if together {
        return vec![figure(&frame, "", &chart.spots.iter().collect::<Vec<_>>())];
    }
    let variants = source.results.summary.variants.iter();
    let spots_in = |name: &str| chart.spots.iter().filter(|spot| spot.variant == name).collect::<Vec<_>>();
    variants.map(|variant| figure(&frame, &variant.name, &spots_in(&variant.name))).collect()
}

fn figure<'a>(frame: &Frame<'a>, variant: &str, spots: &[&'a Spot]) -> Figure {
    let chart = frame.chart;
    let width = if chart.is_horizontal() { svg::WIDTH } else { frame.source.width };
    let (body, height) = match chart {
        _ if chart.metrics.is_empty() => (svg::placeholder(width, 26.0, "no metrics"), 46.0),
        _ if spots.is_empty() => (svg::placeholder(width, 26.0, "no rows"), 46.0),
        _ if chart.is_horizontal() => horizontal::draw(frame, variant, spots),
        _ => vertical::draw(frame, variant, spots),
    };
    let axis = match chart.x.along {
        Along::Rows => "row",
        Along::Variants => "variant",
        Along::Key => &chart.x.name,
    };
    Figure {
        kind: format!("{}-{axis}", chart.mark.word()),
        title: chart.title.to_owned(),
        variant: variant.to_owned(),
        width,
        height,
        body,
    }
}

/// Draws the names of the colours, and the key of published bars. Returns them with their height.
fn legend(frame: &Frame<'_>, width: f64) -> (Markup, f64) {
    let entries: Vec<(&str, &Style)> = frame.entries.iter().map(|e| (e.name.as_str(), &e.style)).collect();
    let weight = if is_bars(frame) { svg::BOX } else { svg::PIECE };
    let (names, mut height) =
        if entries.len() > 1 { svg::legend(width, 4.0, &entries, weight) } else { (Markup::default(), 0.0) };
    let sources = frame.has_published.then(|| source_key(height));
    height += if frame.has_published { 22.0 } else { 0.0 };
    (html! { (names) @if let Some(key) = sources { (key) } }, height)
}

/// Reports whether the mark has a width. Such marks stand beside each other, others at their
/// number.
fn is_bars(frame: &Frame<'_>) -> bool {
    frame.chart.mark == Mark::Bar
}

/// Draws the key of a pair of bars.
fn source_key(top: f64) -> Markup {
    let style = Style::plain(MUTED);
    let scale = super::axis::Scale::exact(0.0, 1.0, 1);
    let bar = |x: f64, width: f64, is_ours: bool, name: &str| {
        let value = scale.on(x, x + 26.0);
        Pen { value: &value, is_horizontal: true }.bar(
            Slot { middle: top + 12.0, width },
            1.0,
            &style,
            is_ours,
            name,
        )
    };
    html! {
        (bar(8.0, 10.0, true, "ours"))
        (svg::text(40.0, top + 16.0, TEXT, INK, Anchor::Start, "ours, with spread over repetitions"))
        (bar(268.0, 7.0, false, "published"))
        (svg::text(300.0, top + 16.0, TEXT, INK, Anchor::Start, "published"))
    }
}

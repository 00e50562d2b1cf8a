//! Cells of the table as lines, bars or points, along rows, variants or a varied key. There
//! is a panel per metric and facet, and a colour per series.

mod allowed;
mod horizontal;
mod names;
mod pen;
mod shared;
mod value;
mod vertical;

pub(super) use shared::Cells;

use experiment::chart::{Along, Mark, Spot};
use maud::{Markup, html};

use super::Source;
use super::frame::Frame;
use super::svg::{self, Anchor, Figure, TEXT};
use crate::colours::{INK, MUTED};
use crate::styles::Style;
use pen::{Pen, Slot};
use shared::Shared;

/// Draws one figure of all variants, or one per variant.
pub(super) fn draw(source: &Source<'_>, chart: &Cells<'_>, together: bool) -> Vec<Figure> {
    let shared = Shared::new(source, chart, together);
    if together {
        return vec![figure(&shared, "", &chart.spots.iter().collect::<Vec<_>>())];
    }
    let variants = source.results.summary.variants.iter();
    let spots_in = |name: &str| chart.spots.iter().filter(|spot| spot.variant == name).collect::<Vec<_>>();
    variants.map(|variant| figure(&shared, &variant.name, &spots_in(&variant.name))).collect()
}

fn figure<'a>(shared: &Shared<'a>, variant: &str, spots: &[&'a Spot]) -> Figure {
    let chart = shared.chart;
    let width = shared.source.layout(chart.is_horizontal()).width;
    let frame = match chart {
        _ if chart.metrics.is_empty() => Frame::placeholder(width, "no metrics"),
        _ if spots.is_empty() => Frame::placeholder(width, "no rows"),
        _ if chart.is_horizontal() => horizontal::draw(shared, variant, spots),
        _ => vertical::draw(shared, variant, spots),
    };
    let axis = match chart.x.along {
        Along::Rows => "row",
        Along::Variants => "variant",
        Along::Key => &chart.x.name,
    };
    frame.figure(format!("{}-{axis}", chart.mark.word()), chart.title, variant)
}

/// Creates a frame with the names of the colours, and the key of published bars.
fn legend(shared: &Shared<'_>) -> Frame {
    let layout = shared.source.layout(shared.chart.is_horizontal());
    let entries: Vec<(&str, &Style)> = shared.entries.iter().map(|e| (e.name.as_str(), &e.style)).collect();
    let weight = if is_bars(shared) { svg::BOX } else { svg::PIECE };
    let mut frame = match entries.len() {
        0 | 1 => Frame::new(layout.width),
        _ => Frame::with_legend(layout, &entries, weight),
    };
    if shared.has_published {
        frame.draw(source_key(frame.bottom, frame.width));
        frame.bottom += 22.0;
    }
    frame
}

/// Reports whether the mark has a width. Such marks stand beside each other, others at their
/// number.
fn is_bars(shared: &Shared<'_>) -> bool {
    shared.chart.mark == Mark::Bar
}

/// Draws the key of a pair of bars.
fn source_key(top: f64, width: f64) -> Markup {
    let right = (width - svg::text_width("published", TEXT) - 36.0).min(268.0);
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
        (bar(right, 7.0, false, "published"))
        (svg::text(right + 32.0, top + 16.0, TEXT, INK, Anchor::Start, "published"))
    }
}

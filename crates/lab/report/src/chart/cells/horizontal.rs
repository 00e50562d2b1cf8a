//! Horizontal bars: one row below another, with names on the left and values on the right.

use experiment::chart::{Mark, Spot};
use maud::{Markup, html};

use super::frame::{Frame, Group, Item};
use super::legend;
use super::pen::{Pen, Slot};
use crate::chart::axis::Scale;
use crate::chart::distinct;
use crate::chart::svg::{self, Anchor, SMALL, TEXT, WIDTH};
use crate::colours::{AXIS, INK, MUTED};
use crate::number;

/// Height of a mark, without and with a published value; and the space between rows.
const EACH: (f64, f64) = (14.0, 19.0);
const BETWEEN: f64 = 5.0;
/// Width of the values on the right.
const VALUES: f64 = 56.0;

pub(super) fn draw<'a>(frame: &Frame<'a>, variant: &str, spots: &[&'a Spot]) -> (Markup, f64) {
    let left = label_room(spots);
    let (key, mut top) = legend(frame, WIDTH);
    top += 4.0;
    let mut drawn = Vec::new();
    for group in &frame.groups {
        for facet in distinct(spots.iter().map(|spot| spot.facet.as_str())) {
            let (markup, height) = panel(frame, spots, group, (variant, facet), left, top);
            drawn.push(markup);
            top += height;
        }
    }
    let remarks: Vec<String> = frame.own_scales().into_iter().collect();
    let markup = html! {
        (key)
        @for panel in drawn { (panel) }
        (svg::remarks(top + 8.0, &remarks))
    };
    (markup, top + svg::remarks_height(&remarks))
}

/// Returns the width of the row labels, at most a third of the chart.
fn label_room(spots: &[&Spot]) -> f64 {
    let widest = spots.iter().map(|spot| svg::text_width(spot.row.as_str(), TEXT)).fold(40.0, f64::max);
    widest.min(WIDTH / 3.0) + 18.0
}

fn panel<'a>(
    frame: &Frame<'a>,
    spots: &[&'a Spot],
    group: &Group<'a>,
    (variant, facet): (&str, &str),
    left: f64,
    top: f64,
) -> (Markup, f64) {
    let items = frame.items(spots, group, Some(facet));
    let heading =
        if facet.is_empty() { group.heading.clone() } else { format!("{}; {facet}", group.heading) };
    let heading = svg::shortened(&heading, TEXT * 1.06, WIDTH - 12.0);
    let is_zero = |item: &Item<'_>| item.value.centre == 0.0 && item.value.published.unwrap_or(0.0) == 0.0;
    if frame.chart.mark == Mark::Bar && items.len() > 1 && items.iter().all(is_zero) {
        // Bars without length would waste space.
        let markup = html! {
            (svg::heading(8.0, top + 14.0, &heading))
            (svg::text(8.0, top + 30.0, SMALL, MUTED, Anchor::Start, "0 in every row"))
        };
        return (markup, 44.0);
    }
    let rows = distinct(items.iter().map(|item| item.spot.row.as_str()));
    let each = if frame.has_published { EACH.1 } else { EACH.0 };
    let colours = if rows.len() == items.len() { 1 } else { frame.entries.len() };
    let pitch = each * colours as f64 + BETWEEN;
    let first = top + 24.0;
    let bottom = first + pitch * rows.len().max(1) as f64 + 4.0;
    let scale = group.scale_in(variant, facet).on(left, WIDTH - VALUES);
    let pen = Pen { value: &scale, is_horizontal: true };
    let markup = html! {
        (svg::heading(8.0, top + 14.0, &heading))
        (svg::grid_x(&scale, first, bottom, true))
        @for (i, row) in rows.iter().enumerate() {
            @let start = first + pitch * i as f64 + 4.0;
            (svg::label(left - 8.0, start + (pitch - BETWEEN) / 2.0 + 4.0, TEXT, Anchor::End, left - 14.0, row))
            @for item in items.iter().filter(|item| item.spot.row == *row) {
                @let place = if colours == 1 { 0 } else { item.entry };
                (one(frame, &pen, item, start + each * place as f64, each))
            }
        }
        @if items.is_empty() { (svg::placeholder(WIDTH, first + 16.0, "no values")) }
        (svg::line(base(&scale), first, base(&scale), bottom, AXIS))
    };
    (markup, bottom + 30.0 - top)
}

fn base(scale: &Scale) -> f64 {
    scale.at(scale.base())
}

/// Draws a mark with the published value below it, and both as numbers at the right edge.
fn one(frame: &Frame<'_>, pen: &Pen<'_>, item: &Item<'_>, top: f64, height: f64) -> Markup {
    let (style, name) = (frame.style(item), frame.words(item));
    let whole = Slot { middle: top + height / 2.0, width: height - 2.0 };
    let (ours, theirs) = if frame.has_published { whole.halves() } else { (whole, whole) };
    let decimals = item.metric.decimals(item.value.centre);
    let value = number::fixed(item.value.centre, decimals);
    let published = item.value.published.filter(|_| frame.has_published);
    html! {
        (svg::text(WIDTH - 4.0, ours.middle + 3.5, SMALL - 1.0, INK, Anchor::End, &value))
        @if frame.chart.mark == Mark::Bar {
            (pen.bar(ours, item.value.centre, &style, true, &name))
            @if let Some(spread) = item.value.spread { (pen.whisker(ours.middle, 3.0, spread)) }
        } @else {
            (pen.point(ours.middle, item.value.centre, item.value.spread, &style, &name))
        }
        @if let Some(value) = published {
            (pen.bar(theirs, value, &style, false, &Frame::published_words(item, value)))
            (svg::text(WIDTH - 4.0, theirs.middle + 4.5, SMALL - 1.0, MUTED, Anchor::End, &printed(frame, item, value)))
        }
    }
}

/// Formats a published value with as many decimals as the source prints in its column.
fn printed(frame: &Frame<'_>, item: &Item<'_>, value: f64) -> String {
    let column = frame.chart.spots.iter().filter_map(|spot| frame.source.cell(spot, item.metric)?.published);
    number::fixed(value, number::printed_decimals(column, number::metric(item.metric).decimals))
}

//! Horizontal bars: one row below another, with names on the left and values on the right.

use experiment::chart::{Mark, Spot};
use maud::{Markup, html};

use super::legend;
use super::pen::{Pen, Slot};
use super::shared::{Group, Item, Shared};
use crate::chart::axis::Scale;
use crate::chart::frame::Frame;
use crate::chart::svg::{self, Anchor, SMALL, TEXT};
use crate::colours::{AXIS, INK, MUTED};
use crate::distinct::distinct;
use crate::number;

/// Height of a mark, without and with a published value; and the space between rows.
const EACH: (f64, f64) = (14.0, 19.0);
const BETWEEN: f64 = 5.0;
/// Width of the values on the right.
const VALUES: f64 = 56.0;

pub(super) fn draw<'a>(shared: &Shared<'a>, variant: &str, spots: &[&'a Spot]) -> Frame {
    let mut frame = legend(shared);
    frame.bottom += 4.0;
    frame.sides = (label_room(spots, frame.width), frame.width - VALUES);
    for group in &shared.groups {
        for facet in distinct(spots.iter().map(|spot| spot.facet.as_str())) {
            panel(&mut frame, shared, spots, group, (variant, facet));
        }
    }
    frame.remarks(0.0, &shared.own_scales().into_iter().collect::<Vec<_>>());
    frame
}

/// Returns the width of the row labels, at most a third of the chart.
fn label_room(spots: &[&Spot], width: f64) -> f64 {
    let widest = spots.iter().map(|spot| svg::text_width(spot.row.as_str(), TEXT)).fold(40.0, f64::max);
    widest.min(width / 3.0) + 18.0
}

fn panel<'a>(
    frame: &mut Frame,
    shared: &Shared<'a>,
    spots: &[&'a Spot],
    group: &Group<'a>,
    (variant, facet): (&str, &str),
) {
    let top = frame.bottom;
    let items = shared.items(spots, group, Some(facet));
    let heading =
        if facet.is_empty() { group.heading.clone() } else { format!("{}; {facet}", group.heading) };
    let heading = svg::shortened(&heading, TEXT * 1.06, frame.width - 12.0);
    let is_zero = |item: &Item<'_>| item.value.centre == 0.0 && item.value.published.unwrap_or(0.0) == 0.0;
    if shared.chart.mark == Mark::Bar && items.len() > 1 && items.iter().all(is_zero) {
        // Bars without length would waste space.
        frame.draw(svg::heading(8.0, top + 14.0, &heading));
        frame.draw(svg::text(8.0, top + 30.0, SMALL, MUTED, Anchor::Start, "0 in every row"));
        frame.bottom += 44.0;
        return;
    }
    let rows = distinct(items.iter().map(|item| item.spot.row.as_str()));
    let each = if shared.has_published { EACH.1 } else { EACH.0 };
    let colours = if rows.len() == items.len() { 1 } else { shared.entries.len() };
    let pitch = each * colours as f64 + BETWEEN;
    let first = top + 24.0;
    let bottom = first + pitch * rows.len().max(1) as f64 + 4.0;
    let (left, right) = frame.sides;
    let scale = group.scale_in(variant, facet).on(left, right);
    let pen = Pen { value: &scale, is_horizontal: true };
    frame.draw(html! {
        (svg::heading(8.0, top + 14.0, &heading))
        (svg::grid_x(&scale, first, bottom, true))
        @for (i, row) in rows.iter().enumerate() {
            @let start = first + pitch * i as f64 + 4.0;
            (svg::label(left - 8.0, start + (pitch - BETWEEN) / 2.0 + 4.0, TEXT, Anchor::End, left - 14.0, row))
            @for item in items.iter().filter(|item| item.spot.row == *row) {
                @let place = if colours == 1 { 0 } else { item.entry };
                (one(shared, &pen, item, start + each * place as f64, each))
            }
        }
        @if items.is_empty() { (svg::placeholder(frame.width, first + 16.0, "no values")) }
        (svg::line(base(&scale), first, base(&scale), bottom, AXIS))
    });
    frame.bottom = bottom + 30.0;
}

fn base(scale: &Scale) -> f64 {
    scale.at(scale.base())
}

/// Draws a mark with the published value below it, and both as numbers at the right edge.
fn one(shared: &Shared<'_>, pen: &Pen<'_>, item: &Item<'_>, top: f64, height: f64) -> Markup {
    let (ours, theirs) = shared.slots(Slot { middle: top + height / 2.0, width: height - 2.0 });
    let value = number::fixed(item.value.centre, item.metric.decimals(item.value.centre));
    let edge = pen.value.right() + VALUES - 4.0;
    let number =
        |y: f64, colour: &str, text: &str| svg::text(edge, y, SMALL - 1.0, colour, Anchor::End, text);
    html! {
        (number(ours.middle + 3.5, INK, &value))
        (shared.mark(pen, item, (ours, theirs), 3.0))
        @if let Some(value) = shared.published(item) {
            (number(theirs.middle + 4.5, MUTED, &printed(shared, item, value)))
        }
    }
}

/// Formats a published value with as many decimals as the source prints in its column.
fn printed(shared: &Shared<'_>, item: &Item<'_>, value: f64) -> String {
    let column =
        shared.chart.spots.iter().filter_map(|spot| shared.source.cell(spot, item.metric)?.published);
    number::fixed(value, number::printed_decimals(column, number::metric(item.metric).decimals))
}

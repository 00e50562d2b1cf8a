//! Vertical charts: variants or values of a key side by side, values upwards, panels in a grid.

use experiment::chart::{Along, Mark, ScaleKind, Spot};
use maud::{Markup, html};

use super::allowed;
use super::names::Names;
use super::pen::{Pen, Slot};
use super::shared::{Group, Item, Shared};
use super::{is_bars, legend};
use crate::chart::axis::{Scale, extent, is_drawable};
use crate::chart::frame::{Frame, Plot};
use crate::chart::svg::{self, Anchor, SMALL, TEXT, WIDTH};
use crate::chart::{path, reference};
use crate::distinct::distinct;
use crate::number;
use crate::variants::keys_and_values;

/// Space left and right of a panel, above it with and without a name, and below it.
const SIDES: (f64, f64) = (50.0, 12.0);
const OVER: (f64, f64) = (18.0, 10.0);
const UNDER: f64 = 22.0;
/// Height of a plot alone in its row, and beside others.
const HEIGHT: (f64, f64) = (170.0, 130.0);
/// Columns of facets in a column and across a page, and the most facets shown.
const COLUMNS: (usize, usize) = (2, 4);
const MOST_FACETS: usize = 24;
/// Smallest distance in pixels of ticks at the values themselves.
const BETWEEN: f64 = 22.0;
/// Share of a place that its marks fill, and the widest bar.
const FILLED: f64 = 0.8;
const WIDEST: f64 = 34.0;

/// The places of values side by side, with their names.
struct Places {
    at: Vec<f64>,
    names: Vec<Vec<String>>,
}

enum Axis {
    Side(Places),
    Numbers,
}

/// A figure while it is drawn.
struct Picture<'p, 'a> {
    shared: &'p Shared<'a>,
    variant: &'p str,
    spots: &'p [&'a Spot],
    axis: Axis,
    /// Name of the x axis, under the panels.
    name: String,
    facets: Vec<&'a str>,
    columns: usize,
    width: f64,
}

pub(super) fn draw<'a>(shared: &Shared<'a>, variant: &str, spots: &[&'a Spot]) -> Frame {
    let mut facets = distinct(spots.iter().map(|spot| spot.facet.as_str()));
    let hidden = facets.len().saturating_sub(MOST_FACETS);
    facets.truncate(MOST_FACETS);
    let most = if shared.source.width > WIDTH { COLUMNS.1 } else { COLUMNS.0 };
    let columns = facets.len().clamp(1, most);
    let (axis, name) = axis(shared, spots);
    let frame = legend(shared);
    let width = frame.width;
    Picture { shared, variant, spots, axis, name, facets, columns, width }.body(frame, hidden)
}

/// Chooses the axis. Numbers keep their distances, unless marks have a width.
fn axis(shared: &Shared<'_>, spots: &[&Spot]) -> (Axis, String) {
    let x = shared.chart.x;
    let name = number::with_unit(&x.name, &x.unit);
    if x.words.is_empty() && !is_bars(shared) {
        return (Axis::Numbers, name);
    }
    let mut at: Vec<f64> = spots.iter().filter_map(|spot| spot.at.first().copied()).collect();
    at.sort_by(f64::total_cmp);
    at.dedup();
    let word = |value: &f64| x.words.get(*value as usize).cloned().unwrap_or_else(|| number::plain(*value));
    let words: Vec<String> = at.iter().map(word).collect();
    if x.along != Along::Variants {
        return (Axis::Side(Places { at, names: words.into_iter().map(|word| vec![word]).collect() }), name);
    }
    let (keys, names) = keys_and_values(&words.iter().map(String::as_str).collect::<Vec<_>>());
    (Axis::Side(Places { at, names }), keys)
}

impl<'a> Picture<'_, 'a> {
    fn body(&self, mut frame: Frame, hidden: usize) -> Frame {
        for group in &self.shared.groups {
            frame.draw(self.heading(group, frame.bottom + 17.0));
            frame.bottom += 20.0;
            for (i, facets) in self.facets.chunks(self.columns).enumerate() {
                let is_last = (i + 1) * self.columns >= self.facets.len();
                self.row(&mut frame, group, facets, is_last);
            }
        }
        frame.sides = (SIDES.0, self.width - SIDES.1);
        let name = svg::shortened(&self.name, TEXT, self.width - SIDES.0 - SIDES.1);
        if !name.is_empty() {
            frame.x_name(12.0, &name);
        }
        frame.remarks(if name.is_empty() { 0.0 } else { 22.0 }, &self.remarks(hidden));
        frame
    }

    /// Draws the heading of a group, and on the right the name of its reference line.
    fn heading(&self, group: &Group<'a>, y: f64) -> Markup {
        let is_shown = |facet: &&str| {
            let scale = group.scale_in(self.variant, facet);
            self.allowed(group, facet).iter().flat_map(allowed::Line::values).any(|value| scale.has(value))
        };
        let name = group.metrics.first().and_then(|(metric, _)| allowed::name(metric));
        let name = name.filter(|_| self.facets.iter().any(is_shown));
        let right = self.width - SIDES.1;
        let space = right - name.map_or(0.0, |name| svg::text_width(name, SMALL) + 40.0);
        html! {
            (svg::heading(8.0, y, &svg::shortened(&group.heading, TEXT * 1.06, space)))
            @if let Some(name) = name { (reference::key(right, y, name)) }
        }
    }

    /// Returns the network's limits in a panel.
    fn allowed(&self, group: &Group<'a>, facet: &str) -> Vec<allowed::Line> {
        let spots: Vec<&Spot> = self.spots.iter().copied().filter(|spot| spot.facet == facet).collect();
        self.shared.allowed(&spots, group)
    }

    /// Draws a row of panels.
    fn row(&self, frame: &mut Frame, group: &Group<'a>, facets: &[&str], is_last: bool) {
        let over = if facets.iter().any(|facet| !facet.is_empty()) { OVER.0 } else { OVER.1 };
        let height = if self.facets.len() > 1 { HEIGHT.1 } else { HEIGHT.0 };
        let (top, bottom) = (frame.bottom + over, frame.bottom + over + height);
        let space = self.width / self.columns as f64;
        // A single column of panels has names only under the last one.
        let is_named = self.columns > 1 || is_last_of(self, group, is_last);
        frame.bottom = bottom + UNDER;
        for (i, facet) in facets.iter().enumerate() {
            let left = space * i as f64 + SIDES.0;
            let right = left + space - SIDES.0 - SIDES.1;
            if !facet.is_empty() {
                frame.draw(svg::label(left, top - 5.0, SMALL, Anchor::Start, right - left, facet));
            }
            frame.draw(self.panel(group, facet, (left, right), (top, bottom)));
            if let Some((names, height)) = self.names((left, right), bottom).filter(|_| is_named) {
                frame.draw(names);
                frame.bottom = frame.bottom.max(bottom + height + 8.0);
            }
        }
    }

    fn names(&self, (left, right): (f64, f64), bottom: f64) -> Option<(Markup, f64)> {
        let Axis::Side(places) = &self.axis else { return None };
        let space = (right - left) / places.at.len().max(1) as f64;
        let middles: Vec<f64> = (0..places.at.len()).map(|i| left + space * (i as f64 + 0.5)).collect();
        Some(Names { lines: &places.names, middles: &middles, space }.under(bottom))
    }

    fn panel(
        &self,
        group: &Group<'a>,
        facet: &str,
        (left, right): (f64, f64),
        (top, bottom): (f64, f64),
    ) -> Markup {
        let items = self.shared.items(self.spots, group, Some(facet));
        let y = group.scale_in(self.variant, facet).on(bottom, top);
        let pen = Pen { value: &y, is_horizontal: false };
        match &self.axis {
            Axis::Side(places) => html! {
                (svg::grid_y(&y, left, right))
                (svg::x_axis_line(left, right, bottom))
                @for item in &items { (self.beside(&pen, item, places, (left, right))) }
            },
            Axis::Numbers => {
                let plot = Plot { x: self.x_scale(left, right), y: y.clone() };
                let x = &plot.x;
                let inner = html! {
                    (plot.grid(true))
                    (plot.axis())
                    @if let Some(name) = group.metrics.first().and_then(|(metric, _)| allowed::name(metric)) {
                        (allowed::draw(&self.allowed(group, facet), name, x, &y))
                    }
                    @for entry in 0..self.shared.entries.len() {
                        (self.along(&pen, x, &items.iter().filter(|item| item.entry == entry).collect::<Vec<_>>()))
                    }
                };
                svg::plot_at(x, &y, &self.values(), &inner)
            }
        }
    }

    /// Returns the values that were run, in ascending order.
    fn values(&self) -> Vec<f64> {
        let all = self.spots.iter().filter_map(|spot| spot.at.first().copied());
        let mut values: Vec<f64> = all.filter(|value| is_drawable(*value)).collect();
        values.sort_by(f64::total_cmp);
        values.dedup();
        values
    }

    fn x_scale(&self, left: f64, right: f64) -> Scale {
        let axis = self.shared.chart.x;
        let values = self.values();
        let (low, high) = extent(values.iter().copied()).unwrap_or((0.0, 1.0));
        let scale = match axis.scale {
            ScaleKind::Log if low > 0.0 => Scale::log(low, high),
            _ => Scale::nice(low.min(if low < 0.4 * high { 0.0 } else { low }), high, 5),
        };
        let scale = scale.in_unit(&axis.unit).on(left, right);
        let places: Vec<f64> = values.iter().map(|value| scale.at(*value)).collect();
        if places.windows(2).all(|w| w[1] - w[0] >= BETWEEN) { scale.marked(values) } else { scale }
    }

    /// Draws a mark at its place, beside those of other colours.
    fn beside(&self, pen: &Pen<'_>, item: &Item<'_>, places: &Places, (left, right): (f64, f64)) -> Markup {
        let space = (right - left) / places.at.len().max(1) as f64;
        let Some(place) = places.at.iter().position(|at| *at == item.at()) else { return Markup::default() };
        let colours = self.shared.entries.len().max(1) as f64;
        let width = (FILLED * space / colours).min(WIDEST);
        let middle = left + space * (place as f64 + 0.5) + width * (item.entry as f64 + 0.5 - colours / 2.0);
        let slot = Slot { middle, width: width - if width > 6.0 { 2.0 } else { 0.0 } };
        let slots = self.shared.slots(slot);
        self.shared.mark(pen, item, slots, (slots.0.width / 4.0).min(3.0))
    }

    /// Draws the values of a colour at their numbers: a line with its band, or points.
    fn along(&self, pen: &Pen<'_>, x: &Scale, items: &[&Item<'_>]) -> Markup {
        let mut items: Vec<&Item<'_>> = items.iter().copied().filter(|item| is_drawable(item.at())).collect();
        items.sort_by(|a, b| a.at().total_cmp(&b.at()));
        let Some(first) = items.first() else { return Markup::default() };
        let (style, name) = (self.shared.style(first), &self.shared.entries[first.entry].name);
        let at = |item: &Item<'_>, value: f64| pen.at(x.at(item.at()), value);
        let is_joined = self.shared.chart.mark == Mark::Line;
        let line = path::polyline(items.iter().map(|item| Some(at(item, item.value.centre))));
        let ends = |item: &Item<'_>| item.value.spread.unwrap_or((item.value.centre, item.value.centre));
        let above = items.iter().map(|item| at(item, ends(item).1));
        let below = items.iter().rev().map(|item| at(item, ends(item).0));
        let has_band = is_joined && items.iter().any(|item| item.value.spread.is_some());
        html! {
            g data-series=(name) {
                @if has_band {
                    path d=(path::outline(above.chain(below))) fill=(style.colour) fill-opacity=".16" stroke="none" {}
                }
                @if is_joined && !line.is_empty() { (svg::curve(&line, &style, 1.6, name)) }
                @for item in &items {
                    @let spread = item.value.spread.filter(|_| !is_joined);
                    (pen.point(x.at(item.at()), item.value.centre, spread, &style, &self.shared.words(item)))
                }
            }
        }
    }

    /// Returns remarks on values that a logarithmic axis cannot show.
    fn without_place(&self) -> Vec<String> {
        let chart = self.shared.chart;
        let is_numbers = matches!(self.axis, Axis::Numbers);
        let x =
            is_numbers && chart.x.scale == ScaleKind::Log && self.values().iter().any(|value| *value <= 0.0);
        let low = |group: &Group<'a>| {
            self.shared.items(self.spots, group, None).iter().any(|item| item.value.centre <= 0.0)
        };
        let y = chart.y_scale == ScaleKind::Log && self.shared.groups.iter().any(low);
        let texts = [
            (x, "The x axis is linear: a logarithmic axis cannot show 0."),
            (y, "The logarithmic y axis cannot show 0: it is drawn at the lower end."),
        ];
        texts.into_iter().filter(|(is_so, _)| *is_so).map(|(_, text)| text.to_owned()).collect()
    }

    fn remarks(&self, hidden: usize) -> Vec<String> {
        let has_spread = self.shared.groups.iter().any(|group| {
            self.shared.items(self.spots, group, None).iter().any(|item| item.value.spread.is_some())
        });
        let spread = match (&self.axis, self.shared.chart.mark) {
            (Axis::Numbers, Mark::Line) => "Bands: ± one std. dev. of the repetitions.",
            _ => "Whiskers: ± one std. dev. of the repetitions.",
        };
        let mut remarks: Vec<String> = has_spread.then(|| spread.to_owned()).into_iter().collect();
        remarks.extend(self.shared.own_scales());
        remarks.extend(self.without_place());
        if hidden > 0 {
            remarks.push(format!("{hidden} more panels are not shown."));
        }
        remarks
    }
}

/// Reports whether these are the lowest panels of a figure.
fn is_last_of(picture: &Picture<'_, '_>, group: &Group<'_>, is_last: bool) -> bool {
    is_last && picture.shared.groups.last().is_some_and(|last| std::ptr::eq(last, group))
}

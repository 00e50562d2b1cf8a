//! Metrics over a varied key: a panel per metric and facet, a line per series, the deviation over the repetitions as a band.

use experiment::metric::Metric;
use maud::{Markup, html};

use super::axis::{Scale, extent, is_drawable};
use super::bars::spread;
use super::svg::{self, Anchor, Figure, SMALL, WIDTH};
use super::{Source, path};
use crate::colours::{INK, MUTED};
use crate::number;
use crate::styles::Style;
use experiment::chart::{Axis, ScaleKind, Spot};
use results::summary::Cell;

/// Room at the left of a panel, over it, and under it.
const ROOM: (f64, f64, f64) = (50.0, 18.0, 22.0);
/// Height of a plot alone in its row and beside others.
const HEIGHT: (f64, f64) = (190.0, 130.0);
/// Columns of facets in a column and across a page; and facets that are shown at all.
const COLUMNS: (usize, usize) = (2, 4);
const MOST_FACETS: usize = 24;
/// Pixels between two ticks at the values themselves.
const BETWEEN: f64 = 22.0;

/// What to draw.
pub(super) struct Chart<'a> {
    pub(super) title: &'a str,
    pub(super) x: &'a Axis,
    pub(super) metrics: &'a [Metric],
    pub(super) y_scale: ScaleKind,
    pub(super) spots: &'a [Spot],
}

/// Its series, facets and look.
struct Frame<'a> {
    source: &'a Source<'a>,
    chart: &'a Chart<'a>,
    series: Vec<(&'a str, Style)>,
    facets: Vec<&'a str>,
    columns: usize,
}

/// One figure of all variants.
pub(super) fn draw(source: &Source<'_>, chart: &Chart<'_>) -> Vec<Figure> {
    let mut facets = distinct(chart.spots.iter().map(|spot| spot.facet.as_str()));
    let hidden = facets.len().saturating_sub(MOST_FACETS);
    facets.truncate(MOST_FACETS);
    let most = if source.width > WIDTH { COLUMNS.1 } else { COLUMNS.0 };
    let columns = facets.len().clamp(1, most);
    let frame = Frame { source, chart, series: series(source, chart.spots), facets, columns };
    let (body, height) = frame.body(hidden);
    let (title, variant) = (chart.title.to_owned(), String::new());
    vec![Figure { kind: "line", title, variant, width: source.width, height, body }]
}

/// Each once, in order.
pub(super) fn distinct<'a>(all: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut known: Vec<&str> = Vec::new();
    for word in all {
        if !known.contains(&word) {
            known.push(word);
        }
    }
    known
}

/// Series that are rows look like those in all charts.
fn series<'a>(source: &Source<'_>, spots: &'a [Spot]) -> Vec<(&'a str, Style)> {
    let names = distinct(spots.iter().map(|spot| spot.series.as_str()));
    let row =
        |name: &&str| spots.iter().find(|spot| spot.series == **name).map_or("", |spot| spot.row.as_str());
    let rows: Vec<&str> = names.iter().map(row).collect();
    if rows == names {
        return names.into_iter().map(|name| (name, source.style(name))).collect();
    }
    let algorithms: Vec<&str> = rows.iter().map(|row| source.algorithm(row)).collect();
    names.into_iter().zip(source.palette.styles(&algorithms)).collect()
}

/// A point of a line.
struct Point<'a> {
    at: f64,
    cell: &'a Cell,
}

impl<'a> Frame<'a> {
    fn cell(&self, spot: &Spot, metric: &Metric) -> Option<&'a Cell> {
        let variant = self.source.results.summary.variants.iter().find(|v| v.name == spot.variant)?;
        let row = variant.rows.iter().find(|row| row.label == spot.row)?;
        row.cells.get(metric).filter(|cell| is_drawable(cell.value()))
    }

    /// The points of a line from left to right.
    fn points(&self, facet: &str, series: &str, metric: &Metric) -> Vec<Point<'a>> {
        let mine = self.chart.spots.iter().filter(|spot| spot.facet == facet && spot.series == series);
        let mut points: Vec<_> = mine
            .filter_map(|spot| Some(Point { at: *spot.at.first()?, cell: self.cell(spot, metric)? }))
            .filter(|point| is_drawable(point.at))
            .collect();
        points.sort_by(|a, b| a.at.total_cmp(&b.at));
        points
    }

    fn body(&self, hidden: usize) -> (Markup, f64) {
        let width = self.source.width;
        let entries: Vec<_> = self.series.iter().map(|(name, style)| (*name, style)).collect();
        let (legend, mut top) = if entries.len() > 1 {
            svg::legend(width, 4.0, &entries, svg::PIECE)
        } else {
            (Markup::default(), 0.0)
        };
        let mut drawn = Vec::new();
        for metric in self.chart.metrics {
            let words = number::metric(metric);
            drawn.push(svg::heading(8.0, top + 17.0, &number::with_unit(&words.label, words.unit)));
            top += 20.0;
            let y = self.y_scale(metric);
            let height = if self.facets.len() > 1 { HEIGHT.1 } else { HEIGHT.0 };
            for (i, facet) in self.facets.iter().enumerate() {
                let room = width / self.columns as f64;
                let left = room * (i % self.columns) as f64 + ROOM.0;
                let bottom = top + ROOM.1 + height;
                drawn.push(self.panel(
                    metric,
                    facet,
                    (left, left + room - ROOM.0 - 12.0),
                    (top + ROOM.1, bottom),
                    &y,
                ));
                if (i + 1) % self.columns == 0 || i + 1 == self.facets.len() {
                    top = bottom + ROOM.2;
                }
            }
        }
        let (axis, remark) = (self.axis_name(), self.remark(hidden));
        let markup = html! {
            (legend)
            @for part in drawn { (part) }
            (svg::axis_name(ROOM.0, width - 12.0, top + 12.0, &axis))
            @if !remark.is_empty() { (svg::text(8.0, top + 30.0, SMALL, MUTED, Anchor::Start, &remark)) }
        };
        (markup, top + if remark.is_empty() { 22.0 } else { 40.0 })
    }

    fn axis_name(&self) -> String {
        number::with_unit(&self.chart.x.name, &self.chart.x.unit)
    }

    fn remark(&self, hidden: usize) -> String {
        let cells = self
            .chart
            .spots
            .iter()
            .flat_map(|s| self.chart.metrics.iter().filter_map(move |m| self.cell(s, m)));
        let band = if cells.map(spread).any(|spread| spread > 0.0) {
            "Bands: ± one std. dev. of the repetitions. "
        } else {
            ""
        };
        let rest = if hidden > 0 { format!("{hidden} more panels are left out.") } else { String::new() };
        format!("{band}{rest}").trim().to_owned()
    }

    fn y_scale(&self, metric: &Metric) -> Scale {
        let cells = || self.chart.spots.iter().filter_map(|spot| self.cell(spot, metric));
        let above_zero = cells().map(Cell::value).filter(|value| *value > 0.0);
        match self.chart.y_scale {
            ScaleKind::Log => {
                let (low, high) = extent(above_zero).unwrap_or((1.0, 10.0));
                Scale::log(low, high)
            }
            ScaleKind::Linear => Scale::values(
                extent(cells().flat_map(|cell| [cell.value(), super::bars::upper(cell, metric)])),
                false,
                4,
            ),
        }
    }

    fn x_scale(&self, left: f64, right: f64) -> Scale {
        let axis = self.chart.x;
        if !axis.words.is_empty() {
            return Scale::exact(-0.5, axis.words.len() as f64 - 0.5, axis.words.len()).on(left, right);
        }
        let mut values: Vec<f64> =
            self.chart.spots.iter().filter_map(|spot| spot.at.first().copied()).collect();
        values.sort_by(f64::total_cmp);
        values.dedup();
        let (low, high) = extent(values.iter().copied()).unwrap_or((0.0, 1.0));
        let scale = match axis.scale {
            ScaleKind::Log => Scale::log(low, high),
            ScaleKind::Linear => Scale::nice(low.min(if low < 0.4 * high { 0.0 } else { low }), high, 5),
        };
        let scale = scale.on(left, right);
        let places: Vec<f64> = values.iter().map(|value| scale.at(*value)).collect();
        if places.windows(2).all(|w| w[1] - w[0] >= BETWEEN) { scale.marked(values) } else { scale }
    }

    fn panel(
        &self,
        metric: &Metric,
        facet: &str,
        (left, right): (f64, f64),
        (top, bottom): (f64, f64),
        y: &Scale,
    ) -> Markup {
        let (x, y) = (self.x_scale(left, right), y.on(bottom, top));
        let inner = html! {
            @if self.chart.x.words.is_empty() { (svg::grid_x(&x, top, bottom, true)) }
            (svg::grid_y(&y, left, right))
            (svg::floor(left, right, bottom))
            @for (name, style) in &self.series {
                (self.curve(&self.points(facet, name, metric), name, style, metric, (&x, &y)))
            }
        };
        html! {
            @if !facet.is_empty() { (svg::label(left, top - 5.0, SMALL, Anchor::Start, right - left, facet)) }
            (self.words(&x, bottom))
            (svg::plot(&x, &y, &inner))
        }
    }

    /// Of an axis without numbers.
    fn words(&self, x: &Scale, bottom: f64) -> Markup {
        let words = &self.chart.x.words;
        let room = (x.right() - x.left()) / words.len().max(1) as f64 - 4.0;
        html! {
            @for (i, word) in words.iter().enumerate() {
                (svg::label(x.at(i as f64), bottom + 15.0, SMALL, Anchor::Middle, room, word))
            }
        }
    }

    /// The line, its band, and a marker for each value.
    fn curve(
        &self,
        points: &[Point<'_>],
        name: &str,
        style: &Style,
        metric: &Metric,
        (x, y): (&Scale, &Scale),
    ) -> Markup {
        let at = |point: &Point<'_>, value: f64| (x.at(point.at), y.at(value));
        let line = path::polyline(points.iter().map(|p| Some(at(p, p.cell.value()))));
        let above = points.iter().map(|p| at(p, super::bars::upper(p.cell, metric)));
        let below = points.iter().rev().map(|p| at(p, p.cell.value() - spread(p.cell)));
        let has_band = points.iter().any(|p| spread(p.cell) > 0.0);
        let is_joined = self.chart.x.words.is_empty();
        let unit = metric.unit();
        html! {
            g data-series=(name) {
                @if has_band && is_joined {
                    path d=(path::outline(above.chain(below))) fill=(style.colour) fill-opacity=".16" stroke="none" {}
                }
                @if is_joined && !line.is_empty() { (svg::curve(&line, style, 1.6, name)) }
                @for point in points {
                    @if has_band && !is_joined { (whisker(point, x, y, metric)) }
                    (svg::marker(at(point, point.cell.value()), style, &self.words_of(point, name, metric, unit)))
                }
            }
        }
    }

    /// `cubic at 0.5 BDP: 9.2 ± 0.1 Mbit/s`.
    fn words_of(&self, point: &Point<'_>, name: &str, metric: &Metric, unit: &str) -> String {
        let axis = self.chart.x;
        let place = match axis.words.get(point.at as usize) {
            Some(word) => word.clone(),
            None => format!("{} {}", point.at, axis.unit).trim().to_owned(),
        };
        let decimals = metric.decimals(point.cell.value());
        let fixed = |value| number::fixed(value, decimals);
        let deviation = point.cell.spread.map(|spread| format!(" ± {}", fixed(spread))).unwrap_or_default();
        let name = if name.is_empty() { String::new() } else { format!("{name} at ") };
        format!("{name}{place}: {}{deviation} {unit}", fixed(point.cell.value())).trim().to_owned()
    }
}

fn whisker(point: &Point<'_>, x: &Scale, y: &Scale, metric: &Metric) -> Markup {
    let (value, deviation) = (point.cell.value(), spread(point.cell));
    let (top, bottom) = (y.at(super::bars::upper(point.cell, metric)), y.at(value - deviation));
    svg::line(x.at(point.at), top, x.at(point.at), bottom, INK)
}

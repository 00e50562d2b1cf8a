//! A metric against another: the flows of each row, their mean, and their spread. A metric that
//! flows do not have, like the use of a link, is a point per row. Times fall to the right, as
//! papers draw them since Remy: the best corner is the top right.

use experiment::chart::{Colour, ScaleKind};
use experiment::metric::Metric;
use experiment::row::RowLabel;
use maud::{Markup, html};

use super::axis::{Scale, extent, is_drawable};
use super::ellipse::Ellipse;
use super::frame::{Frame, Plot};
use super::kinds::{Kind, Kinds, distinct};
use super::place::{self, Area};
use super::svg::{self, Anchor, Figure, SMALL, TEXT};
use super::{Source, path, reference, sharing, wanted};
use crate::colours::{MUTED, PAPER};
use crate::number;
use results::network::{Course, Network};
use results::summary::{Cell, FlowRow, Variant};

const LEFT: f64 = 50.0;
/// Distance of the plot from the right edge.
const RIGHT: f64 = 14.0;
const TOP: f64 = 24.0;
const BOTTOM: f64 = TOP + 270.0;
/// Smallest span of an RTT axis, as a share of its highest value.
const LEAST_SPAN: f64 = 0.2;
/// Smallest share of the width for all clouds of a figure.
const SMALL_PART: f64 = 0.3;
/// Number of base RTTs beyond which the axis begins at the flows.
const MOST_RTT: f64 = 4.0;
/// A line that would stretch an axis by more than this is left out.
const NEAR: f64 = 1.3;
/// Most dots that labels avoid. All of them would take long and leave no place anyway.
const MOST_OBSTACLES: usize = 4000;

/// The flows of a row and a kind, in all repetitions.
struct Cloud<'a> {
    row: &'a str,
    kind: Kind<'a>,
    points: Vec<(f64, f64)>,
    ellipse: Ellipse,
}

impl Cloud<'_> {
    /// Returns the points that must be visible. A logarithmic scale has no ellipse.
    fn outline(&self, chart: &Points<'_>) -> impl Iterator<Item = (f64, f64)> {
        let ellipse = Some(&self.ellipse).filter(|_| chart.is_linear() && self.points.len() > 1);
        self.points.iter().copied().chain(ellipse.into_iter().flat_map(Ellipse::outline))
    }
}

/// The metrics of the x and y axes with their scales.
pub(super) struct Points<'a> {
    pub(super) title: &'a str,
    pub(super) rows: &'a [RowLabel],
    pub(super) axes: [(&'a Metric, ScaleKind); 2],
    /// Draw flows; otherwise rows.
    pub(super) of_flows: bool,
    /// Colour by row or by kind of flow; by default whatever differs.
    pub(super) colour: Option<Colour>,
}

impl Points<'_> {
    fn x(&self) -> &Metric {
        self.axes[0].0
    }

    fn y(&self) -> &Metric {
        self.axes[1].0
    }

    fn is_linear(&self) -> bool {
        self.axes.iter().all(|(_, scale)| *scale == ScaleKind::Linear)
    }

    /// Reports whether x falls to the right, because less time is better.
    fn falls(&self) -> bool {
        self.x().unit() == "ms"
    }

    /// Reports whether a reference line belongs to an axis of this metric.
    fn has(metric: &Metric, words: &[&str]) -> bool {
        words.iter().any(|word| metric.word().starts_with(word)) && metric.scope().is_none()
    }
}

/// The parts that figures share, and the x axis of one.
struct Plane<'a> {
    chart: &'a Points<'a>,
    appearance: &'a Appearance<'a>,
    plot: Plot,
    x_name: &'a str,
    lines: Limits,
}

/// Limits of all networks of a figure, if they agree.
struct Limits {
    /// Capacity in Mbit/s.
    capacity: Option<f64>,
    /// Base RTT in ms.
    base_rtt: Option<f64>,
}

impl Limits {
    fn new(source: &Source<'_>, variant: &Variant, chart: &Points<'_>) -> Self {
        let shown = wanted(variant, chart.rows);
        let networks: Vec<&Network> =
            shown.iter().filter_map(|row| reference::network(source, &variant.name, row)).collect();
        let one = |mut courses: Vec<&Course>| {
            courses.dedup();
            match courses[..] {
                [course] if course.len() == 1 => Some(course[0].1),
                _ => None,
            }
        };
        let capacity = one(networks.iter().map(|n| &n.capacity).collect());
        let base_rtt = one(networks.iter().flat_map(|n| &n.base_rtt).collect());
        Self {
            capacity: capacity
                .filter(|_| Points::has(chart.y(), &["goodput", "throughput", "wire_", "total_goodput"])),
            base_rtt: base_rtt.filter(|_| Points::has(chart.x(), &["rtt_mean", "rtt_p", "rtt_max"])),
        }
    }
}

/// Draws one figure per variant.
pub(super) fn draw(source: &Source<'_>, chart: &Points<'_>) -> Vec<Figure> {
    let variants = &source.results.summary.variants;
    let shown: Vec<Vec<Cloud<'_>>> = variants.iter().map(|v| clouds(source, v, chart)).collect();
    let lines: Vec<Limits> = variants.iter().map(|v| Limits::new(source, v, chart)).collect();
    let (ys, y_is_shared) = y_scales(chart, &shown, &lines);
    let (xs, x_is_shared) = x_scales(source.column, chart, &shown, &lines);
    let x_name = if x_is_shared && y_is_shared {
        name(chart.x())
    } else {
        format!("{}; the figures have different scales", name(chart.x()))
    };
    let appearance = Appearance::new(source, &shown, chart.colour);
    let each = variants.iter().zip(&shown).zip(xs.into_iter().zip(ys)).zip(lines);
    let figures = each.map(|(((variant, clouds), (x, y)), lines)| {
        let plane = Plane { chart, appearance: &appearance, plot: Plot { x, y }, x_name: &x_name, lines };
        plane.figure(chart.title, &variant.name, clouds)
    });
    figures.collect()
}

/// Returns the name of an axis: `Mean RTT (ms)`.
fn name(metric: &Metric) -> String {
    let words = number::metric(metric);
    let label = if *metric == "rtt_mean" { "Mean RTT" } else { &words.label };
    number::with_unit(label, words.unit)
}

/// Returns the scale of each figure's y axis, and whether all are the same.
fn y_scales(chart: &Points<'_>, shown: &[Vec<Cloud<'_>>], lines: &[Limits]) -> (Vec<Scale>, bool) {
    let heights = |clouds: &Vec<Cloud<'_>>| -> Option<(f64, f64)> {
        extent(clouds.iter().flat_map(|cloud| cloud.outline(chart)).map(|p| p.1.max(0.0)))
    };
    let apart = sharing::are_apart(shown.iter().filter_map(heights));
    if chart.axes[1].1 == ScaleKind::Log || !apart {
        let all: Vec<&[Cloud<'_>]> = shown.iter().map(Vec::as_slice).collect();
        return (vec![y_scale(chart, &all, lines); shown.len()], true);
    }
    let own = shown.iter().zip(lines);
    (own.map(|(clouds, line)| y_scale(chart, &[clouds], std::slice::from_ref(line))).collect(), false)
}

fn y_scale(chart: &Points<'_>, shown: &[&[Cloud<'_>]], lines: &[Limits]) -> Scale {
    let clouds = || shown.iter().copied().flatten();
    let values = || clouds().flat_map(|cloud| cloud.outline(chart)).map(|p| p.1);
    let scale = if chart.axes[1].1 == ScaleKind::Log {
        log_scale(values())
    } else {
        let ends = extent(values().map(|v| v.max(0.0)));
        let highest = ends.map_or(0.0, |(_, high)| high);
        let near = lines.iter().flat_map(|l| l.capacity).filter(|capacity| *capacity <= NEAR * highest);
        Scale::values(extent(near.chain(ends.into_iter().flat_map(|(low, high)| [low, high]))), true, 5)
    };
    scale.in_unit(chart.y().unit()).on(BOTTOM, TOP)
}

fn log_scale(values: impl Iterator<Item = f64>) -> Scale {
    let (low, high) = extent(values.filter(|value| *value > 0.0)).unwrap_or((1.0, 10.0));
    Scale::log(low, high)
}

/// Returns the scale of each figure's x axis, and whether all are the same. They differ if a figure
/// would use only a small part of its width.
fn x_scales(
    width: f64,
    chart: &Points<'_>,
    shown: &[Vec<Cloud<'_>>],
    lines: &[Limits],
) -> (Vec<Scale>, bool) {
    let place = |scale: Scale| {
        let right = width - RIGHT;
        let (left, right) = if chart.falls() { (right, LEFT) } else { (LEFT, right) };
        scale.in_unit(chart.x().unit()).on(left, right)
    };
    let values = |clouds: &Vec<Cloud<'_>>| {
        clouds.iter().flat_map(|cloud| cloud.outline(chart)).map(|p| p.0).collect::<Vec<_>>()
    };
    if chart.axes[0].1 == ScaleKind::Log {
        let all = log_scale(shown.iter().flat_map(values));
        return (shown.iter().map(|_| place(all.clone())).collect(), true);
    }
    let ends = |(clouds, lines): (&Vec<Cloud<'_>>, &Limits)| {
        let (low, high) = extent(values(clouds).into_iter().map(|v| v.max(0.0)))?;
        // The axis is not so narrow that a few percent seem a lot.
        let base = lines.base_rtt.filter(|base| *base <= low && high <= MOST_RTT * *base).unwrap_or(low);
        Some((base.min(high * (1.0 - LEAST_SPAN)), high))
    };
    let each: Vec<_> = shown.iter().zip(lines).map(ends).collect();
    let all = extent(each.iter().flatten().flat_map(|(low, high)| [*low, *high])).unwrap_or((0.0, 1.0));
    let are_shared = each.iter().flatten().all(|(low, high)| (high - low) >= SMALL_PART * (all.1 - all.0));
    let scale = |ends: &Option<(f64, f64)>| {
        let (low, high) = if are_shared { all } else { ends.unwrap_or(all) };
        place(Scale::nice(low, high, 6))
    };
    (each.iter().map(scale).collect(), are_shared)
}

fn clouds<'a>(source: &'a Source<'a>, variant: &'a Variant, chart: &Points<'_>) -> Vec<Cloud<'a>> {
    let of_row = |row: &'a str| {
        if chart.of_flows {
            of_flows(source, variant, row, chart)
        } else {
            of_cells(source, variant, row, chart)
        }
    };
    wanted(variant, chart.rows).into_iter().flat_map(of_row).collect()
}

/// Returns a cloud for each kind of flow.
fn of_flows<'a>(
    source: &'a Source<'a>,
    variant: &'a Variant,
    row: &'a str,
    chart: &Points<'_>,
) -> Vec<Cloud<'a>> {
    let flows = source.results.flows.iter().filter(|f| f.variant == variant.name && f.row == row);
    let kind_of = |flow| {
        if chart.colour == Some(Colour::Row) { Kind::from_row(source, row) } else { Kind::from_flow(flow) }
    };
    let flows: Vec<(Kind<'a>, &FlowRow)> = flows.map(|f| (kind_of(f), f)).collect();
    let point = |flow: &FlowRow| {
        let value =
            |metric: &Metric| flow.values.get(metric).copied().filter(|v| is_drawable(*v) && *v >= 0.0);
        Some((value(chart.x())?, value(chart.y())?))
    };
    let cloud = |kind: Kind<'a>| {
        let points: Vec<_> = flows.iter().filter(|f| f.0 == kind).filter_map(|f| point(f.1)).collect();
        Some(Cloud { row, kind, ellipse: Ellipse::from_points(&points)?, points })
    };
    distinct(flows.iter().map(|f| f.0)).into_iter().filter_map(cloud).collect()
}

/// Returns one point for the row.
fn of_cells<'a>(
    source: &'a Source<'a>,
    variant: &'a Variant,
    row: &'a str,
    chart: &Points<'_>,
) -> Vec<Cloud<'a>> {
    let cells = variant.rows.iter().find(|r| r.label == row).map(|r| &r.cells);
    let value = |metric: &Metric| cells?.get(metric).map(Cell::value).filter(|v| is_drawable(*v));
    let cloud = || {
        let points = vec![(value(chart.x())?, value(chart.y())?)];
        Some(Cloud {
            row,
            kind: Kind::from_row(source, row),
            ellipse: Ellipse::from_points(&points)?,
            points,
        })
    };
    cloud().into_iter().collect()
}

/// Names and colours of clouds: those of their rows, unless a row has several kinds of flows.
struct Appearance<'a> {
    source: &'a Source<'a>,
    all: Vec<(&'a str, Kind<'a>)>,
    kinds: Kinds<'a>,
    is_mixed: bool,
}

impl<'a> Appearance<'a> {
    fn new(source: &'a Source<'a>, shown: &[Vec<Cloud<'a>>], colour: Option<Colour>) -> Self {
        let all = crate::distinct::distinct(shown.iter().flatten().map(|cloud| (cloud.row, cloud.kind)));
        let is_mixed = colour == Some(Colour::Flow)
            || shown.iter().any(|clouds| clouds.windows(2).any(|w| w[0].row == w[1].row));
        Self { source, kinds: Kinds::new(source, all.iter().map(|a| a.1)), all, is_mixed }
    }

    fn name(&self, cloud: &Cloud<'_>) -> String {
        let one_row = self.all.iter().all(|(row, _)| *row == cloud.row);
        match (self.is_mixed, one_row) {
            (false, _) => cloud.row.to_owned(),
            (true, true) => self.kinds.name(cloud.kind),
            (true, false) => format!("{}, {}", cloud.kind.label, cloud.row),
        }
    }

    fn colour(&self, cloud: &Cloud<'_>) -> String {
        if !self.is_mixed {
            return self.source.style(cloud.row).colour;
        }
        self.kinds.style(cloud.kind).colour
    }
}

impl Plane<'_> {
    fn figure(&self, title: &str, variant: &str, clouds: &[Cloud<'_>]) -> Figure {
        let mut frame = Frame::new(self.figure_width());
        frame.bottom = BOTTOM;
        let rises = self.chart.y().unit() == "Mbit/s";
        frame.draw(html! {
            (self.plot.grid(true))
            (self.plot.axis())
            (self.references())
            @if self.chart.falls() && rises { (better(self.figure_width() - RIGHT)) }
            @for cloud in clouds { (self.scatter(cloud)) }
            (self.means(clouds))
            @if clouds.is_empty() { (svg::placeholder(self.figure_width(), f64::midpoint(TOP, BOTTOM), "no flows")) }
        });
        frame.axes(&self.plot, [self.x_name, &name(self.chart.y())], Some(self.remark()));
        frame.figure(format!("point-{}", self.chart.x()), title, variant)
    }

    fn figure_width(&self) -> f64 {
        self.appearance.source.column
    }

    fn remark(&self) -> &'static str {
        match (self.chart.of_flows, self.chart.is_linear()) {
            (false, _) => "One point per row: the mean over the repetitions.",
            (true, true) => "Dots: the flows of all repetitions; circle: their mean; ellipse: one std. dev.",
            (true, false) => "Dots: the flows of all repetitions; circle: their mean.",
        }
    }

    fn words(&self, (x, y): (f64, f64)) -> String {
        format!("{}, {}", number::valued(self.chart.x(), x), number::valued(self.chart.y(), y))
    }

    /// Draws the base RTT and the capacity if they lie on the axes.
    fn references(&self) -> Markup {
        let dashed = |data: String, name| svg::curve(&data, &reference::style(), 1.1, name);
        let rtt = self.lines.base_rtt.filter(|rtt| self.plot.x.has(*rtt)).map(|rtt| self.plot.x.at(rtt));
        let capacity = self.lines.capacity.filter(|c| self.plot.y.has(*c)).map(|c| self.plot.y.at(c));
        html! {
            @if let Some(x) = rtt {
                (dashed(format!("M{} {}V{}", svg::px(x), svg::px(BOTTOM), svg::px(TOP)), "base RTT"))
                (svg::text(x - 4.0, BOTTOM - 5.0, SMALL, MUTED, Anchor::End, "base RTT"))
            }
            @if let Some(y) = capacity {
                (dashed(format!("M{} {}H{}", svg::px(LEFT), svg::px(y), svg::px(self.plot.sides().1)), "capacity"))
                (svg::text(LEFT + 4.0, y - 4.0, SMALL, MUTED, Anchor::Start, "capacity"))
            }
        }
    }

    /// Draws the flows as faint dots, with their ellipse.
    fn scatter(&self, cloud: &Cloud<'_>) -> Markup {
        let colour = self.appearance.colour(cloud);
        let dots = path::dots(cloud.points.iter().map(|p| self.plot.at(*p)));
        let outline = path::outline(cloud.ellipse.outline().map(|p| self.plot.at(p)));
        let has_ellipse = self.chart.is_linear() && self.chart.of_flows;
        html! {
            path d=(dots) stroke=(colour) stroke-width="3.5" stroke-linecap="round" stroke-opacity=".4" fill="none" {}
            @if has_ellipse { path d=(outline) stroke=(colour) stroke-width="1.2" fill=(colour) fill-opacity=".08" {} }
        }
    }

    /// Returns what labels should not cover: dots and ellipses.
    fn obstacles(&self, clouds: &[Cloud<'_>]) -> Vec<Area> {
        let all = || clouds.iter().flat_map(|cloud| cloud.outline(self.chart)).map(|p| self.plot.at(p));
        let step = all().count().div_ceil(MOST_OBSTACLES).max(1);
        all().step_by(step).map(|(x, y)| Area::around(x, y, 2.0, 2.0)).collect()
    }

    /// Draws the means with their names.
    fn means(&self, clouds: &[Cloud<'_>]) -> Markup {
        let space = Area::inside(&self.plot);
        let points: Vec<_> = clouds.iter().map(|c| self.plot.at(c.ellipse.centre)).collect();
        let names: Vec<_> = clouds.iter().map(|c| self.appearance.name(c)).collect();
        let short: Vec<_> =
            names.iter().map(|n| svg::shortened(n, TEXT, self.figure_width() / 3.0)).collect();
        let sizes: Vec<_> = short.iter().map(|n| (svg::text_width(n, TEXT), TEXT)).collect();
        let labels = place::labels(&points, &sizes, &space, self.obstacles(clouds));
        html! {
            (place::leaders(&points, &labels))
            @for ((cloud, (x, y)), name) in clouds.iter().zip(&points).zip(&names) {
                circle cx=(svg::px(*x)) cy=(svg::px(*y)) r="4.5" fill=(self.appearance.colour(cloud)) stroke=(PAPER) {
                    title { (name) ": " (self.words(cloud.ellipse.centre)) }
                }
            }
            (place::names(short.iter(), &labels))
        }
    }
}

/// Draws an arrow to the best corner.
fn better(right: f64) -> Markup {
    let (x, y) = (right - 2.0, TOP - 18.0);
    let shaft = format!("M{} {}l10-10m-7 0h7v7", svg::px(x - 10.0), svg::px(y + 11.0));
    html! {
        (svg::text(x - 16.0, TOP - 8.0, SMALL, MUTED, Anchor::End, "better"))
        path d=(shaft) stroke=(MUTED) stroke-width="1.4" fill="none" {}
    }
}

//! Values over time: one panel per metric, all on one time axis. Few lines share a panel; many lines get a strip each,
//! because nine sawtooths on top of each other say nothing.

use maud::{Markup, html};

use super::axis::{Scale, extent};
use super::svg::{self, Anchor, Figure, SMALL, TEXT, WIDTH};
use super::{Source, path, wanted};
use crate::number;
use crate::palette::{self, MUTED, Style};
use experiment::row::RowLabel;
use results::summary::{Track, Variant};

/// More lines than this in a panel, or several flows in a row, and each row gets its strip.
const MOST_TOGETHER: usize = 4;
/// Flows to show of a row: more would be a blur, and of a thousand the page would burst.
const MOST_FLOWS: usize = 8;
/// Height of a panel that rows share.
const PANEL: f64 = 120.0;
/// Height of the strips of a panel together, and what a strip needs and can use of it.
const STRIPS: (f64, f64, f64) = (300.0, 32.0, 110.0);
/// Space under a strip.
const GAP: f64 = 6.0;

/// The tracks of a row: one per flow, of its first repetition, as many as we show.
struct Lines<'a> {
    label: &'a str,
    tracks: Vec<&'a Track>,
    /// How many there are.
    flows: usize,
}

/// A metric with the scale and the divisor that all variants share.
struct Panel<'a> {
    column: &'a str,
    name: String,
    divisor: f64,
    scale: Scale,
}

/// One figure per variant.
pub(super) fn draw(source: &Source<'_>, title: &str, metrics: &[String], rows: &[RowLabel]) -> Vec<Figure> {
    let variants = &source.results.summary.variants;
    let shown: Vec<_> = variants.iter().map(|v| (v, lines(source, v, rows))).collect();
    let tracks: Vec<&Track> =
        shown.iter().flat_map(|(_, l)| l).flat_map(|l| l.tracks.iter().copied()).collect();
    let (start, end) = extent(tracks.iter().flat_map(|t| &t.times).copied()).unwrap_or((0.0, 1.0));
    let time = Scale::exact(start, end, 6);
    let apart = shown.iter().any(|(_, l)| l.len() > MOST_TOGETHER || l.iter().any(|l| l.tracks.len() > 1));
    let panels: Vec<_> = metrics.iter().map(|m| panel(m, &tracks)).collect();
    shown.iter().map(|(v, l)| figure(source, title, &v.name, l, &panels, &time, apart)).collect()
}

fn lines<'a>(source: &Source<'a>, variant: &'a Variant, rows: &[RowLabel]) -> Vec<Lines<'a>> {
    let of_row = |label: &'a str| {
        let mut tracks = source.first_run(&variant.name, label);
        let flows = tracks.len();
        tracks.truncate(MOST_FLOWS);
        (flows > 0).then_some(Lines { label, tracks, flows })
    };
    wanted(variant, rows).into_iter().filter_map(of_row).collect()
}

fn panel<'a>(column: &'a str, tracks: &[&Track]) -> Panel<'a> {
    let values = tracks.iter().filter_map(|t| t.columns.get(column)).flatten().copied();
    let extent = extent(values);
    let largest = extent.map_or(0.0, |(low, high)| high.abs().max(low.abs()));
    let (name, divisor) = number::column(column, largest);
    let is_rtt = column.contains("rtt");
    let scaled = extent.map(|(low, high)| (low / divisor, high / divisor));
    let scale = Scale::values(scaled, is_rtt, 4);
    Panel { column, name, divisor, scale }
}

/// The bottleneck's values stand in each flow's track: one line of them is enough.
fn is_of_bottleneck(column: &str) -> bool {
    matches!(column, "queue_bytes" | "drops")
}

impl Panel<'_> {
    /// The row's curves: path data and flow's number.
    fn curves(&self, lines: &Lines<'_>, time: &Scale, y: &Scale) -> Vec<(String, usize)> {
        let flows = if is_of_bottleneck(self.column) { 1 } else { lines.tracks.len() };
        let tracks = lines.tracks.iter().take(flows).enumerate();
        let data = |track: &Track| {
            let values = track.columns.get(self.column)?;
            let points = track.times.iter().copied().zip(values.iter().map(|v| v / self.divisor));
            Some(path::series(points, time, y)).filter(|d| !d.is_empty())
        };
        tracks.filter_map(|(i, t)| Some((data(t)?, i))).collect()
    }
}

fn figure(
    source: &Source<'_>,
    title: &str,
    variant: &str,
    lines: &[Lines<'_>],
    panels: &[Panel<'_>],
    time: &Scale,
    apart: bool,
) -> Figure {
    let (body, height) = match () {
        () if lines.is_empty() || panels.is_empty() => (svg::nothing(30.0, "no time series"), 50.0),
        () if apart => strips(source, lines, panels, time),
        () => together(source, lines, panels, time),
    };
    Figure { kind: "over-time", title: title.to_owned(), variant: variant.to_owned(), height, body }
}

/// All rows in one panel per metric, under a legend.
fn together(source: &Source<'_>, lines: &[Lines<'_>], panels: &[Panel<'_>], time: &Scale) -> (Markup, f64) {
    let styles: Vec<_> = lines.iter().map(|l| source.style(l.label)).collect();
    let entries: Vec<_> = lines.iter().zip(&styles).map(|(l, s)| (l.label, s)).collect();
    let (legend, mut top) = svg::legend(4.0, &entries, svg::PIECE);
    let (left, right) = (50.0, WIDTH - 14.0);
    let time = time.on(left, right);
    let mut drawn = Vec::new();
    for (i, panel) in panels.iter().enumerate() {
        let (first, bottom) = (top + 26.0, top + 26.0 + PANEL);
        let y = panel.scale.on(bottom, first);
        drawn.push(html! {
            (svg::heading(8.0, first - 9.0, &panel.name))
            (svg::grid_x(&time, first, bottom, i + 1 == panels.len()))
            (svg::grid_y(&y, left, right))
            (svg::floor(left, right, bottom))
            @for (row, style) in lines.iter().zip(&styles) {
                @for (data, _) in panel.curves(row, &time, &y) { (svg::curve(&data, style, 1.3, row.label)) }
            }
        });
        top = bottom + 8.0;
    }
    let body = html! {
        (legend)
        @for panel in drawn { (panel) }
        (svg::axis_name(left, right, top + 25.0, "Time (s)"))
    };
    (body, top + 34.0)
}

/// A strip per row in each metric's panel, named at its left.
fn strips(source: &Source<'_>, lines: &[Lines<'_>], panels: &[Panel<'_>], time: &Scale) -> (Markup, f64) {
    let widest = lines.iter().map(|l| svg::text_width(l.label, TEXT)).fold(40.0, f64::max);
    let (left, right) = (widest.min(WIDTH / 4.0) + 18.0, WIDTH - 44.0);
    let time = time.on(left, right);
    let height = (STRIPS.0 / lines.len() as f64).clamp(STRIPS.1, STRIPS.2);
    let mut top = 0.0;
    let mut drawn = Vec::new();
    for (i, panel) in panels.iter().enumerate() {
        let first = top + 26.0;
        let bottom = first + (height + GAP) * lines.len() as f64 - GAP;
        drawn.push(html! {
            (svg::heading(8.0, first - 9.0, &panel.name))
            (svg::grid_x(&time, first, bottom, i + 1 == panels.len()))
            @for (j, row) in lines.iter().enumerate() {
                (strip(source, panel, row, &time, first + (height + GAP) * j as f64, height))
            }
        });
        top = bottom + 8.0;
    }
    let remark = flow_remark(lines);
    let body = html! {
        @for panel in drawn { (panel) }
        (svg::axis_name(left, right, top + 25.0, "Time (s)"))
        @if let Some(remark) = &remark { (svg::text(8.0, top + 42.0, SMALL, MUTED, Anchor::Start, remark)) }
    };
    (body, top + if remark.is_some() { 52.0 } else { 34.0 })
}

/// Which flows a strip shows, if there are several.
fn flow_remark(lines: &[Lines<'_>]) -> Option<String> {
    let shown = lines.iter().map(|l| l.tracks.len()).max().filter(|n| *n > 1)?;
    let all = lines.iter().map(|l| l.flows).max().unwrap_or(shown);
    let of = if all > shown { format!(" of {all}") } else { String::new() };
    Some(format!("Flows 1 to {shown}{of}, from dark to light in the colour of their algorithm."))
}

fn strip(
    source: &Source<'_>,
    panel: &Panel<'_>,
    row: &Lines<'_>,
    time: &Scale,
    top: f64,
    height: f64,
) -> Markup {
    let bottom = top + height;
    let y = panel.scale.on(bottom, top);
    let (left, right) = (time.left(), time.right());
    html! {
        (svg::label(left - 8.0, f64::midpoint(top, bottom) + 4.0, TEXT, Anchor::End, left - 14.0, row.label))
        (svg::line(left, top, right, top, palette::GRID))
        (svg::floor(left, right, bottom))
        (svg::text(right + 5.0, top + 8.0, SMALL - 1.0, MUTED, Anchor::Start, &y.label(y.high())))
        (svg::text(right + 5.0, bottom, SMALL - 1.0, MUTED, Anchor::Start, &y.label(y.low())))
        @for (data, flow) in panel.curves(row, time, &y) {
            @let (style, name) = flow_style(source, row, flow);
            (svg::curve(&data, &style, 1.2, &name))
        }
    }
}

/// A row's only flow looks like the row; several flows are shades of the algorithm's hue.
fn flow_style(source: &Source<'_>, row: &Lines<'_>, flow: usize) -> (Style, String) {
    let flows = row.tracks.len();
    if flows < 2 {
        return (Style { dash: None, ..source.style(row.label) }, row.label.to_owned());
    }
    let colour = palette::shade(source.algorithm(row.label), flow, flows);
    (Style { colour, dash: None }, format!("{}, flow {}", row.label, flow + 1))
}

//! Values over time: one panel per metric on a common time axis. A few lines share a panel. Many
//! lines get a strip each, because nine sawtooths in one panel are unreadable. Thin grey lines are
//! the limits of the network.

use experiment::row::RowLabel;
use std::collections::BTreeMap;

use maud::{Markup, html};

use super::axis::{Scale, extent};
use super::bins::Bins;
use super::flows::Flows;
use super::frame::Frame;
use super::kinds::Kind;
use super::reference::{self, Reference};
use super::runs::Run;
use super::svg::{self, Anchor, Figure, SMALL, TEXT, WIDTH};
use super::{Source, path, sharing, ticks, wanted};
use crate::colours::{GRID, INK, MUTED};
use crate::distinct::distinct;
use crate::number;
use crate::styles::Style;
use congestion::STATE;
use experiment::chart::{Chart, Colour, Data, ScaleKind};
use results::summary::{RunLength, Track, Variant};

/// Number of lines in a panel above which each row gets a strip. Rows with several flows get strips
/// too.
const MOST_TOGETHER: usize = 4;
/// Most flows of a row. More would be a blur and make the page too large.
const MOST_FLOWS: usize = 8;
/// Height of a panel that rows share, in a column and across a page.
const PANEL: (f64, f64) = (120.0, 150.0);
/// Height of the strips of a panel together, and the least and the most of one strip.
const STRIPS: (f64, f64, f64) = (300.0, 32.0, 110.0);
/// Width for the names of strips in a narrow chart. In others it is a quarter.
const LABELS: f64 = 107.0;
/// Most bins of a line. Narrower ones would be thinner than a pixel.
const MOST_BINS: usize = 1000;
/// Distance from the axis of a line that would lie on it, as a share of the axis.
const ABOVE_AXIS: f64 = 0.02;
const GAP: f64 = 6.0;

/// The tracks of a row: one per flow of its first repetition, up to [`MOST_FLOWS`].
struct Row<'a> {
    label: &'a str,
    tracks: Vec<&'a Track>,
    kinds: Vec<Kind<'a>>,
    /// Number of all flows.
    flows: usize,
}

/// The owner of a panel: variant and row. The row is empty if rows share the panel.
type Part<'a> = (&'a str, &'a str);

/// A metric with the scale and the divisor that all variants share.
struct Panel<'a> {
    /// Its columns, usually one.
    columns: Vec<&'a str>,
    name: String,
    divisor: f64,
    scale: Scale,
    /// Scale of each part, if they are too different for one.
    own: BTreeMap<Part<'a>, Scale>,
    states: &'a BTreeMap<String, Vec<String>>,
}

/// The parts that a chart's figures share.
struct Shared<'a> {
    source: &'a Source<'a>,
    panels: Vec<Panel<'a>>,
    time: Scale,
    flows: Flows<'a>,
    /// Draw all flows of a row like the row.
    of_rows: bool,
    apart: bool,
    bins: Option<Bins>,
    /// Names and styles of the columns that share a panel.
    overlaid: Vec<(String, Style)>,
    ticks: &'a [String],
}

/// Draws one figure per variant of a chart of series; none of another chart.
pub(super) fn draw(source: &Source<'_>, chart: &Chart) -> Vec<Figure> {
    let Data::Series { columns, colour, strips, interval, overlaid, ticks } = &chart.data else {
        return Vec::new();
    };
    let variants = &source.results.summary.variants;
    let shown: Vec<_> = variants.iter().map(|v| (v, rows(source, v, &chart.rows))).collect();
    let all = || shown.iter().flat_map(|(_, lines)| lines);
    let tracks: Vec<&Track> = all().flat_map(|l| &l.tracks).copied().collect();
    let (start, end) =
        source.part.or(extent(tracks.iter().flat_map(|t| &t.times).copied())).unwrap_or((0.0, 1.0));
    let kinds: Vec<_> = all().map(|l| l.kinds.clone()).collect();
    // Columns in colours leave none for rows.
    let most = if *overlaid { 1 } else { MOST_TOGETHER };
    let has_much = |l: &[Row<'_>]| l.len() > most || l.iter().any(|l| l.tracks.len() > 1);
    let apart = strips.unwrap_or_else(|| shown.iter().any(|(_, l)| has_much(l)));
    let parts = parts(&shown, apart);
    let frame = Shared {
        source,
        panels: columns
            .chunks(if *overlaid { columns.len().max(1) } else { 1 })
            .map(|columns| panel(source, columns, &parts, chart.y_scale))
            .collect(),
        time: Scale::exact(start, end, if source.width > WIDTH { 12 } else { 6 }).in_unit("s"),
        flows: Flows::new(source, &kinds),
        of_rows: *colour == Some(Colour::Row),
        apart,
        overlaid: if *overlaid { column_styles(source, columns) } else { Vec::new() },
        ticks,
        bins: interval.map(|interval| Bins::new(&tracks, source.start(), Some(interval), MOST_BINS)),
    };
    shown.iter().map(|(variant, lines)| frame.figure(&chart.title, &variant.name, lines)).collect()
}

fn rows<'a>(source: &'a Source<'a>, variant: &'a Variant, rows: &[RowLabel]) -> Vec<Row<'a>> {
    let of_row = |label: &'a str| {
        let run = Run::first(source, &variant.name, label)?;
        let flows = run.tracks().count();
        let (kinds, tracks): (Vec<_>, Vec<_>) = run.tracks().take(MOST_FLOWS).unzip();
        (flows > 0).then_some(Row { label, tracks, kinds, flows })
    };
    wanted(variant, rows).into_iter().filter_map(of_row).collect()
}

/// Returns the names of columns that share a panel, with their styles.
fn column_styles(source: &Source<'_>, columns: &[String]) -> Vec<(String, Style)> {
    let variables = &source.results.summary.variables;
    let named = columns.iter().map(|column| number::column(column, 1.0, variables).label);
    named.enumerate().map(|(i, name)| (name, Style::nth(i))).collect()
}

/// Returns the names of these controllers' states without repeats.
fn names<'k>(
    states: &BTreeMap<String, Vec<String>>,
    kinds: impl Iterator<Item = &'k Kind<'k>>,
) -> Vec<String> {
    distinct(kinds.filter_map(|kind| states.get(kind.algorithm)).flatten().cloned())
}

/// Returns the parts of all figures with their rows.
fn parts<'p, 'a>(shown: &'p [(&'a Variant, Vec<Row<'a>>)], apart: bool) -> Vec<(Part<'a>, &'p [Row<'a>])> {
    let parts_of = |(variant, rows): &'p (&'a Variant, Vec<Row<'a>>)| {
        let each = rows.chunks(if apart { 1 } else { rows.len().max(1) });
        let variant = variant.name.as_str();
        each.map(move |rows| ((variant, if apart { rows[0].label } else { "" }), rows)).collect::<Vec<_>>()
    };
    shown.iter().flat_map(parts_of).collect()
}

/// Returns a panel with the controllers' states by name, if they have names.
fn states_panel<'a>(
    source: &Source<'a>,
    columns: &[&'a str],
    parts: &[(Part<'a>, &[Row<'a>])],
) -> Option<Panel<'a>> {
    let [column] = *columns else { return None };
    let states = &source.results.summary.states;
    let words = names(states, parts.iter().flat_map(|(_, rows)| *rows).flat_map(|l| &l.kinds));
    let is_named = column == STATE && !words.is_empty();
    let name = number::column(column, 1.0, &source.results.summary.variables).label;
    let (scale, own) = (Scale::from_words(words), BTreeMap::new());
    is_named.then_some(Panel { columns: vec![column], name, divisor: 1.0, scale, own, states })
}

/// The range of a column in a part, and the limits of its networks.
struct Reach {
    ends: Option<(f64, f64)>,
    /// The smallest value above zero.
    least: f64,
    references: Vec<Reference>,
}

impl Reach {
    fn new(source: &Source<'_>, names: &[&str], ((variant, _), rows): &(Part<'_>, &[Row<'_>])) -> Self {
        let tracks = rows.iter().flat_map(|l| &l.tracks);
        let columns = tracks.flat_map(|t| names.iter().filter_map(|name| t.columns.get(*name)));
        let values = columns.flat_map(RunLength::values).copied();
        let column = names.first().copied().unwrap_or_default();
        let least = values.clone().filter(|v| *v > 0.0).fold(f64::INFINITY, f64::min);
        let references = rows.iter().flat_map(|l| reference::for_column(source, variant, l.label, column));
        Self { ends: extent(values), least, references: references.collect() }
    }

    fn all(parts: &[Self]) -> Self {
        Self {
            ends: extent(parts.iter().filter_map(|part| part.ends).flat_map(|(low, high)| [low, high])),
            least: parts.iter().map(|part| part.least).fold(f64::INFINITY, f64::min),
            references: parts.iter().flat_map(|part| part.references.clone()).collect(),
        }
    }

    fn highest(&self) -> f64 {
        self.ends.map_or(0.0, |(_, high)| high)
    }

    /// Returns the range including reference lines not too far above `highest`.
    fn extent(&self, highest: f64) -> Option<(f64, f64)> {
        let own = self.ends.into_iter().flat_map(|(low, high)| [low, high]);
        extent(own.chain(reference::ends(&self.references, highest)))
    }

    fn scale(&self, column: &str, unit: &str, divisor: f64, kind: ScaleKind) -> Scale {
        let is_rtt = column.contains("rtt");
        // A line on the axis would be invisible.
        let is_base = |low: f64| self.references.iter().flat_map(|r| &r.course).any(|(_, v)| *v <= low);
        let below =
            |low: f64, high: f64| if is_rtt && is_base(low) { ABOVE_AXIS * (high - low) } else { 0.0 };
        let ends =
            self.extent(self.highest()).map(|(low, high)| ((low - below(low, high)).max(low.min(0.0)), high));
        let scaled = ends.map(|(low, high)| (low / divisor, high / divisor));
        let scale = match kind {
            ScaleKind::Log => Scale::log(self.least / divisor, scaled.map_or(1.0, |(_, high)| high)),
            ScaleKind::Linear => Scale::values(scaled, is_rtt, 4),
        };
        scale.in_unit(unit)
    }
}

fn panel<'a>(
    source: &Source<'a>,
    columns: &'a [String],
    parts: &[(Part<'a>, &[Row<'a>])],
    kind: ScaleKind,
) -> Panel<'a> {
    let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
    if let Some(panel) = states_panel(source, &columns, parts) {
        return panel;
    }
    let column = columns.first().copied().unwrap_or_default();
    let each: Vec<Reach> = parts.iter().map(|part| Reach::new(source, &columns, part)).collect();
    let all = Reach::all(&each);
    let extent = all.extent(all.highest());
    let largest = extent.map_or(0.0, |(low, high)| high.abs().max(low.abs()));
    let number::Column { label, unit, divisor } =
        number::column(column, largest, &source.results.summary.variables);
    let scale = |reach: &Reach| reach.scale(column, &unit, divisor, kind);
    // Equal ratios have equal distances on a logarithmic scale, so one scale shows them all.
    let is_apart = kind == ScaleKind::Linear
        && sharing::are_apart(each.iter().filter_map(|reach| reach.extent(all.highest())));
    let own = parts.iter().zip(&each).filter(|_| is_apart).map(|((part, _), reach)| (*part, scale(reach)));
    let own = own.collect();
    let label = if columns.len() > 1 { quantity(&unit).to_owned() } else { label };
    let (name, scale) = (number::with_unit(&label, &unit), scale(&all));
    Panel { columns, name, divisor, scale, own, states: &source.results.summary.states }
}

/// Reports whether a column belongs to the bottleneck. Each flow's track repeats it, so one line is
/// enough.
fn is_of_bottleneck(column: &str) -> bool {
    matches!(column, "queue_bytes" | "drops")
}

impl Panel<'_> {
    /// Returns the row's curves of a column: path data, and the numbers of the flow and the column.
    fn curves(
        &self,
        lines: &Row<'_>,
        bins: Option<&Bins>,
        time: &Scale,
        y: &Scale,
    ) -> Vec<(String, usize, usize)> {
        let each = self.columns.iter().enumerate();
        each.flat_map(|(i, column)| {
            let curves = self.curves_of(column, lines, bins, (time, y));
            curves.into_iter().map(move |(data, flow)| (data, flow, i))
        })
        .collect()
    }

    fn curves_of(
        &self,
        column: &str,
        lines: &Row<'_>,
        bins: Option<&Bins>,
        (time, y): (&Scale, &Scale),
    ) -> Vec<(String, usize)> {
        let flows = if is_of_bottleneck(column) { 1 } else { lines.tracks.len() };
        let tracks = lines.tracks.iter().take(flows).enumerate();
        let data = |track: &Track, flow: usize| {
            let values = track.columns.get(column)?;
            let place = |value: f64| self.place(value, lines.kinds[flow].algorithm, y);
            let points: Vec<(f64, f64)> = match bins.filter(|_| y.words().is_empty()) {
                Some(bins) => bins.present(&track.times, values.iter()),
                None => track.times.iter().copied().zip(values.iter()).collect(),
            };
            let points = points.into_iter().map(|(at, value)| (at, place(value)));
            Some(path::series(points, time, y)).filter(|d| !d.is_empty())
        };
        tracks.filter_map(|(i, t)| Some((data(t, i)?, i))).collect()
    }

    /// Returns the place of a value on the scale. A state's place is that of its name.
    fn place(&self, value: f64, algorithm: &str, y: &Scale) -> f64 {
        if y.words().is_empty() || value.is_nan() {
            return value / self.divisor;
        }
        let name = self.states.get(algorithm).and_then(|names| names.get(value as usize));
        let place = name.and_then(|name| y.words().iter().position(|word| word == name));
        place.map_or(f64::NAN, |place| place as f64)
    }

    /// Returns the scales of all its parts.
    fn scales(&self) -> Vec<&Scale> {
        if self.own.is_empty() { vec![&self.scale] } else { self.own.values().collect() }
    }

    /// Returns the scale of a part.
    fn scale_in(&self, part: Part<'_>) -> &Scale {
        self.own.iter().find(|(other, _)| **other == part).map_or(&self.scale, |(_, scale)| scale)
    }

    /// Returns the scale of a strip. A scale with names has only those of the strip's row.
    fn scale_of(&self, variant: &str, row: &Row<'_>) -> Option<Scale> {
        if self.scale.words().is_empty() {
            return Some(self.scale_in((variant, row.label)).clone());
        }
        let words = names(self.states, row.kinds.iter());
        (!words.is_empty()).then(|| Scale::from_words(words))
    }

    /// Returns the width of its labels.
    fn space(&self) -> f64 {
        self.scale.words().iter().map(|word| svg::text_width(word, SMALL) + 12.0).fold(0.0, f64::max)
    }

    /// Reports whether any track has the column.
    fn has_values(&self, lines: &[Row<'_>]) -> bool {
        lines
            .iter()
            .flat_map(|l| &l.tracks)
            .any(|t| self.columns.iter().any(|column| t.columns.contains_key(*column)))
    }
}

impl Shared<'_> {
    fn figure(&self, title: &str, variant: &str, lines: &[Row<'_>]) -> Figure {
        // A panel without a line would waste space.
        let panels: Vec<_> = self.panels.iter().filter(|panel| panel.has_values(lines)).collect();
        let frame = match () {
            () if panels.is_empty() => Frame::placeholder(self.source.width, self.source.without_series()),
            () if self.apart => self.strips(variant, lines, &panels),
            () => self.together(variant, lines, &panels),
        };
        frame.figure("line-time", title, variant)
    }

    fn time_name(&self) -> String {
        self.bins
            .as_ref()
            .map_or("Time (s)".to_owned(), |bins| format!("Time (s), in bins of {}", bins.width()))
    }

    fn references(&self, variant: &str, row: &Row<'_>, panel: &Panel<'_>) -> Vec<Reference> {
        let column = panel.columns.first().copied().unwrap_or_default();
        reference::for_column(self.source, variant, row.label, column)
    }

    /// Draws all rows in one panel per metric, under a legend.
    fn together(&self, variant: &str, lines: &[Row<'_>], panels: &[&Panel<'_>]) -> Frame {
        let styles: Vec<_> = lines.iter().map(|l| self.source.style(l.label)).collect();
        let rows = lines.iter().zip(&styles).map(|(l, s)| (l.label, s));
        let entries: Vec<_> = if self.overlaid.is_empty() { rows.collect() } else { self.column_entries() };
        let mut frame = Frame::with_legend(self.source.layout(false), &entries, svg::PIECE);
        let width = frame.width;
        let widest = panels.iter().map(|panel| panel.space()).fold(50.0, f64::max);
        frame.sides.0 = widest.min(width / 3.0);
        let height = if width > WIDTH { PANEL.1 } else { PANEL.0 };
        for (i, panel) in panels.iter().enumerate() {
            let plot = frame.plot(over(i), height, &self.time, panel.scale_in((variant, "")));
            let references = self.panel_references(variant, lines, panel);
            let inner = html! {
                (plot.grid(i + 1 == panels.len()))
                (plot.axis())
                (reference::draw(&references, panel.divisor, &plot.x, &plot.y))
                @for (row, style) in lines.iter().zip(&styles) {
                    @for (data, _, column) in panel.curves(row, self.bins.as_ref(), &plot.x, &plot.y) {
                        @let (name, style) = self.overlaid.get(column).map_or((row.label, style), |(name, style)| (name, style));
                        (svg::curve(&data, style, 1.3, name))
                    }
                    (self.ticks(row, &plot.x, plot.span()))
                }
            };
            let (y, right) = (plot.span().0 - 9.0, plot.x.right());
            frame.draw(heading(y, right, &panel.name, &references, panel.divisor, &[&plot.y]));
            frame.draw(plot.group(&inner));
        }
        let own = own_scales(panels, "variant");
        frame.foot(&self.time_name(), &own.into_iter().chain(self.tick_remarks(lines)).collect::<Vec<_>>());
        frame
    }

    /// Draws a strip per row in each metric's panel, with the name on the left.
    fn strips(&self, variant: &str, lines: &[Row<'_>], panels: &[&Panel<'_>]) -> Frame {
        let layout = self.source.layout(false);
        let several = lines.iter().filter(|l| l.tracks.len() > 1 && !self.of_rows);
        let several: Vec<_> = several.map(|l| &l.kinds).collect();
        let mut frame = match () {
            () if !self.overlaid.is_empty() => Frame::with_legend(layout, &self.column_entries(), svg::PIECE),
            () if several.is_empty() => Frame::new(layout.width),
            () => self.flows.frame(layout, &several),
        };
        let width = frame.width;
        let widest = lines.iter().map(|l| svg::text_width(l.label, TEXT)).fold(40.0, f64::max);
        let right = width - panels.iter().map(|panel| panel.space()).fold(44.0, f64::max).min(width / 3.0);
        frame.sides = (widest.min((width / 4.0).max(LABELS)) + 18.0, right);
        let each = (STRIPS.0 / lines.len() as f64).clamp(STRIPS.1, STRIPS.2);
        for (i, panel) in panels.iter().enumerate() {
            let height = (each + GAP) * lines.len() as f64 - GAP;
            let plot = frame.plot(over(i), height, &self.time, &panel.scale);
            let (first, bottom) = plot.span();
            let references = self.panel_references(variant, lines, panel);
            frame.draw(html! {
                (heading(first - 9.0, right, &panel.name, &references, panel.divisor, &panel.scales()))
                (svg::grid_x(&plot.x, first, bottom, i + 1 == panels.len()))
                @for (j, row) in lines.iter().enumerate() {
                    (self.strip(variant, panel, row, &plot.x, (first + (each + GAP) * j as f64, each)))
                }
            });
        }
        let own = own_scales(panels, "strip");
        frame.foot(
            &self.time_name(),
            &own.into_iter().chain(flow_remark(lines)).chain(self.tick_remarks(lines)).collect::<Vec<_>>(),
        );
        frame
    }

    fn column_entries(&self) -> Vec<(&str, &Style)> {
        self.overlaid.iter().map(|(name, style)| (name.as_str(), style)).collect()
    }

    /// Draws the losses and the CE marks of a row.
    fn ticks(&self, row: &Row<'_>, time: &Scale, span: (f64, f64)) -> Markup {
        let ink = || INK.to_owned();
        let colour = if self.overlaid.is_empty() { self.source.style(row.label).colour } else { ink() };
        ticks::draw(self.ticks, &row.tracks, &colour, (time, span))
    }

    fn tick_remarks(&self, lines: &[Row<'_>]) -> Vec<String> {
        ticks::remarks(self.ticks, &lines.iter().flat_map(|row| row.tracks.clone()).collect::<Vec<_>>())
    }

    /// Returns the reference lines of all rows of a panel.
    fn panel_references(&self, variant: &str, lines: &[Row<'_>], panel: &Panel<'_>) -> Vec<Reference> {
        reference::distinct(lines.iter().flat_map(|l| self.references(variant, l, panel)))
    }

    fn strip(
        &self,
        variant: &str,
        panel: &Panel<'_>,
        row: &Row<'_>,
        time: &Scale,
        place: (f64, f64),
    ) -> Markup {
        let (top, bottom) = (place.0, place.0 + place.1);
        let own = panel.scale_of(variant, row);
        let y = own.as_ref().unwrap_or(&panel.scale).on(bottom, top);
        let labels = if own.is_some() { end_labels(&y, top, bottom) } else { Vec::new() };
        let (left, right) = (time.left(), time.right());
        let inner = html! {
            (svg::line(left, top, right, top, GRID))
            (svg::x_axis_line(left, right, bottom))
            (reference::draw(&self.references(variant, row, panel), panel.divisor, time, &y))
            @for (data, flow, column) in panel.curves(row, self.bins.as_ref(), time, &y) {
                @let (style, name) = self.look(row, flow, column);
                (svg::curve(&data, &style, 1.2, &name))
            }
            (self.ticks(row, time, (top, bottom)))
        };
        html! {
            (svg::label(left - 8.0, f64::midpoint(top, bottom) + 4.0, TEXT, Anchor::End, left - 14.0, row.label))
            @for (at, value) in labels {
                (svg::text(right + 5.0, at, SMALL - 1.0, MUTED, Anchor::Start, &y.label(value)))
            }
            (svg::plot_at(time, &y, &[], &inner))
        }
    }

    /// Returns the style and the name of a flow. A single flow looks like its row.
    fn look(&self, row: &Row<'_>, flow: usize, column: usize) -> (Style, String) {
        if let Some((name, style)) = self.overlaid.get(column) {
            return (style.clone(), name.clone());
        }
        if row.tracks.len() < 2 || self.of_rows {
            return (self.source.style(row.label).solid(), row.label.to_owned());
        }
        self.flows.style(&row.kinds, flow)
    }
}

/// Returns the name of a panel whose columns the legend names.
fn quantity(unit: &str) -> &'static str {
    match unit {
        "kB" | "MB" => "Data",
        "Mbit/s" => "Rate",
        "ms" | "s" => "Time",
        "packets" => "Count",
        _ => "Value",
    }
}

/// Returns the space above a panel.
fn over(panel: usize) -> f64 {
    if panel == 0 { 26.0 } else { 34.0 }
}

/// Returns the values that a strip's scale names, with their baselines: both ends, and as many
/// names as fit.
fn end_labels(y: &Scale, top: f64, bottom: f64) -> Vec<(f64, f64)> {
    if y.words().is_empty() {
        return vec![(top + 8.0, y.high()), (bottom, y.low())];
    }
    let steps = (y.words().len().max(2) - 1) as f64;
    let each = (SMALL * steps / (bottom - top)).ceil().max(1.0) as usize;
    // The lowest is above the line, the highest below it.
    let baseline = |tick: f64| y.at(tick) + 8.0 * tick / steps;
    y.ticks.iter().step_by(each).map(|tick| (baseline(*tick), *tick)).collect()
}

/// Draws the panel's name, and on the right the name of its reference line.
fn heading(y: f64, right: f64, name: &str, references: &[Reference], divisor: f64, on: &[&Scale]) -> Markup {
    let is_shown = |value: &f64| on.iter().any(|scale| scale.has(value / divisor));
    let mut shown = references.iter().filter(|r| r.course.iter().any(|(_, value)| is_shown(value)));
    let reference = shown.next();
    let space = right - 8.0 - reference.map_or(0.0, |shown| svg::text_width(shown.name, SMALL) + 40.0);
    html! {
        (svg::heading(8.0, y, &svg::shortened(name, TEXT * 1.06, space)))
        @if let Some(reference) = reference { (reference::key(right, y, reference.name)) }
    }
}

/// Describes panels whose parts have different scales.
fn own_scales(panels: &[&Panel<'_>], what: &str) -> Option<String> {
    let apart = panels.iter().filter(|panel| !panel.own.is_empty());
    sharing::remark(what, apart.map(|panel| panel.name.as_str()), panels.len())
}

/// Describes which flows are shown, if not all.
fn flow_remark(lines: &[Row<'_>]) -> Option<String> {
    let shown = lines.iter().map(|l| l.tracks.len()).max()?;
    let all = lines.iter().map(|l| l.flows).max().filter(|all| *all > shown)?;
    Some(format!("Flows 1 to {shown} of {all}."))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use crate::styles::Palette;
    use experiment::chart::{Mark, SIGNALS};

    /// Two columns of a flow are two curves of one panel, and its losses are ticks on the axis.
    #[test]
    fn columns_share_a_panel_under_their_names() {
        let mut results = fixture::realistic().remove(1);
        results.summary.variants.truncate(1);
        results.summary.variants[0].rows.truncate(1);
        results.series.retain(|track| track.flow == 0);
        results.flows.retain(|flow| flow.flow == 0);
        for track in &mut results.series {
            let half = track.times.len() / 2;
            let lost = (0..track.times.len()).map(|i| f64::from(u8::from(i >= half))).collect();
            track.columns.insert(SIGNALS[0].to_owned(), lost);
            let window = track.columns["cwnd_bytes"].iter().map(|bytes| 0.5 * bytes).collect();
            track.columns.insert("bytes_in_flight".to_owned(), window);
        }
        let columns = ["cwnd_bytes", "bytes_in_flight"].map(str::to_owned).to_vec();
        let ticks = vec![SIGNALS[0].to_owned()];
        let data =
            Data::Series { columns, colour: None, strips: None, interval: None, overlaid: true, ticks };
        let palette = Palette::new(std::slice::from_ref(&results));
        let source = Source::new(&results, &palette, WIDTH);
        let drawn = draw(&source, &fixture::chart("T", Mark::Line, data)).remove(0).body.0;
        for (words, times) in [
            ("class=\"plot\"", 1),
            ("data-series=\"Congestion window\"><title>", 1),
            ("data-series=\"Bytes in flight\"><title>", 1),
            (">Ticks at the lower edge: packets declared lost.</text>", 1),
            ("stroke-width=\"0.8\"", 1),
        ] {
            assert_eq!(drawn.matches(words).count(), times, "{words}\n{drawn}");
        }
    }
}

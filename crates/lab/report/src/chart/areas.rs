//! Stacks a column of a run's flows over time, one panel per row. For goodput the upper edge is the
//! use of the link, and each band is a flow. Bands of one kind are neighbours.

use experiment::row::RowLabel;
use maud::{Markup, html};
use units::Duration;

use super::axis::{Scale, extent};
use super::bins::Bins;
use super::frame::{Frame, Plot};
use super::kinds::{Kind, Kinds, distinct};
use super::reference::{self, Reference};
use super::runs::Run;
use super::svg::{self, Anchor, Figure, TEXT, WIDTH};
use super::{Source, hatching, path, sharing, wanted};
use crate::number::{self, Column};
use results::summary::{RunLength, Track, Variant};

/// Most bands of a kind. Thinner ones could not be told apart.
const MOST_BANDS: usize = 8;
/// Most bands of a panel with several kinds, unless it has more kinds.
const MOST_TOGETHER: usize = 24;
/// Most bins of a panel. Narrower ones would be thinner than a line.
const MOST_BINS: usize = 240;
/// Most values of a figure, which keeps it below 300 kB.
const MOST_VALUES: usize = 40_000;
/// Height of all panels together, and the least and the most of one panel.
const PANELS: (f64, f64, f64) = (400.0, 64.0, 180.0);

/// Flows drawn as one area, usually one.
struct Band<'a> {
    kind: Kind<'a>,
    part: usize,
    parts: usize,
    flows: usize,
    /// Mean of these flows.
    mean: f64,
    /// Sum of these flows and all below them, in each bin.
    top: Vec<f64>,
}

struct Stacks<'a> {
    kinds: Kinds<'a>,
    bins: Bins,
    column: &'a str,
    words: Column,
    /// The common scale; `None` if each panel has its own.
    scale: Option<Scale>,
    height: f64,
    with_names: bool,
    source: &'a Source<'a>,
}

/// Draws one figure per variant, for the first of these columns.
pub(super) fn draw<'a>(
    source: &'a Source<'a>,
    title: &str,
    columns: &'a [String],
    rows: &[RowLabel],
    interval: Option<Duration>,
) -> Vec<Figure> {
    let column = columns.first().map_or("", String::as_str);
    let variants = &source.results.summary.variants;
    let shown: Vec<Vec<Run<'_>>> = variants.iter().map(|v| runs(source, v, rows)).collect();
    let flows: Vec<_> = shown.iter().flatten().flat_map(Run::tracks).collect();
    let tracks: Vec<_> = flows.iter().map(|(_, track)| *track).collect();
    let bands = |run: &Run<'_>| run.flows.len().min(kinds_of(run) * most_bands(run));
    let most_bands = shown.iter().map(|runs| runs.iter().map(bands).sum::<usize>()).max().unwrap_or(0);
    let most_bins = (MOST_VALUES / most_bands.max(1)).clamp(24, MOST_BINS);
    let (kinds, bins) = (
        Kinds::new(source, flows.iter().map(|f| f.0)),
        Bins::new(&tracks, source.start(), interval, most_bins),
    );
    let stacks: Vec<Vec<_>> = shown
        .iter()
        .map(|runs| runs.iter().map(|run| (run.row, stack(run, column, &kinds, &bins))).collect())
        .collect();
    let panels = variants.iter().zip(&stacks);
    let panels = panels.flat_map(|(v, stacks)| stacks.iter().map(move |(row, bands)| (&v.name, *row, bands)));
    let highest = panels.clone().map(|(.., bands)| height_of(bands)).fold(0.0, f64::max);
    let ends: Vec<(f64, f64)> = panels
        .filter_map(|(variant, row, bands)| {
            ends(bands, &reference::for_column(source, variant, row, column), highest)
        })
        .collect();
    let all = extent(ends.iter().flat_map(|(low, high)| [*low, *high]));
    let words = number::column(column, all.map_or(0.0, |(_, high)| high), &source.results.summary.variables);
    let most_runs = shown.iter().map(Vec::len).max().unwrap_or(0).max(1);
    let height = (PANELS.0 / most_runs as f64).clamp(PANELS.1, PANELS.2);
    let shared = !sharing::are_apart(ends.into_iter());
    let scale = shared.then(|| scale(all, &words, height));
    let frame = Stacks { kinds, bins, column, words, scale, height, with_names: most_runs > 1, source };
    variants.iter().zip(&stacks).map(|(v, stacks)| frame.figure(title, &v.name, stacks)).collect()
}

/// Returns the first repetitions with a time series.
fn runs<'a>(source: &'a Source<'a>, variant: &'a Variant, rows: &[RowLabel]) -> Vec<Run<'a>> {
    let runs = wanted(variant, rows).into_iter().filter_map(|row| Run::first(source, &variant.name, row));
    runs.filter(|run| run.tracks().next().is_some()).collect()
}

/// Returns the height of a panel's bands.
fn height_of(bands: &[Band<'_>]) -> f64 {
    bands.last().and_then(|band| extent(band.top.iter().copied())).map_or(0.0, |(_, high)| high)
}

/// Returns the values that a panel's scale must include. Reference lines far above `highest` are
/// left out.
fn ends(bands: &[Band<'_>], references: &[Reference], highest: f64) -> Option<(f64, f64)> {
    let tops = bands.last()?.top.iter().copied();
    extent(tops.chain(reference::ends(references, highest)))
}

fn scale(ends: Option<(f64, f64)>, words: &Column, height: f64) -> Scale {
    let ends = ends.map(|(low, high)| (low / words.divisor, high / words.divisor));
    Scale::values(ends, false, if height < 100.0 { 3 } else { 5 }).in_unit(&words.unit)
}

fn kinds_of(run: &Run<'_>) -> usize {
    distinct(run.tracks().map(|f| f.0)).len().max(1)
}

/// Returns the most bands of a kind.
fn most_bands(run: &Run<'_>) -> usize {
    (MOST_TOGETHER / kinds_of(run)).clamp(1, MOST_BANDS)
}

/// Returns a run's bands, lowest first.
fn stack<'a>(run: &Run<'a>, column: &str, kinds: &Kinds<'a>, bins: &Bins) -> Vec<Band<'a>> {
    let most = most_bands(run);
    let mut all: Vec<_> = kinds.iter().flat_map(|kind| bands(run, column, kind, most, bins)).collect();
    let mut below = vec![0.0; bins.count];
    for band in &mut all {
        add(&mut band.top, &below);
        below.clone_from(&band.top);
    }
    all
}

/// Returns the bands of a kind. Too many flows are combined with those of similar size.
fn bands<'a>(run: &Run<'a>, column: &str, kind: Kind<'a>, most: usize, bins: &Bins) -> Vec<Band<'a>> {
    let tracks = run.tracks().filter(|f| f.0 == kind).map(|f| f.1);
    let values =
        |t: &Track| bins.means(&t.times, t.columns.get(column).into_iter().flat_map(RunLength::iter));
    let mut flows: Vec<Vec<f64>> = tracks.map(values).collect();
    let parts = flows.len().min(most);
    if flows.len() > parts {
        flows.sort_by(|a, b| b.iter().sum::<f64>().total_cmp(&a.iter().sum()));
    }
    let band = |part: usize| {
        let members = &flows[part * flows.len() / parts..(part + 1) * flows.len() / parts];
        let mut top = vec![0.0; bins.count];
        members.iter().for_each(|flow| add(&mut top, flow));
        let mean = top.iter().sum::<f64>() / bins.count as f64;
        Band { kind, part, parts, flows: members.len(), mean, top }
    };
    (0..parts).map(band).collect()
}

fn add(sums: &mut [f64], values: &[f64]) {
    sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
}

impl Stacks<'_> {
    fn figure(&self, title: &str, variant: &str, stacks: &[(&str, Vec<Band<'_>>)]) -> Figure {
        let frame = match stacks {
            [] => Frame::placeholder(self.source.width, self.source.without_series()),
            _ => self.panels(variant, stacks),
        };
        frame.figure("area-time", title, variant)
    }

    fn panels(&self, variant: &str, stacks: &[(&str, Vec<Band<'_>>)]) -> Frame {
        let shown: Vec<_> = stacks.iter().flat_map(|(_, bands)| bands).map(|band| band.kind).collect();
        let mut frame = self.kinds.frame(self.source.layout(false), &shown);
        let head = if self.with_names { 24.0 } else { 10.0 };
        let first = frame.bottom + head;
        let time = Scale::exact(self.bins.start, self.bins.end, if frame.width > WIDTH { 12 } else { 6 })
            .in_unit("s");
        for (i, (row, bands)) in stacks.iter().enumerate() {
            let references = reference::for_column(self.source, variant, row, self.column);
            let own = || scale(ends(bands, &references, height_of(bands)), &self.words, self.height);
            let y = self.scale.clone().unwrap_or_else(own);
            let plot = frame.plot(head, self.height, &time, &y);
            if self.with_names {
                let (left, right) = frame.sides;
                frame.draw(svg::label(left, plot.span().0 - 6.0, TEXT, Anchor::Start, right - left, row));
            }
            frame.draw(self.panel(bands, &references, &plot, i + 1 == stacks.len()));
        }
        let own = self.scale.is_none().then_some("");
        let own = sharing::remark("panel", own.into_iter(), 1);
        let remarks: Vec<String> = own.into_iter().chain(remark(stacks)).collect();
        frame.y_name((first, frame.bottom), &number::with_unit(&self.words.label, &self.words.unit));
        frame.foot(&format!("Time (s), in bins of {}", self.bins.width()), &remarks);
        frame
    }

    fn panel(&self, bands: &[Band<'_>], references: &[Reference], plot: &Plot, is_last: bool) -> Markup {
        plot.group(&html! {
            (plot.grid(is_last))
            // Each area reaches down to the axis and is covered by the next lower one.
            @for band in bands.iter().rev() { (self.area(band, &plot.x, &plot.y)) }
            (plot.axis())
            (reference::draw(references, self.words.divisor, &plot.x, &plot.y))
        })
    }

    fn area(&self, band: &Band<'_>, time: &Scale, y: &Scale) -> Markup {
        let points = self.bins.line(&band.top).map(|(t, top)| (time.at(t), y.at(top / self.words.divisor)));
        let name = match (band.flows, band.parts) {
            (1, 1) => self.kinds.name(band.kind),
            (1, _) => format!("{}, flow {}", self.kinds.name(band.kind), band.part + 1),
            (flows, _) => format!("{}, {flows} flows", self.kinds.name(band.kind)),
        };
        let mean = number::fixed(band.mean / self.words.divisor, 2);
        let name = format!("{name}: mean {mean} {}", self.words.unit).trim().to_owned();
        let colour = self.kinds.fill(band.kind, band.part);
        // The stroke between thin bands would hide them.
        let is_thin = y.at(0.0) - y.at(band.mean / self.words.divisor) < 2.0;
        html! {
            (svg::area(&path::area(points, y.left()), &colour, if is_thin { 0.2 } else { 0.5 }, &name))
            // Hatching reaches down to the axis like the area, and the next lower area covers both.
            (hatching::between(self.kinds.style(band.kind).stripes, (time.left(), time.right()), |x| {
                Some((y.at(self.bins.value(&band.top, time.value(x))? / self.words.divisor), y.left()))
            }))
        }
    }
}

/// Describes bands of several flows.
fn remark(stacks: &[(&str, Vec<Band<'_>>)]) -> Option<String> {
    let bands = stacks.iter().flat_map(|(_, bands)| bands).filter(|band| band.flows > 1);
    let parts = bands.map(|band| band.parts).max()?;
    Some(format!("Many flows: {parts} bands per label, largest flows at the bottom."))
}

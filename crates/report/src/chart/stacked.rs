//! The goodput of a run's flows on top of each other over time, one panel per row: the upper edge is the link's use,
//! each band a flow. Bands of one kind are neighbours.

use experiment::row::RowLabel;
use std::collections::BTreeMap;

use maud::{Markup, html};
use units::Duration;

use super::axis::{Scale, extent};
use super::bins::Bins;
use super::kinds::{Kind, Kinds, distinct};
use super::reference::{self, Reference};
use super::svg::{self, Anchor, Figure, SMALL, TEXT, WIDTH};
use super::{Source, path, wanted};
use crate::colours::MUTED;
use results::summary::{Track, Variant};

const COLUMN: &str = "goodput_mbit_s";
/// A kind has no more bands than this: thinner ones could not be told apart.
const MOST_BANDS: usize = 8;
/// Bands of a panel with several kinds, unless it has more kinds.
const MOST_TOGETHER: usize = 24;
/// Bins of a panel: finer ones would be narrower than a line.
const MOST_BINS: usize = 240;
/// Values of a figure: less than 300 kB of it.
const MOST_VALUES: usize = 40_000;
const LEFT: f64 = 50.0;
/// Height of all panels together, and what one needs and can use of it.
const PANELS: (f64, f64, f64) = (400.0, 64.0, 180.0);

/// A row's first repetition.
struct Run<'a> {
    row: &'a str,
    flows: Vec<(Kind<'a>, &'a Track)>,
}

/// Flows that are drawn as one area, usually one.
struct Band<'a> {
    kind: Kind<'a>,
    part: usize,
    parts: usize,
    flows: usize,
    /// Mbit/s of these flows.
    mean: f64,
    /// Mbit/s in each bin, of these flows and of all below them.
    top: Vec<f64>,
}

/// What the panels share.
struct Frame<'a> {
    kinds: Kinds<'a>,
    bins: Bins,
    goodput: Scale,
    /// Height of a panel.
    height: f64,
    with_names: bool,
    source: &'a Source<'a>,
}

/// One figure per variant.
pub(super) fn draw<'a>(
    source: &'a Source<'a>,
    title: &str,
    rows: &[RowLabel],
    interval: Option<Duration>,
) -> Vec<Figure> {
    let variants = &source.results.summary.variants;
    let shown: Vec<Vec<Run<'_>>> = variants.iter().map(|v| runs(source, v, rows)).collect();
    let flows: Vec<_> = shown.iter().flatten().flat_map(|run| run.flows.iter().copied()).collect();
    let tracks: Vec<_> = flows.iter().map(|(_, track)| *track).collect();
    let bands = |run: &Run<'_>| run.flows.len().min(run.kinds() * run.most_bands());
    let most_bands = shown.iter().map(|runs| runs.iter().map(bands).sum::<usize>()).max().unwrap_or(0);
    let most_bins = (MOST_VALUES / most_bands.max(1)).clamp(24, MOST_BINS);
    let (kinds, bins) =
        (Kinds::of(source, flows.iter().map(|f| f.0)), Bins::of(&tracks, interval, most_bins));
    let stacks: Vec<Vec<_>> = shown
        .iter()
        .map(|runs| runs.iter().map(|run| (run.row, run.stack(&kinds, &bins))).collect())
        .collect();
    let most = |(v, runs): (&Variant, &Vec<Run<'_>>)| {
        let all = runs.iter().flat_map(|run| reference::of_column(source, &v.name, run.row, COLUMN));
        all.collect::<Vec<_>>()
    };
    let references: Vec<Reference> = variants.iter().zip(&shown).flat_map(most).collect();
    let tops =
        stacks.iter().flatten().filter_map(|(_, bands)| bands.last()).flat_map(|band| &band.top).copied();
    let highest = tops.clone().fold(0.0, f64::max);
    let ends = tops.chain(reference::ends(&references, highest));
    let most_runs = shown.iter().map(Vec::len).max().unwrap_or(0).max(1);
    let height = (PANELS.0 / most_runs as f64).clamp(PANELS.1, PANELS.2);
    let goodput = Scale::values(extent(ends), false, if height < 100.0 { 3 } else { 5 });
    let frame = Frame { kinds, bins, goodput, height, with_names: most_runs > 1, source };
    variants.iter().zip(&stacks).map(|(v, stacks)| frame.figure(title, &v.name, stacks)).collect()
}

fn runs<'a>(source: &'a Source<'a>, variant: &'a Variant, rows: &[RowLabel]) -> Vec<Run<'a>> {
    let of_row = |row: &'a str| {
        let tracks = source.first_run(&variant.name, row);
        let repetition = tracks.first()?.repetition;
        let known = source.flows(&variant.name, row).filter(|f| f.repetition == repetition);
        let known: BTreeMap<u32, Kind<'a>> = known.map(|f| (f.flow, Kind::of(f))).collect();
        let kind =
            |track: &Track| known.get(&track.flow).copied().unwrap_or_else(|| Kind::of_row(source, row));
        Some(Run { row, flows: tracks.into_iter().map(|t| (kind(t), t)).collect() })
    };
    wanted(variant, rows).into_iter().filter_map(of_row).collect()
}

impl<'a> Run<'a> {
    fn kinds(&self) -> usize {
        distinct(self.flows.iter().map(|f| f.0)).len().max(1)
    }

    /// Of a kind.
    fn most_bands(&self) -> usize {
        (MOST_TOGETHER / self.kinds()).clamp(1, MOST_BANDS)
    }

    /// Its bands, the lowest first.
    fn stack(&self, kinds: &Kinds<'a>, bins: &Bins) -> Vec<Band<'a>> {
        let most = self.most_bands();
        let mut bands: Vec<_> = kinds.iter().flat_map(|kind| self.bands(kind, most, bins)).collect();
        let mut below = vec![0.0; bins.count];
        for band in &mut bands {
            add(&mut band.top, &below);
            below.clone_from(&band.top);
        }
        bands
    }

    /// The bands of a kind. Too many flows are put together with those that got as much as they.
    fn bands(&self, kind: Kind<'a>, most: usize, bins: &Bins) -> Vec<Band<'a>> {
        let tracks = self.flows.iter().filter(|f| f.0 == kind).map(|f| f.1);
        let goodput = |t: &Track| bins.means(&t.times, t.columns.get(COLUMN).map_or(&[], Vec::as_slice));
        let mut flows: Vec<Vec<f64>> = tracks.map(goodput).collect();
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
}

fn add(sums: &mut [f64], values: &[f64]) {
    sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
}

impl Frame<'_> {
    fn figure(&self, title: &str, variant: &str, stacks: &[(&str, Vec<Band<'_>>)]) -> Figure {
        let (body, height) = match stacks {
            [] => (svg::nothing(self.source.width, 30.0, "no time series"), 50.0),
            _ => self.panels(variant, stacks),
        };
        Figure {
            kind: "stacked",
            title: title.to_owned(),
            variant: variant.to_owned(),
            width: self.source.width,
            height,
            body,
        }
    }

    fn panels(&self, variant: &str, stacks: &[(&str, Vec<Band<'_>>)]) -> (Markup, f64) {
        let shown: Vec<_> = stacks.iter().flat_map(|(_, bands)| bands).map(|band| band.kind).collect();
        let (legend, start) = self.kinds.legend(self.source.width, 4.0, &shown);
        let (height, head) = (self.height, if self.with_names { 24.0 } else { 10.0 });
        let first = start + head;
        let end = start + (head + height) * stacks.len() as f64;
        let remark = remark(stacks);
        let body = html! {
            (legend)
            @for (i, (row, bands)) in stacks.iter().enumerate() {
                @let top = first + (head + height) * i as f64;
                @if self.with_names { (svg::label(LEFT, top - 6.0, TEXT, Anchor::Start, self.right() - LEFT, row)) }
                @let references = reference::of_column(self.source, variant, row, COLUMN);
                (self.panel(bands, &references, (top, top + height), i + 1 == stacks.len()))
            }
            (svg::upright_name(first, end, "Goodput (Mbit/s)"))
            (svg::axis_name(LEFT, self.right(), end + 33.0, &format!("Time (s), in bins of {}", self.bins.width())))
            @if let Some(remark) = &remark { (svg::text(8.0, end + 50.0, SMALL, MUTED, Anchor::Start, remark)) }
        };
        (body, end + if remark.is_some() { 60.0 } else { 42.0 })
    }

    fn panel(
        &self,
        bands: &[Band<'_>],
        references: &[Reference],
        (top, bottom): (f64, f64),
        is_last: bool,
    ) -> Markup {
        let ticks = if self.source.width > WIDTH { 12 } else { 6 };
        let time = Scale::exact(0.0, self.bins.end, ticks).on(LEFT, self.right());
        let goodput = self.goodput.on(bottom, top);
        let inner = html! {
            (svg::grid_x(&time, top, bottom, is_last))
            (svg::grid_y(&goodput, LEFT, self.right()))
            // Each area reaches down to the axis and is covered by the next lower one.
            @for band in bands.iter().rev() { (self.area(band, &time, &goodput)) }
            (svg::floor(LEFT, self.right(), bottom))
            (reference::draw(references, 1.0, &time, &goodput))
        };
        svg::plot(&time, &goodput, &inner)
    }

    fn right(&self) -> f64 {
        self.source.width - 14.0
    }

    fn area(&self, band: &Band<'_>, time: &Scale, goodput: &Scale) -> Markup {
        let points = self.bins.line(&band.top).map(|(t, top)| (time.at(t), goodput.at(top)));
        let name = match (band.flows, band.parts) {
            (1, 1) => self.kinds.name(band.kind),
            (1, _) => format!("{}, flow {}", self.kinds.name(band.kind), band.part + 1),
            (flows, _) => format!("{}, {flows} flows", self.kinds.name(band.kind)),
        };
        let colour = self.kinds.fill(band.kind, band.part);
        // The paper between thin bands would hide them.
        let is_thin = goodput.at(0.0) - goodput.at(band.mean) < 2.0;
        svg::area(&path::area(points, goodput.left()), &colour, if is_thin { 0.2 } else { 0.5 }, &name)
    }
}

/// What a band is, if not a flow.
fn remark(stacks: &[(&str, Vec<Band<'_>>)]) -> Option<String> {
    let bands = stacks.iter().flat_map(|(_, bands)| bands).filter(|band| band.flows > 1);
    let parts = bands.map(|band| band.parts).max()?;
    Some(format!("Many flows: {parts} bands per label, the flows with most goodput at the bottom."))
}

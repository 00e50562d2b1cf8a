//! The distribution of RTTs: one curve per row or per variant.

use experiment::row::RowLabel;
use maud::html;

use super::axis::{Scale, extent};
use super::frame::{Frame, Layout};
use super::svg::{self, Figure};
use super::{Source, path, sharing, wanted};
use crate::distinct::distinct;
use crate::styles::Style;
use experiment::chart::{Colour, ScaleKind};
use results::summary::{Cdf, Variant};

const HEIGHT: f64 = 230.0;

struct Curve<'a> {
    name: &'a str,
    style: Style,
    cdf: &'a Cdf,
}

/// Draws one figure per variant with a curve per row, or one per row with a curve per variant.
pub(super) fn draw(
    source: &Source<'_>,
    title: &str,
    rows: &[RowLabel],
    colour: Colour,
    scale: ScaleKind,
) -> Vec<Figure> {
    let shown = if colour == Colour::Variant { by_row(source, rows) } else { by_variant(source, rows) };
    let ends: Vec<_> = shown.iter().map(|(_, curves)| ends(curves)).collect();
    let all = extent(ends.iter().flatten().flat_map(|(low, high)| [*low, *high]));
    let is_apart = scale == ScaleKind::Linear && sharing::are_apart(ends.iter().flatten().copied());
    let x_name = if is_apart { "RTT (ms); the figures have different scales" } else { "RTT (ms)" };
    let mut figures = Vec::new();
    for ((name, curves), own) in shown.iter().zip(ends) {
        let x = x_scale(if is_apart { own.or(all) } else { all }, scale);
        figures.push(figure(source.layout(true), (title, name), curves, &x, x_name));
    }
    figures
}

fn cdf<'a>(source: &Source<'a>, variant: &str, row: &str) -> Option<&'a Cdf> {
    source.results.rtt_cdf.iter().find(|c| c.variant == variant && c.row == row)
}

fn by_variant<'a>(source: &'a Source<'_>, rows: &[RowLabel]) -> Vec<(&'a str, Vec<Curve<'a>>)> {
    let curves = |variant: &'a Variant| {
        let curve = |name: &'a str| {
            Some(Curve { name, style: source.style(name), cdf: cdf(source, &variant.name, name)? })
        };
        (variant.name.as_str(), wanted(variant, rows).into_iter().filter_map(curve).collect())
    };
    source.results.summary.variants.iter().map(curves).collect()
}

fn by_row<'a>(source: &'a Source<'_>, rows: &[RowLabel]) -> Vec<(&'a str, Vec<Curve<'a>>)> {
    let variants = &source.results.summary.variants;
    let labels = distinct(variants.iter().flat_map(|variant| wanted(variant, rows)));
    let curves = |row: &'a str| {
        let curve = |(i, variant): (usize, &'a Variant)| {
            Some(Curve { name: &variant.name, style: Style::nth(i), cdf: cdf(source, &variant.name, row)? })
        };
        (row, variants.iter().enumerate().filter_map(curve).collect())
    };
    labels.into_iter().map(curves).collect()
}

/// Returns the range from the first sample to the largest 99.9th percentile. A single late sample
/// must not push all curves to the left.
fn ends(curves: &[Curve<'_>]) -> Option<(f64, f64)> {
    let of_curve = |cdf: &Cdf| {
        let start = cdf.points.iter().find(|(_, share)| *share > 0.0);
        let end = cdf.points.iter().find(|(_, share)| *share >= 0.999).or(cdf.points.last());
        [start, end].into_iter().flatten().map(|(rtt, _)| *rtt).collect::<Vec<_>>()
    };
    extent(curves.iter().flat_map(|curve| of_curve(curve.cdf)))
}

fn x_scale(ends: Option<(f64, f64)>, scale: ScaleKind) -> Scale {
    let (low, high) = ends.unwrap_or((0.0, 1.0));
    // A narrow distribution far from zero fills the chart. Otherwise zero is included.
    let from = if low > 0.3 * high { low } else { low.min(0.0) };
    let scale = if scale == ScaleKind::Log { Scale::log(low, high) } else { Scale::nice(from, high, 6) };
    scale.in_unit("ms")
}

fn figure(
    layout: Layout,
    (title, variant): (&str, &str),
    curves: &[Curve<'_>],
    x: &Scale,
    x_name: &str,
) -> Figure {
    let entries: Vec<_> = curves.iter().map(|c| (c.name, &c.style)).collect();
    let mut frame = Frame::with_legend(layout, &entries, svg::PIECE);
    let plot = frame.plot(14.0, HEIGHT, x, &Scale::exact(0.0, 100.0, 5).in_unit("%"));
    let (top, bottom) = plot.span();
    let share = Scale::exact(0.0, 1.0, 5).on(bottom, top);
    let is_empty = curves.iter().all(|c| c.cdf.points.is_empty());
    let inner = html! {
        (plot.grid(!is_empty))
        (plot.axis())
        @for curve in curves {
            @let data = path::steps(&curve.cdf.points, &plot.x, &share);
            @if !data.is_empty() { (svg::curve(&data, &curve.style, 1.8, curve.name)) }
        }
    };
    frame.draw(plot.group(&inner));
    if is_empty {
        frame.draw(svg::placeholder(frame.width, f64::midpoint(top, bottom), "no RTT samples"));
    }
    frame.axes(&plot, [x_name, "Share of samples (%)"], None);
    frame.figure("line-rtt", title, variant)
}

//! The distribution of RTTs: one curve per row.

use experiment::row::RowLabel;
use maud::html;

use super::axis::{Scale, extent};
use super::svg::{self, Figure, WIDTH};
use super::{Source, path, wanted};
use experiment::chart::ScaleKind;
use results::summary::{Cdf, Variant};

const LEFT: f64 = 50.0;
const RIGHT: f64 = WIDTH - 14.0;
const HEIGHT: f64 = 230.0;

/// One figure per variant.
pub(super) fn draw(source: &Source<'_>, title: &str, rows: &[RowLabel], scale: ScaleKind) -> Vec<Figure> {
    let variants = &source.results.summary.variants;
    let shown: Vec<(&Variant, Vec<&Cdf>)> = variants.iter().map(|v| (v, curves(source, v, rows))).collect();
    let x = x_scale(shown.iter().flat_map(|(_, cdfs)| cdfs.iter().copied()), scale);
    shown.iter().map(|(variant, cdfs)| figure(source, title, &variant.name, cdfs, &x)).collect()
}

fn curves<'a>(source: &Source<'a>, variant: &Variant, rows: &[RowLabel]) -> Vec<&'a Cdf> {
    let of_row =
        |label: &str| source.results.rtt_cdf.iter().find(|c| c.variant == variant.name && c.row == label);
    wanted(variant, rows).into_iter().filter_map(of_row).collect()
}

/// Up to the largest 99.9th percentile: one late sample must not press all curves to the left.
fn x_scale<'a>(cdfs: impl Iterator<Item = &'a Cdf>, scale: ScaleKind) -> Scale {
    let ends = cdfs.flat_map(|cdf| {
        let start = cdf.points.iter().find(|(_, share)| *share > 0.0);
        let end = cdf.points.iter().find(|(_, share)| *share >= 0.999).or(cdf.points.last());
        [start, end].into_iter().flatten().map(|(rtt, _)| *rtt)
    });
    let (low, high) = extent(ends).unwrap_or((0.0, 1.0));
    if scale == ScaleKind::Log {
        return Scale::log(low, high);
    }
    // A narrow distribution far from zero fills the chart; otherwise zero is part of it.
    Scale::nice(if low > 0.3 * high { low } else { low.min(0.0) }, high, 6)
}

fn figure(source: &Source<'_>, title: &str, variant: &str, cdfs: &[&Cdf], x: &Scale) -> Figure {
    let styles: Vec<_> = cdfs.iter().map(|c| source.style(c.row.as_str())).collect();
    let entries: Vec<_> = cdfs.iter().zip(&styles).map(|(c, s)| (c.row.as_str(), s)).collect();
    let (legend, legend_height) = svg::legend(WIDTH, 4.0, &entries, svg::PIECE);
    let top = legend_height + 14.0;
    let bottom = top + HEIGHT;
    let x = x.on(LEFT, RIGHT);
    let y = Scale::exact(0.0, 100.0, 5).on(bottom, top);
    let share = Scale::exact(0.0, 1.0, 5).on(bottom, top);
    let is_empty = cdfs.iter().all(|c| c.points.is_empty());
    let inner = html! {
        (svg::grid_x(&x, top, bottom, !is_empty))
        (svg::grid_y(&y, LEFT, RIGHT))
        (svg::floor(LEFT, RIGHT, bottom))
        @for (cdf, style) in cdfs.iter().zip(&styles) {
            @let data = path::steps(&cdf.points, &x, &share);
            @if !data.is_empty() { (svg::curve(&data, style, 1.8, cdf.row.as_str())) }
        }
    };
    let body = html! {
        (legend)
        (svg::plot(&x, &y, &inner))
        @if is_empty { (svg::nothing(WIDTH, f64::midpoint(top, bottom), "no RTT samples")) }
        (svg::axis_name(LEFT, RIGHT, bottom + 33.0, "RTT (ms)"))
        (svg::upright_name(top, bottom, "Share of samples (%)"))
    };
    Figure {
        kind: "rtt-cdf",
        title: title.to_owned(),
        variant: variant.to_owned(),
        width: WIDTH,
        height: bottom + 42.0,
        body,
    }
}

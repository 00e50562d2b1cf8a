//! The charts of an experiment, one figure per variant; grouped bars show all variants in one.

mod axis;
mod bars;
mod bins;
mod bode;
mod boxes;
mod cdf;
mod ellipse;
mod grouped_bars;
mod kinds;
mod loops;
mod nyquist;
mod over_time;
mod overlay;
mod path;
mod place;
mod plane;
mod shares;
mod stacked;
mod svg;

pub(super) use svg::Figure;
#[cfg(test)]
pub(super) use svg::{WIDTH, text_width};

use super::palette::{Palette, Style};
use experiment::chart::Chart;
use experiment::row::RowLabel;
use results::summary::{FlowRow, Results, Track, Variant};
use stability::Analysis;

/// What every chart is drawn from.
pub(super) struct Source<'a> {
    /// The experiment.
    pub(super) results: &'a Results,
    /// Styles of the report's rows.
    pub(super) palette: &'a Palette,
}

impl<'a> Source<'a> {
    /// The style of a row by its label; a row that is in no table gets one from its label.
    fn style(&self, label: &str) -> Style {
        let mut rows = self.results.summary.variants.iter().flat_map(|v| &v.rows);
        let algorithm = rows.find(|r| r.label == label).map_or(label, |r| r.algorithm.as_str());
        self.palette.style(algorithm, label)
    }

    /// The row's algorithm.
    fn algorithm<'l>(&'l self, label: &'l str) -> &'l str {
        let mut rows = self.results.summary.variants.iter().flat_map(|v| &v.rows);
        rows.find(|r| r.label == label).map_or(label, |r| r.algorithm.as_str())
    }

    /// The tracks of a row's first repetition, in the order of its flows.
    fn first_run(&self, variant: &str, row: &str) -> Vec<&'a Track> {
        let all = || self.results.series.iter().filter(|t| t.variant == variant && t.row == row);
        let first = all().map(|t| t.repetition).min();
        let mut tracks: Vec<_> = all().filter(|t| Some(t.repetition) == first).collect();
        tracks.sort_by_key(|t| t.flow);
        tracks
    }

    /// The flows of a row in all its repetitions.
    fn flows(&self, variant: &str, row: &str) -> impl Iterator<Item = &'a FlowRow> {
        self.results.flows.iter().filter(move |f| f.variant == variant && f.row == row)
    }
}

/// Draws a chart. Its figures share their scales, so that they can be compared.
pub(super) fn draw(source: &Source<'_>, chart: &Chart) -> Vec<Figure> {
    match chart {
        Chart::RttCdf { title, rows } => cdf::draw(source, title, rows),
        Chart::OverTime { title, metrics, rows } => over_time::draw(source, title, metrics, rows),
        Chart::Bars { title, metrics } => bars::draw(source, title, metrics),
        Chart::Box { title, metrics, rows } => boxes::draw(source, title, metrics, rows),
        Chart::GroupedBars { title, metrics } => grouped_bars::draw(source, title, metrics),
        Chart::Stacked { title, rows, interval } => stacked::draw(source, title, rows, *interval),
        Chart::Plane { title, rows } => plane::draw(source, title, rows),
        Chart::Shares { title, rows } => shares::draw(source, title, rows),
    }
}

/// The Nyquist plot and the Bode plot of an analysis, and its simulation.
pub(super) fn draw_loops(analysis: &Analysis) -> Vec<Figure> {
    let curves = loops::curves(analysis);
    let mut figures = vec![nyquist::draw(&curves), bode::draw(analysis, &curves)];
    figures.extend(analysis.simulation.as_ref().map(overlay::draw));
    figures
}

/// Labels to show in a variant, in the table's order.
fn wanted<'a>(variant: &'a Variant, rows: &[RowLabel]) -> Vec<&'a str> {
    let labels = variant.rows.iter().map(|r| r.label.as_str());
    labels.filter(|l| rows.is_empty() || rows.iter().any(|r| r == l)).collect()
}

//! The charts of an experiment, one figure per variant; grouped bars show all variants in one.

mod axis;
mod bars;
mod bins;
mod bode;
mod boxes;
mod cdf;
mod ellipse;
mod flows;
mod grouped_bars;
mod heatmap;
mod kinds;
mod line;
mod loops;
mod nyquist;
mod over_time;
mod overlay;
mod path;
mod place;
mod plane;
mod reference;
mod shares;
mod stacked;
mod svg;

pub(super) use svg::{Figure, WIDE, WIDTH, text_width};

use super::styles::{Palette, Style};
use experiment::chart::Chart;
use experiment::row::RowLabel;
use results::summary::{FlowRow, Results, Track, Variant};
use stability::Analysis;

/// What every chart is drawn from.
pub(super) struct Source<'a> {
    /// The experiment.
    pub(super) results: &'a Results,
    /// Colours of the report's algorithms.
    palette: &'a Palette,
    /// Of the charts that can be of any width.
    width: f64,
    /// The experiment's rows and how they look.
    styles: Vec<(&'a str, Style)>,
}

impl<'a> Source<'a> {
    /// An experiment of a report, for charts of this width.
    pub(super) fn new(results: &'a Results, palette: &'a Palette, width: f64) -> Self {
        let mut rows: Vec<(&str, &str)> = Vec::new();
        for row in results.summary.variants.iter().flat_map(|v| &v.rows) {
            if !rows.iter().any(|(label, _)| *label == row.label.as_str()) {
                rows.push((row.label.as_str(), &row.algorithm));
            }
        }
        let styles = palette.styles(&rows.iter().map(|(_, algorithm)| *algorithm).collect::<Vec<_>>());
        Self {
            results,
            palette,
            width,
            styles: rows.into_iter().map(|(label, _)| label).zip(styles).collect(),
        }
    }

    /// The style of a row by its label.
    fn style(&self, label: &str) -> Style {
        let known = self.styles.iter().find(|(l, _)| *l == label).map(|(_, style)| style.clone());
        known.unwrap_or_else(|| Style::plain(self.palette.colour(label)))
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
        Chart::RttCdf { title, rows, scale } => cdf::draw(source, title, rows, *scale),
        Chart::OverTime { title, metrics, rows, y_scale } => {
            over_time::draw(source, title, metrics, rows, *y_scale)
        }
        Chart::Line { title, x, metrics, y_scale, spots } => {
            line::draw(source, &line::Chart { title, x, metrics, y_scale: *y_scale, spots })
        }
        Chart::Heatmap { title, x, y, metric, spots } => {
            heatmap::draw(source, &heatmap::Chart { title, x, y, metric, spots })
        }
        Chart::Bars { title, metrics } => bars::draw(source, title, metrics),
        Chart::Box { title, metrics, rows } => boxes::draw(source, title, metrics, rows),
        Chart::GroupedBars { title, metrics } => grouped_bars::draw(source, title, metrics),
        Chart::Stacked { title, rows, interval } => stacked::draw(source, title, rows, *interval),
        Chart::Plane { title, rows } => plane::draw(source, title, rows),
        Chart::Shares { title, rows } => shares::draw(source, title, rows),
    }
}

/// Whether a chart is drawn a second time for a page that is wider than a column.
pub(super) fn gains_by_width(chart: &Chart) -> bool {
    matches!(
        chart,
        Chart::OverTime { .. } | Chart::Stacked { .. } | Chart::Line { .. } | Chart::GroupedBars { .. }
    )
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

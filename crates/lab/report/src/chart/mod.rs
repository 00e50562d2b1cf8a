//! Charts of an experiment: one figure per variant, or one for all.

mod areas;
mod axis;
mod bins;
mod bode;
mod cdf;
mod cells;
mod ellipse;
mod envelope;
mod flows;
mod frame;
mod hatching;
mod kinds;
mod lines;
mod loops;
mod nyquist;
mod over_time;
mod overlay;
mod part;
mod path;
mod place;
mod reference;
mod runs;
mod scatter;
mod sequence;
mod shares;
mod sharing;
mod sheet;
mod svg;
#[cfg(test)]
mod tests;
mod ticks;

pub use envelope::Cloud;
pub use lines::Line;
use svg::TEXT;
#[cfg(feature = "figures")]
pub(super) use svg::TYPEFACE;
pub(super) use svg::{Figure, WIDE, WIDTH, text_width};

use std::collections::BTreeSet;

use super::distinct::distinct;
use super::styles::{Palette, Style};
use experiment::chart::{Along, Chart, Data, Mark, Spot};
use experiment::metric::Metric;
use experiment::print::{Legend, POINTS};
use experiment::row::RowLabel;
use frame::Layout;
use results::summary::{Cell, Results, Variant};
use stability::Analysis;

/// Most places on an axis that a column is wide enough for.
const FEW: usize = 3;

/// The data and styles that every chart is drawn from.
pub(super) struct Source<'a> {
    pub(super) results: &'a Results,
    palette: &'a Palette,
    /// Width of charts that have no fixed width, and of the others.
    width: f64,
    column: f64,
    legend: Legend,
    /// Part of the run that is drawn, in seconds.
    part: Option<(f64, f64)>,
    /// The experiment's rows with their styles.
    styles: Vec<(&'a str, Style)>,
}

impl<'a> Source<'a> {
    /// Creates the source for charts of this width.
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
            column: WIDTH,
            legend: Legend::Top,
            part: None,
            styles: rows.into_iter().map(|(label, _)| label).zip(styles).collect(),
        }
    }

    /// Returns the start of the part that is drawn.
    fn start(&self) -> f64 {
        self.part.map_or(0.0, |(start, _)| start)
    }

    /// Describes a chart without lines.
    fn without_series(&self) -> &'static str {
        if self.part.is_some() { "no samples in this part of the run" } else { "no time series" }
    }

    /// Returns the layout of a chart with and without a fixed width.
    fn layout(&self, is_fixed: bool) -> Layout {
        Layout { width: if is_fixed { self.column } else { self.width }, legend: self.legend }
    }

    /// Returns the style of a row.
    fn style(&self, label: &str) -> Style {
        let known = self.styles.iter().find(|(l, _)| *l == label).map(|(_, style)| style.clone());
        known.unwrap_or_else(|| Style::plain(self.palette.colour(label)))
    }

    /// Returns the algorithm of a row.
    fn algorithm<'l>(&'l self, label: &'l str) -> &'l str {
        let mut rows = self.results.summary.variants.iter().flat_map(|v| &v.rows);
        rows.find(|r| r.label == label).map_or(label, |r| r.algorithm.as_str())
    }

    /// Returns the cell that a spot shows of a metric.
    fn cell(&self, spot: &Spot, metric: &Metric) -> Option<&'a Cell> {
        let variant = self.results.summary.variants.iter().find(|v| v.name == spot.variant)?;
        variant.rows.iter().find(|row| row.label == spot.row)?.cells.get(metric)
    }
}

/// Draws clouds with their hulls. `names` are those of the x and y axes.
pub(super) fn draw_envelopes(title: &str, names: [&str; 2], clouds: &[Cloud]) -> Figure {
    envelope::draw(title, names, clouds)
}

/// Draws values over an axis as lines. `names` are those of the x and y axes.
pub(super) fn draw_lines(title: &str, names: [&str; 2], lines: &[Line]) -> Figure {
    lines::draw(title, names, lines)
}

/// Draws a chart for paper, in its width and size of text.
pub(super) fn draw_printed(source: &Source<'_>, chart: &Chart) -> Vec<Figure> {
    let unit = chart.print.font_size() / TEXT / POINTS;
    let width = chart.print.width() / unit;
    let source = Source { width, column: width, styles: source.styles.clone(), ..*source };
    let figures = draw(&source, chart).into_iter();
    figures.map(|figure| Figure { unit: Some(unit), ..figure }).collect()
}

/// Draws a chart. Its figures share their scales unless their values are too different.
pub(super) fn draw(source: &Source<'_>, chart: &Chart) -> Vec<Figure> {
    let cropped = part::crop(source.results, chart);
    let (results, part) = cropped.as_ref().map_or((source.results, None), |(all, part)| (all, Some(*part)));
    let legend = chart.print.legend.unwrap_or_default();
    draw_all(&Source { results, part, legend, styles: source.styles.clone(), ..*source }, chart)
}

fn draw_all(source: &Source<'_>, chart: &Chart) -> Vec<Figure> {
    let Chart { title, mark, rows, scale, y_scale, together, print, data } = chart;
    let figures = match data {
        Data::Series { columns, interval, .. } if *mark == Mark::Area => {
            areas::draw(source, title, columns, rows, *interval)
        }
        Data::Series { .. } => over_time::draw(source, chart),
        Data::Samples { colour } => cdf::draw(source, title, rows, *colour, *scale),
        Data::Flows { x, y, of_flows, colour } => {
            let axes = [(x, *scale), (y, *y_scale)];
            scatter::draw(
                source,
                &scatter::Points { title, rows, axes, of_flows: *of_flows, colour: *colour },
            )
        }
        Data::Shares { metric } => shares::draw(source, title, rows, metric),
        Data::Packets { start, end } => {
            let within = (print.from.unwrap_or(*start).max(*start), print.to.unwrap_or(*end).min(*end));
            sequence::draw(source, title, rows, within)
        }
        Data::Script { steps } => vec![sequence::draw_script(source.column, title, steps)],
        Data::Cells { x, metrics, overlaid, published, spots } => {
            let (mark, y_scale, overlaid, published) = (*mark, *y_scale, *overlaid, *published);
            let cells = cells::Cells { title, mark, y_scale, x, metrics, overlaid, published, spots };
            return cells::draw(source, &cells, *together);
        }
    };
    if *together { sheet::combine(source, figures) } else { figures }
}

/// Reports whether a chart gains by a second figure across the page.
pub(super) fn gains_by_width(chart: &Chart) -> bool {
    match &chart.data {
        Data::Series { .. } => true,
        Data::Cells { x, .. } if x.along == Along::Rows => false,
        Data::Cells { x, spots, .. } => {
            // A few bars do not need the whole width.
            let facets = distinct(spots.iter().map(|spot| spot.facet.as_str())).len();
            let places = spots.iter().filter_map(|spot| spot.at.first()).map(|at| at.to_bits());
            x.words.is_empty() || facets > 1 || places.collect::<BTreeSet<_>>().len() > FEW
        }
        Data::Packets { .. } | Data::Script { .. } => false,
        Data::Samples { .. } | Data::Flows { .. } | Data::Shares { .. } => chart.together,
    }
}

/// Draws the Nyquist plot, the Bode plot and the simulation of an analysis.
pub(super) fn draw_loops(analysis: &Analysis) -> Vec<Figure> {
    let curves = loops::curves(analysis);
    let mut figures = vec![nyquist::draw(&curves), bode::draw(analysis, &curves)];
    figures.extend(analysis.simulation.as_ref().map(overlay::draw));
    figures
}

/// Returns the labels to show in a variant, in the table's order.
fn wanted<'a>(variant: &'a Variant, rows: &[RowLabel]) -> Vec<&'a str> {
    let labels = variant.rows.iter().map(|r| r.label.as_str());
    labels.filter(|l| rows.is_empty() || rows.iter().any(|r| r == l)).collect()
}

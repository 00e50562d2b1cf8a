//! The charts of an experiment, one figure per variant.

mod axis;
mod bars;
mod cdf;
mod over_time;
mod path;
mod svg;

pub(super) use svg::Figure;

use super::palette::{Palette, Style};
use crate::summary::{Chart, Results, Variant};

/// What every chart is drawn from.
pub(super) struct Source<'a> {
    /// The experiment.
    pub(super) results: &'a Results,
    /// Styles of the report's rows.
    pub(super) palette: &'a Palette,
}

impl Source<'_> {
    /// The style of a row by its label; a row that is in no table gets one from its label.
    fn style(&self, label: &str) -> Style {
        let mut rows = self.results.summary.variants.iter().flat_map(|v| &v.rows);
        let algorithm = rows.find(|r| r.label == label).map_or(label, |r| r.algorithm.as_str());
        self.palette.style(algorithm, label)
    }

    /// The row's algorithm.
    fn algorithm<'a>(&'a self, label: &'a str) -> &'a str {
        let mut rows = self.results.summary.variants.iter().flat_map(|v| &v.rows);
        rows.find(|r| r.label == label).map_or(label, |r| r.algorithm.as_str())
    }
}

/// Draws a chart for each variant. They share their scales, so that they can be compared.
pub(super) fn draw(source: &Source<'_>, chart: &Chart) -> Vec<Figure> {
    match chart {
        Chart::RttCdf { title, rows } => cdf::draw(source, title, rows),
        Chart::OverTime { title, metrics, rows } => over_time::draw(source, title, metrics, rows),
        Chart::Bars { title, metrics } => bars::draw(source, title, metrics),
    }
}

/// Labels to show in a variant, in the table's order.
fn wanted<'a>(variant: &'a Variant, rows: &[String]) -> Vec<&'a str> {
    let labels = variant.rows.iter().map(|r| r.label.as_str());
    labels.filter(|l| rows.is_empty() || rows.iter().any(|r| r == l)).collect()
}

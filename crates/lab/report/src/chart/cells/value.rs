//! The value of a cell as a mark shows it, with its spread and the published value.

use experiment::chart::Spot;
use experiment::metric::Metric;
use results::summary::Cell;

use crate::chart::Source;
use crate::chart::axis::is_drawable;
use crate::number;

/// A value with its spread.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Value {
    pub(super) centre: f64,
    /// Mean minus and plus the deviation over the repetitions, limited to the metric's range.
    pub(super) spread: Option<(f64, f64)>,
    pub(super) published: Option<f64>,
    deviation: Option<f64>,
}

impl Value {
    /// Returns the value of a spot, if it can be drawn.
    pub(super) fn new(source: &Source<'_>, spot: &Spot, metric: &Metric) -> Option<Self> {
        let cell = source.cell(spot, metric)?;
        let (low, high) = (cell.value() - spread(cell), upper(cell, metric));
        is_drawable(cell.value()).then(|| Self {
            centre: cell.value(),
            spread: (spread(cell) > 0.0 && is_drawable(low) && is_drawable(high)).then_some((low, high)),
            published: cell.published.filter(|value| is_drawable(*value)),
            deviation: cell.spread,
        })
    }

    /// Returns the values that an axis must include.
    pub(super) fn ends(&self, with_published: bool) -> impl Iterator<Item = f64> {
        let published = self.published.filter(|_| with_published);
        std::iter::once(self.centre).chain(self.spread.map(|(_, high)| high)).chain(published)
    }

    /// Describes the value: `9.21 ± 0.02 Mbit/s`.
    pub(super) fn words(&self, metric: &Metric) -> String {
        let Some(deviation) = self.deviation else { return number::valued(metric, self.centre) };
        let decimals = number::decimals(metric, self.centre, Some(deviation));
        let both = [self.centre, deviation].map(|v| number::fixed(v, decimals)).join(" ± ");
        format!("{both} {}", metric.unit()).trim().to_owned()
    }
}

/// Returns the deviation over the repetitions, 0 if it cannot be drawn.
pub(super) fn spread(cell: &Cell) -> f64 {
    cell.spread.filter(|spread| is_drawable(*spread)).map_or(0.0, |spread| spread.max(0.0))
}

/// Returns the upper end of a cell's whisker. It stays within the metric's range.
pub(super) fn upper(cell: &Cell, metric: &Metric) -> f64 {
    let most = metric.quantity().and_then(|quantity| quantity.max).unwrap_or(f64::INFINITY);
    (cell.value() + spread(cell)).min(most).max(cell.value())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(mean: f64, spread: Option<f64>) -> Cell {
        Cell { mean, spread, ..Cell::default() }
    }

    #[test]
    fn a_whisker_ends_where_the_metric_does() {
        let cell = cell(0.98, Some(0.1));
        assert_eq!(upper(&cell, &"jain".into()), 1.0);
        assert!((upper(&cell, &"goodput".into()) - 1.08).abs() < 1e-12);
    }
}

//! The value of a cell as a mark shows it, with its spread and the published value.

use experiment::chart::{Mark, RTT_SAMPLES, Spot};
use experiment::metric::Metric;
use results::summary::{Cdf, Cell, Quartiles};

use crate::chart::Source;
use crate::chart::axis::is_drawable;
use crate::number;

/// Metric with the unit and decimals of RTT samples.
const RTT: &str = "rtt_mean";

/// A value with its spread.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Value {
    pub(super) centre: f64,
    /// Mean minus and plus the deviation over the repetitions, limited to the metric's range.
    pub(super) spread: Option<(f64, f64)>,
    /// Quartiles, for boxes only.
    pub(super) quartiles: Option<Quartiles>,
    pub(super) published: Option<f64>,
    deviation: Option<f64>,
}

impl Value {
    /// Returns the value of a spot, if it can be drawn.
    pub(super) fn new(source: &Source<'_>, spot: &Spot, metric: &Metric, mark: Mark) -> Option<Self> {
        if *metric == RTT_SAMPLES {
            let mut all = source.results.rtt_cdf.iter();
            let quartiles = of_samples(all.find(|cdf| cdf.variant == spot.variant && cdf.row == spot.row)?)?;
            return Self::from_quartiles(quartiles, None);
        }
        let cell = source.cell(spot, metric)?;
        if mark == Mark::Box {
            return Self::from_quartiles(of_runs(cell), cell.published);
        }
        let (low, high) = (cell.value() - spread(cell), upper(cell, metric));
        is_drawable(cell.value()).then(|| Self {
            centre: cell.value(),
            spread: (spread(cell) > 0.0 && is_drawable(low) && is_drawable(high)).then_some((low, high)),
            quartiles: None,
            published: cell.published.filter(|value| is_drawable(*value)),
            deviation: cell.spread,
        })
    }

    fn from_quartiles(quartiles: Quartiles, published: Option<f64>) -> Option<Self> {
        let all = [quartiles.min, quartiles.lower, quartiles.median, quartiles.upper, quartiles.max];
        all.iter().all(|v| is_drawable(*v)).then_some(Self {
            centre: quartiles.median,
            spread: None,
            quartiles: Some(quartiles),
            published,
            deviation: None,
        })
    }

    /// Returns the values that an axis must include.
    pub(super) fn ends(&self, with_published: bool) -> impl Iterator<Item = f64> {
        let quartiles = self.quartiles.iter().flat_map(|quartiles| [quartiles.min, quartiles.max]);
        let published = self.published.filter(|_| with_published);
        let all = quartiles.chain([self.centre]).chain(self.spread.map(|(_, high)| high)).chain(published);
        all.collect::<Vec<_>>().into_iter()
    }

    /// Describes the value: `9.21 ± 0.02 Mbit/s`, or the five numbers of a box.
    pub(super) fn words(&self, metric: &Metric) -> String {
        let shown = |value| number::valued(measured(metric), value);
        match (&self.quartiles, self.deviation) {
            (Some(quartiles), _) => format!(
                "median {}, quartiles {} and {}, from {} to {}",
                shown(quartiles.median),
                shown(quartiles.lower),
                shown(quartiles.upper),
                shown(quartiles.min),
                shown(quartiles.max)
            ),
            (None, Some(deviation)) => {
                let decimals = number::decimals(metric, self.centre, Some(deviation));
                let both = [self.centre, deviation].map(|v| number::fixed(v, decimals)).join(" ± ");
                format!("{both} {}", metric.unit()).trim().to_owned()
            }
            _ => shown(self.centre),
        }
    }
}

/// Returns the metric whose unit and decimals a panel has.
pub(super) fn measured(metric: &Metric) -> &Metric {
    static SAMPLES: std::sync::LazyLock<Metric> = std::sync::LazyLock::new(|| Metric::new(RTT));
    if *metric == RTT_SAMPLES { &SAMPLES } else { metric }
}

/// Returns the name of a panel without its unit.
pub(super) fn label(metric: &Metric) -> String {
    if *metric == RTT_SAMPLES { "RTT samples".to_owned() } else { number::metric(metric).label }
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

/// Returns the quartiles of the runs. A single run is all five of them.
fn of_runs(cell: &Cell) -> Quartiles {
    let one = cell.mean;
    cell.runs.unwrap_or(Quartiles { min: one, lower: one, median: one, upper: one, max: one })
}

/// Returns the quartiles of a distribution.
fn of_samples(cdf: &Cdf) -> Option<Quartiles> {
    let at = |share: f64| cdf.points.iter().find(|(_, s)| *s >= share).map(|(rtt, _)| *rtt);
    let (min, max) = (cdf.points.first()?.0, cdf.points.last()?.0);
    Some(Quartiles { min, lower: at(0.25)?, median: at(0.5)?, upper: at(0.75)?, max })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(mean: f64, spread: Option<f64>) -> Cell {
        Cell { mean, spread, runs: None, shown: None, published: None, reason: None, open: false }
    }

    #[test]
    fn a_whisker_ends_where_the_metric_does() {
        let cell = cell(0.98, Some(0.1));
        assert_eq!(upper(&cell, &"jain".into()), 1.0);
        assert!((upper(&cell, &"goodput".into()) - 1.08).abs() < 1e-12);
    }

    #[test]
    fn quartiles_of_a_distribution() {
        let points = (1..=100).map(|i| (f64::from(i), f64::from(i) / 100.0)).collect();
        let cdf = Cdf { variant: String::new(), row: "".into(), points };
        let quartiles = of_samples(&cdf).unwrap();
        assert_eq!(
            (quartiles.min, quartiles.lower, quartiles.median, quartiles.upper, quartiles.max),
            (1.0, 25.0, 50.0, 75.0, 100.0)
        );
        assert_eq!(of_samples(&Cdf { points: Vec::new(), ..cdf }), None);
    }

    #[test]
    fn one_run_is_a_line() {
        let quartiles = of_runs(&cell(3.0, None));
        assert_eq!((quartiles.min, quartiles.median, quartiles.max), (3.0, 3.0, 3.0));
    }
}

//! What a mark shows of a cell: a value, how far it scatters, and what the source prints.

use experiment::chart::{Mark, RTT_SAMPLES, Spot};
use experiment::metric::Metric;
use results::summary::{Cdf, Cell, Quartiles};

use crate::chart::Source;
use crate::chart::axis::is_drawable;
use crate::number;

/// What the distribution of RTTs is measured like.
const RTT: &str = "rtt_mean";

/// A value with what lies around it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Value {
    pub(super) centre: f64,
    /// The deviation over the repetitions around it: no further than the metric goes.
    pub(super) spread: Option<(f64, f64)>,
    /// Of boxes alone.
    pub(super) five: Option<Quartiles>,
    pub(super) published: Option<f64>,
    deviation: Option<f64>,
}

impl Value {
    /// Of a row of a variant; none if it cannot be drawn.
    pub(super) fn of(source: &Source<'_>, spot: &Spot, metric: &Metric, mark: Mark) -> Option<Self> {
        if *metric == RTT_SAMPLES {
            let mut all = source.results.rtt_cdf.iter();
            let five = of_samples(all.find(|cdf| cdf.variant == spot.variant && cdf.row == spot.row)?)?;
            return Self::of_five(five, None);
        }
        let cell = source.cell(spot, metric)?;
        if mark == Mark::Box {
            return Self::of_five(of_runs(cell), cell.published);
        }
        let (low, high) = (cell.value() - spread(cell), upper(cell, metric));
        is_drawable(cell.value()).then(|| Self {
            centre: cell.value(),
            spread: (spread(cell) > 0.0 && is_drawable(low) && is_drawable(high)).then_some((low, high)),
            five: None,
            published: cell.published.filter(|value| is_drawable(*value)),
            deviation: cell.spread,
        })
    }

    fn of_five(five: Quartiles, published: Option<f64>) -> Option<Self> {
        let all = [five.min, five.lower, five.median, five.upper, five.max];
        all.iter().all(|v| is_drawable(*v)).then_some(Self {
            centre: five.median,
            spread: None,
            five: Some(five),
            published,
            deviation: None,
        })
    }

    /// What an axis must reach.
    pub(super) fn ends(&self, with_published: bool) -> impl Iterator<Item = f64> {
        let five = self.five.iter().flat_map(|five| [five.min, five.max]);
        let published = self.published.filter(|_| with_published);
        let all = five.chain([self.centre]).chain(self.spread.map(|(_, high)| high)).chain(published);
        all.collect::<Vec<_>>().into_iter()
    }

    /// `9.21 ± 0.02 Mbit/s`; of a box its five numbers.
    pub(super) fn words(&self, metric: &Metric) -> String {
        let shown = |value| number::valued(measured(metric), value);
        match (&self.five, self.deviation) {
            (Some(five), _) => format!(
                "median {}, quartiles {} and {}, from {} to {}",
                shown(five.median),
                shown(five.lower),
                shown(five.upper),
                shown(five.min),
                shown(five.max)
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

/// The metric whose unit and decimals a panel has.
pub(super) fn measured(metric: &Metric) -> &Metric {
    static SAMPLES: std::sync::LazyLock<Metric> = std::sync::LazyLock::new(|| Metric::new(RTT));
    if *metric == RTT_SAMPLES { &SAMPLES } else { metric }
}

/// What a panel is called, without its unit.
pub(super) fn label(metric: &Metric) -> String {
    if *metric == RTT_SAMPLES { "RTT samples".to_owned() } else { number::metric(metric).label }
}

/// The deviation over the repetitions, if it can be drawn.
pub(super) fn spread(cell: &Cell) -> f64 {
    cell.spread.filter(|spread| is_drawable(*spread)).map_or(0.0, |spread| spread.max(0.0))
}

/// Where a cell's deviation ends: it may reach beyond what can be, its whisker must not.
pub(super) fn upper(cell: &Cell, metric: &Metric) -> f64 {
    let most = metric.quantity().and_then(|quantity| quantity.most).unwrap_or(f64::INFINITY);
    (cell.value() + spread(cell)).min(most).max(cell.value())
}

/// A single run is where it is.
fn of_runs(cell: &Cell) -> Quartiles {
    let one = cell.mean;
    cell.runs.unwrap_or(Quartiles { min: one, lower: one, median: one, upper: one, max: one })
}

/// By the points of the distribution.
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
        let five = of_samples(&cdf).unwrap();
        assert_eq!((five.min, five.lower, five.median, five.upper, five.max), (1.0, 25.0, 50.0, 75.0, 100.0));
        assert_eq!(of_samples(&Cdf { points: Vec::new(), ..cdf }), None);
    }

    #[test]
    fn one_run_is_a_line() {
        let five = of_runs(&cell(3.0, None));
        assert_eq!((five.min, five.median, five.max), (3.0, 3.0, 3.0));
    }
}

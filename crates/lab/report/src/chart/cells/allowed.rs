//! Limits of the network over a varied key: the capacity, which follows the key if that is the
//! rate, and the base RTT.

use experiment::chart::Spot;
use experiment::metric::Metric;
use maud::{Markup, html};
use results::network::{Course, Network};

use crate::chart::axis::{Scale, extent};
use crate::chart::{Source, path, reference, svg};
use crate::distinct::distinct;

/// A line higher than this many times the values is left out, because it would leave them no space.
const MOST: f64 = 3.0;

/// A line: places on the axis with values.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Line(Vec<(f64, f64)>);

impl Line {
    pub(super) fn values(&self) -> impl Iterator<Item = f64> {
        self.0.iter().map(|(_, value)| *value)
    }
}

/// Returns the name of a metric's limit.
pub(super) fn name(metric: &Metric) -> Option<&'static str> {
    match metric.word() {
        "goodput" | "throughput" | "total_goodput" | "wire_throughput" => Some("capacity"),
        "utilization" if metric.scope().is_none() => Some("capacity"),
        "rtt_mean" | "rtt_min" | "rtt_max" => Some("base RTT"),
        quantile if quantile.starts_with("rtt_p") => Some("base RTT"),
        _ => None,
    }
}

/// Returns the lines of a panel without repeats. There are none unless all metrics have the same
/// kind and all spots a value.
pub(super) fn lines(source: &Source<'_>, spots: &[&Spot], metrics: &[&Metric]) -> Vec<Line> {
    let [first, others @ ..] = metrics else { return Vec::new() };
    let is_alike = |other: &&Metric| name(other) == name(first) && other.unit() == first.unit();
    if name(first).is_none() || !others.iter().all(is_alike) {
        return Vec::new();
    }
    let series = distinct(spots.iter().map(|spot| spot.series.as_str()));
    let of_series = |series: &str| -> Option<Line> {
        let mine = spots.iter().filter(|spot| spot.series == series);
        let mut points: Vec<(f64, f64)> = mine
            .map(|spot| Some((*spot.at.first()?, allowed(source, spot, first)?)))
            .collect::<Option<_>>()?;
        points.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
        points.dedup();
        // Two values at one place are not a line.
        points.windows(2).all(|w| w[0].0 < w[1].0).then_some(Line(points))
    };
    let all: Option<Vec<Line>> = series.into_iter().map(of_series).collect();
    let known = distinct(all.unwrap_or_default());
    if known.len() > reference::MOST_LINES { Vec::new() } else { known }
}

/// Returns the limit of a row's network, if it is one value.
fn allowed(source: &Source<'_>, spot: &Spot, metric: &Metric) -> Option<f64> {
    let one = |course: &Course| if let [(_, value)] = course[..] { Some(value) } else { None };
    let network: &Network = reference::network(source, &spot.variant, spot.row.as_str())?;
    match (name(metric)?, &network.base_rtt[..]) {
        ("base RTT", [course]) => one(course),
        ("base RTT", _) => None,
        _ if metric.word() == "utilization" => (!network.capacity.is_empty()).then_some(100.0),
        _ => one(&network.capacity),
    }
}

/// Returns the lines' values that do not stretch the axis too far.
pub(super) fn ends(lines: &[Line], values: &[f64]) -> Vec<f64> {
    let highest = extent(values.iter().copied()).map_or(0.0, |(_, high)| high);
    lines.iter().flat_map(Line::values).filter(|value| *value <= MOST * highest).collect()
}

/// Draws each line: across the panel if it is constant, otherwise from value to value.
pub(super) fn draw(lines: &[Line], name: &str, x: &Scale, y: &Scale) -> Markup {
    let point = |(at, value): (f64, f64)| y.has(value).then(|| (x.at(at), y.at(value)));
    let data = |Line(points): &Line| match points.first() {
        Some((_, value)) if points.iter().all(|(_, other)| other == value) => {
            path::polyline([x.low(), x.high()].into_iter().map(|at| point((at, *value))))
        }
        _ => path::polyline(points.iter().copied().map(point)),
    };
    html! {
        @for line in lines.iter().map(data).filter(|data| !data.is_empty()) {
            g class="reference" { (svg::curve(&line, &reference::style(), 1.1, name)) }
        }
    }
}

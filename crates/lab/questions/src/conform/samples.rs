//! Samples from the runs of a row on one network: windows if the stack reports them, and the
//! measurements of the link, which exist for processes on the wire too.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;

use experiment::file::Experiment;
use experiment::row::RowLabel;
use results::store;
use results::summary::{Results, Track};
use scenario::{RunLength, Scenario};
use serde::Serialize;

use super::distance::{mean, relative};
use super::hull::Point;

/// Columns of the series that are read.
const COLUMNS: [&str; 4] = ["cwnd_bytes", "bytes_in_flight", "queue_bytes", "goodput_mbit_s"];
/// Share of the window below which a fall counts as a reduction.
const REDUCED: f64 = 0.9;
/// RTTs between two samples of the envelope, as in QUICbench.
const STEP: f64 = 10.0;

/// The network of a variant in the units of the samples.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Network {
    /// Mbit/s on the wire.
    pub rate: f64,
    /// Base RTT, in milliseconds.
    pub rtt: f64,
    /// Size of the queue, in BDP.
    pub buffer: f64,
}

impl Network {
    fn new(scenario: &Scenario) -> Self {
        let flow = &scenario.flows[0];
        let (rate, rtt) = (scenario.link.rate.nominal().0 as f64, flow.rtt.as_secs_f64());
        let wire = f64::from(flow.transport.wire_bytes(flow.transport.payload()));
        let bytes = match scenario.link.limit {
            link::Limit::Bytes(bytes) => bytes.0 as f64,
            link::Limit::Packets(packets) => packets as f64 * wire,
            link::Limit::Unlimited => f64::INFINITY,
        };
        Self { rate: rate / 1e6, rtt: rtt * 1e3, buffer: bytes * 8.0 / (rate * rtt) }
    }

    /// Returns the RTT with this many bytes in the queue, in milliseconds. It comes from the link,
    /// so it is known for every stack.
    fn delay(&self, queue: f64) -> f64 {
        self.rtt + queue * 8.0 / (self.rate * 1e3)
    }

    /// Returns the RTT with a full queue, in milliseconds.
    fn longest(&self) -> f64 {
        self.rtt * (1.0 + self.buffer)
    }
}

/// Samples from all runs of a row on a network.
#[derive(Clone, Debug, Default)]
pub(super) struct Samples {
    /// Windows of each run in bytes, every 20 ms; empty for a process that does not report its
    /// window.
    pub(super) windows: Vec<Vec<f64>>,
    /// Bytes in flight of all runs, every 20 ms. A process on the wire shows them.
    pub(super) flights: Vec<f64>,
    /// Samples of the envelope.
    pub(super) points: Vec<Point>,
    /// Mean of each metric over the runs.
    pub(super) cells: BTreeMap<String, f64>,
    /// Whether the row has a valid run. In virtual time every run is valid.
    pub(super) trusted: bool,
}

impl Samples {
    /// Returns the windows of all runs.
    pub(super) fn pooled(&self) -> Vec<f64> {
        self.windows.concat()
    }

    /// Returns the mean window in bytes; `None` if it is not reported.
    pub(super) fn mean_window(&self) -> Option<f64> {
        mean(&self.pooled())
    }

    /// Returns the share of the window that a reduction keeps, 0..1: the 10th percentile and the
    /// median. `None` without a reduction.
    pub(super) fn kept(&self) -> Option<[f64; 2]> {
        let mut drops = self.ratios();
        drops.sort_by(f64::total_cmp);
        let at = |tenths: usize| drops.get(drops.len() * tenths / 10).copied();
        Some([at(1)?, at(5)?])
    }

    /// Returns the mean number of reductions that the windows of a run show; `None` if windows are
    /// not reported.
    pub(super) fn drops(&self) -> Option<f64> {
        let runs = self.windows.iter().filter(|run| !run.is_empty()).count();
        (runs > 0).then(|| self.ratios().len() as f64 / runs as f64)
    }

    /// Returns the share of the window that each reduction keeps, in order of time. A reduction
    /// that is spread over a round trip (proportional rate reduction) falls from sample to sample.
    /// It counts as one reduction until the window grows.
    fn ratios(&self) -> Vec<f64> {
        let falls = self.windows.iter().flat_map(|run| run.chunk_by(|before, after| after <= before));
        let ratios = falls.filter_map(|fall| Some(fall.last()? / fall.first()?));
        ratios.filter(|ratio| *ratio < REDUCED).collect()
    }

    /// Returns the mean of a metric; `None` if the row does not have it.
    pub(super) fn metric(&self, name: &str) -> Option<f64> {
        self.cells.get(name).copied()
    }

    /// Returns the largest distance between two runs; 0 for a single run.
    pub(super) fn spread(&self) -> f64 {
        let pairs =
            self.windows.iter().enumerate().flat_map(|(i, one)| {
                self.windows[i + 1..].iter().filter_map(move |other| relative(one, other))
            });
        pairs.fold(0.0, f64::max)
    }

    /// Adds a run, measured from second `from` on.
    fn add(&mut self, track: &Track, network: &Network, from: f64) {
        let column = |name: &str| track.columns.get(name).map(RunLength::to_vec).unwrap_or_default();
        let [windows, flights, queues, goodputs] = COLUMNS.map(column);
        let begin = track.times.partition_point(|time| *time < from);
        let counted =
            |all: &[f64]| all.iter().skip(begin).copied().filter(|v| v.is_finite()).collect::<Vec<_>>();
        self.windows.push(counted(&windows));
        self.flights.extend(counted(&flights));
        let mut at = begin;
        while let Some(start) = track.times.get(at) {
            let end = track.times.partition_point(|time| *time < start + STEP * network.rtt / 1e3);
            let part = |values: &[f64]| {
                let inside = values.get(at..end).unwrap_or_default();
                mean(&inside.iter().copied().filter(|value| value.is_finite()).collect::<Vec<_>>())
            };
            let is_whole = end < track.times.len();
            if let (true, Some(queue), Some(goodput)) = (is_whole, part(&queues), part(&goodputs)) {
                self.points.push([network.delay(queue) / network.longest(), goodput / network.rate]);
            }
            at = end.max(at + 1);
        }
    }
}

/// The samples of an experiment, by variant and row.
#[derive(Clone, Debug, Default)]
pub(super) struct Taken {
    /// Name of the variant, its network, and the samples of each row by label.
    pub(super) variants: Vec<(String, Network, BTreeMap<String, Samples>)>,
}

impl Taken {
    /// Reads the samples from a results folder.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub(super) fn read(experiment: &Experiment, results: &Results, folder: &Path) -> io::Result<Self> {
        let mut variants: Vec<(String, Network, BTreeMap<String, Samples>)> = Vec::new();
        let mut from = 0.0;
        for case in experiment.cases() {
            if variants.iter().all(|(name, ..)| *name != case.variant) {
                let scenario = experiment.scenario(&case, 0);
                from = scenario.measure.map_or(0.0, |(from, _)| from.as_secs_f64());
                let network = Network::new(&scenario);
                variants.push((case.variant.clone(), network, BTreeMap::new()));
            }
        }
        for track in store::tracks(folder, &COLUMNS)? {
            if let Some((_, network, rows)) = variants.iter_mut().find(|(name, ..)| *name == track.variant) {
                rows.entry(track.row.as_str().to_owned()).or_default().add(&track, network, from);
            }
        }
        for variant in &results.summary.variants {
            let Some((.., rows)) = variants.iter_mut().find(|(name, ..)| *name == variant.name) else {
                continue;
            };
            for row in &variant.rows {
                if let Some(samples) = rows.get_mut(row.label.as_str()) {
                    samples.trusted = row.is_trusted();
                    samples.cells =
                        row.cells.iter().map(|(metric, cell)| (metric.to_string(), cell.mean)).collect();
                }
            }
        }
        Ok(Self { variants })
    }

    /// Returns the samples of a row in a variant.
    pub(super) fn at(&self, variant: &str, label: &RowLabel) -> Option<&Samples> {
        let (.., rows) = self.variants.iter().find(|(name, ..)| name == variant)?;
        rows.get(label.as_str())
    }

    /// Returns the labels of all rows.
    pub(super) fn rows(&self) -> Vec<RowLabel> {
        let names: BTreeSet<&str> =
            self.variants.iter().flat_map(|(.., rows)| rows.keys().map(String::as_str)).collect();
        names.into_iter().map(RowLabel::from).collect()
    }
}

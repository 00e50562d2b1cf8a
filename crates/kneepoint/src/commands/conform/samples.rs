//! What is taken of the runs of a row on one network.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use experiment::file::Experiment;
use results::store;
use results::summary::{Results, Track};
use scenario::Scenario;

use super::distance::{mean, relative};
use super::hull::Point;

/// Columns of the series that are read.
const COLUMNS: [&str; 3] = ["cwnd_bytes", "latest_rtt_ms", "goodput_mbit_s"];
/// RTTs from one sample of the envelope to the next, as in QUICbench.
const STEP: f64 = 10.0;

/// The network of a variant in the units of the samples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Network {
    /// Mbit/s on the wire.
    pub(super) rate: f64,
    /// Milliseconds without a queue.
    pub(super) rtt: f64,
    /// Of the queue, in products of both.
    pub(super) buffer: f64,
}

impl Network {
    fn of(scenario: &Scenario) -> Self {
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

    /// Milliseconds with a full queue.
    fn longest(&self) -> f64 {
        self.rtt * (1.0 + self.buffer)
    }
}

/// All runs of a row on a network.
#[derive(Clone, Debug, Default)]
pub(super) struct Samples {
    /// Bytes, of each run on a grid of 20 ms.
    pub(super) windows: Vec<Vec<f64>>,
    /// Of the envelope.
    pub(super) points: Vec<Point>,
    /// Metric to its mean over the runs.
    pub(super) cells: BTreeMap<String, f64>,
}

impl Samples {
    /// The windows of all runs.
    pub(super) fn pooled(&self) -> Vec<f64> {
        self.windows.concat()
    }

    /// Bytes; 0 without a sample.
    pub(super) fn mean_window(&self) -> f64 {
        mean(&self.pooled()).unwrap_or(0.0)
    }

    /// The mean of a metric of the table; 0 where the row does not have it.
    pub(super) fn metric(&self, name: &str) -> f64 {
        self.cells.get(name).copied().unwrap_or(0.0)
    }

    /// How far its runs are from each other, the two that are furthest; 0 of one run.
    pub(super) fn spread(&self) -> f64 {
        let pairs = self.windows.iter().enumerate().flat_map(|(i, one)| {
            self.windows[i + 1..].iter().filter_map(move |other| relative(one, other))
        });
        pairs.fold(0.0, f64::max)
    }

    fn add(&mut self, track: &Track, network: &Network, from: f64) {
        let column = |name: &str| track.columns.get(name).map_or(&[][..], Vec::as_slice);
        let [windows, rtts, goodputs] = COLUMNS.map(column);
        let begin = track.times.partition_point(|time| *time < from);
        let counted = windows.iter().skip(begin).copied().filter(|window| window.is_finite());
        self.windows.push(counted.collect());
        let mut at = begin;
        while let Some(start) = track.times.get(at) {
            let end = track.times.partition_point(|time| *time < start + STEP * network.rtt / 1e3);
            let part = |values: &[f64]| {
                let inside = values.get(at..end).unwrap_or_default();
                mean(&inside.iter().copied().filter(|value| value.is_finite()).collect::<Vec<_>>())
            };
            let is_whole = end < track.times.len();
            if let (true, Some(rtt), Some(goodput)) = (is_whole, part(rtts), part(goodputs)) {
                self.points.push([rtt / network.longest(), goodput / network.rate]);
            }
            at = end.max(at + 1);
        }
    }
}

/// Of an experiment that has been run: each variant's network, and its rows.
pub(super) struct Taken {
    /// The variant's name, its network, and the samples of each row by its label.
    pub(super) variants: Vec<(String, Network, BTreeMap<String, Samples>)>,
}

impl Taken {
    /// From its folder.
    ///
    /// # Errors
    /// What cannot be read.
    pub(super) fn read(experiment: &Experiment, results: &Results, folder: &Path) -> io::Result<Self> {
        let mut variants: Vec<(String, Network, BTreeMap<String, Samples>)> = Vec::new();
        let from = experiment.measure.0.as_secs_f64();
        for case in experiment.cases() {
            if variants.iter().all(|(name, ..)| *name != case.variant) {
                let network = Network::of(&experiment.scenario(&case, 0));
                variants.push((case.variant.clone(), network, BTreeMap::new()));
            }
        }
        for track in store::tracks(folder, &COLUMNS)? {
            if let Some((_, network, rows)) = variants.iter_mut().find(|(name, ..)| *name == track.variant) {
                rows.entry(track.row.as_str().to_owned()).or_default().add(&track, network, from);
            }
        }
        for variant in &results.summary.variants {
            let Some((.., rows)) = variants.iter_mut().find(|(name, ..)| *name == variant.name) else { continue };
            for row in &variant.rows {
                if let Some(samples) = rows.get_mut(row.label.as_str()) {
                    samples.cells = row.cells.iter().map(|(metric, cell)| (metric.to_string(), cell.mean)).collect();
                }
            }
        }
        Ok(Self { variants })
    }
}

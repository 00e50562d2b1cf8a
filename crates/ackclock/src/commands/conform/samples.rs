//! What is taken of the runs of a row on one network: windows where the stack tells them, and what the link saw of any, also of processes on the
//! wire.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;

use experiment::file::Experiment;
use experiment::row::RowLabel;
use results::store;
use results::summary::{Results, Track};
use scenario::{Repeated, Scenario};
use serde::Serialize;

use super::distance::{mean, relative};
use super::hull::Point;

/// Columns of the series that are read.
const COLUMNS: [&str; 3] = ["cwnd_bytes", "queue_bytes", "goodput_mbit_s"];
/// A window that has fallen to less than this share was reduced.
const REDUCED: f64 = 0.9;
/// RTTs from one sample of the envelope to the next, as in QUICbench.
const STEP: f64 = 10.0;

/// The network of a variant in the units of the samples.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
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

    /// Milliseconds with so many bytes in the queue: of the link, and so known of everybody.
    fn delay(&self, queue: f64) -> f64 {
        self.rtt + queue * 8.0 / (self.rate * 1e3)
    }

    /// Milliseconds with a full queue.
    fn longest(&self) -> f64 {
        self.rtt * (1.0 + self.buffer)
    }
}

/// All runs of a row on a network.
#[derive(Clone, Debug, Default)]
pub(super) struct Samples {
    /// Bytes, of each run on a grid of 20 ms; of a process that tells nothing they are empty.
    pub(super) windows: Vec<Vec<f64>>,
    /// Of the envelope.
    pub(super) points: Vec<Point>,
    /// Metric to its mean over the runs.
    pub(super) cells: BTreeMap<String, f64>,
    /// Of the row: there is a run that is valid. In virtual time all are.
    pub(super) trusted: bool,
}

impl Samples {
    /// The windows of all runs.
    pub(super) fn pooled(&self) -> Vec<f64> {
        self.windows.concat()
    }

    /// Bytes; none where it is not told.
    pub(super) fn mean_window(&self) -> Option<f64> {
        mean(&self.pooled())
    }

    /// What reductions leave of the window, 0..1: the tenth that leaves least leaves no more than the first, the median is the second; none
    /// without one.
    pub(super) fn kept(&self) -> Option<[f64; 2]> {
        let mut drops = self.ratios();
        drops.sort_by(f64::total_cmp);
        let at = |tenths: usize| drops.get(drops.len() * tenths / 10).copied();
        Some([at(1)?, at(5)?])
    }

    /// Reductions that the windows show, the mean over the runs; none where windows are not told.
    pub(super) fn drops(&self) -> Option<f64> {
        let told = self.windows.iter().filter(|run| !run.is_empty()).count();
        (told > 0).then(|| self.ratios().len() as f64 / told as f64)
    }

    /// What each reduction leaves, in the order of time. Who spreads one over a round trip (proportional rate reduction) has a window that falls
    /// from sample to sample: until it rises that is one reduction.
    fn ratios(&self) -> Vec<f64> {
        let falls = self.windows.iter().flat_map(|run| run.chunk_by(|before, after| after <= before));
        let ratios = falls.filter_map(|fall| Some(fall.last()? / fall.first()?));
        ratios.filter(|ratio| *ratio < REDUCED).collect()
    }

    /// The mean of a metric of the table; none where the row does not have it.
    pub(super) fn metric(&self, name: &str) -> Option<f64> {
        self.cells.get(name).copied()
    }

    /// How far its runs are from each other, the two that are furthest; 0 of one run.
    pub(super) fn spread(&self) -> f64 {
        let pairs =
            self.windows.iter().enumerate().flat_map(|(i, one)| {
                self.windows[i + 1..].iter().filter_map(move |other| relative(one, other))
            });
        pairs.fold(0.0, f64::max)
    }

    /// Adds a run, from so many seconds on.
    fn add(&mut self, track: &Track, network: &Network, from: f64) {
        let column = |name: &str| track.columns.get(name).map(Repeated::to_vec).unwrap_or_default();
        let [windows, queues, goodputs] = COLUMNS.map(column);
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
            if let (true, Some(queue), Some(goodput)) = (is_whole, part(&queues), part(&goodputs)) {
                self.points.push([network.delay(queue) / network.longest(), goodput / network.rate]);
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
        let mut from = 0.0;
        for case in experiment.cases() {
            if variants.iter().all(|(name, ..)| *name != case.variant) {
                let scenario = experiment.scenario(&case, 0);
                from = scenario.measure.map_or(0.0, |(from, _)| from.as_secs_f64());
                let network = Network::of(&scenario);
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

    /// Of a row among those of a variant.
    pub(super) fn row<'a>(rows: &'a BTreeMap<String, Samples>, label: &RowLabel) -> Option<&'a Samples> {
        rows.get(label.as_str())
    }

    /// Of a row in a variant.
    pub(super) fn at(&self, variant: &str, label: &RowLabel) -> Option<&Samples> {
        let (.., rows) = self.variants.iter().find(|(name, ..)| name == variant)?;
        Self::row(rows, label)
    }

    /// All rows.
    pub(super) fn rows(&self) -> Vec<RowLabel> {
        let names: BTreeSet<&str> =
            self.variants.iter().flat_map(|(.., rows)| rows.keys().map(String::as_str)).collect();
        names.into_iter().map(RowLabel::from).collect()
    }
}

//! Judges how far a stack is from the reference on each network, and which changed rule comes
//! closest to it.

use experiment::place::Place;
use experiment::row::RowLabel;
use results::summary::Results;
use serde::Serialize;

use super::baseline::Since;
use super::distance::{mean, relative, tempo, wasserstein};
use super::hull::conformance;
use super::question::Question;
use super::samples::{Network, Samples, Taken};
use crate::Stored;

/// Largest distance of conforming windows, as a share of the reference's mean. Our own endpoint,
/// which has the simulator's controller, differs by at most 1 %. CUBIC with a `beta` of 0.5 instead
/// of 0.7 differs by 6 % or more.
pub(super) const WINDOW_LIMIT: f64 = 0.05;
/// Largest difference in the number of reductions, beyond the one that the measured interval may
/// cut off.
const TEMPO_LIMIT: f64 = 0.1;
/// Smallest conformance of the envelopes. Decides where neither windows nor bytes in flight are
/// known.
const CONFORMANCE_LIMIT: f64 = 0.5;
/// Share of the distance that a rule must remove to explain a deviation.
const EXPLAINS: f64 = 0.5;

/// Measurements of one row on a network.
#[derive(Clone, Debug, Serialize)]
pub struct Measured {
    /// Mbit/s.
    pub goodput: Option<f64>,
    /// Mean queueing delay, in milliseconds.
    pub queue_wait: Option<f64>,
    /// Percent of the packets.
    pub loss: Option<f64>,
    /// Mean window, in bytes.
    pub window: Option<f64>,
    /// Share of the window that a reduction keeps, 0..1: the 10th percentile and the median.
    pub kept: Option<[f64; 2]>,
    /// Mean number of reductions in a run.
    pub reductions: Option<f64>,
}

impl Measured {
    fn new(samples: &Samples) -> Self {
        Self {
            goodput: samples.metric("goodput"),
            queue_wait: samples.metric("queue_wait"),
            loss: samples.metric("loss"),
            window: samples.mean_window(),
            kept: samples.kept(),
            reductions: samples.metric("reductions @ measure").or_else(|| samples.drops()),
        }
    }
}

/// A stack and its reference on one network: the simulated specification, or the kernel's TCP.
#[derive(Clone, Debug, Serialize)]
pub struct Cell {
    /// Name of the variant in the tables.
    pub variant: String,
    pub network: Network,
    pub reference: Measured,
    pub subject: Measured,
    /// Distance of the windows, as a share of the reference's mean; `None` if the stack does not
    /// report its window.
    pub distance: Option<f64>,
    /// Distance of the bytes in flight, as a share of the reference's mean, if the stack does not
    /// report its window.
    pub flight: Option<f64>,
    /// Difference in the number of reductions, as a share of the reference's; `None` if it is
    /// unknown.
    pub tempo: Option<f64>,
    /// Distance between runs of the reference, as a share of its mean.
    pub spread: f64,
    /// Share of the samples of delay and throughput that lie in both envelopes, 0..1.
    pub conformance: Option<f64>,
    pub deviates: bool,
    /// Measures beyond their limit: `window`, `reductions`; `flight` if no window is known, and
    /// `envelope` if neither is.
    pub deviates_in: Vec<&'static str>,
}

impl Cell {
    fn new(variant: &str, network: Network, reference: &Samples, subject: &Samples) -> Self {
        let distance = relative(&subject.pooled(), &reference.pooled());
        let flight = flight(subject, reference, reference);
        let conformance = conformance(&subject.points, &reference.points);
        let spread = reference.spread();
        let tempo = tempo_of(subject, reference, reference);
        let is_outside = conformance.is_some_and(|share| share < CONFORMANCE_LIMIT);
        let beyond = [
            ("window", distance.is_some_and(|distance| distance > WINDOW_LIMIT.max(spread))),
            ("reductions", distance.is_some() && tempo.is_some_and(|tempo| tempo > TEMPO_LIMIT)),
            ("flight", flight.is_some_and(|distance| distance > WINDOW_LIMIT.max(spread))),
            ("envelope", distance.or(flight).is_none() && is_outside),
        ];
        let deviates_in: Vec<&str> = beyond.iter().filter(|(_, is)| *is).map(|(name, _)| *name).collect();
        let deviates = !deviates_in.is_empty();
        let measured = [reference, subject].map(Measured::new);
        let [reference, subject] = measured;
        let variant = variant.to_owned();
        Self {
            variant,
            network,
            reference,
            subject,
            distance,
            flight,
            tempo,
            spread,
            conformance,
            deviates,
            deviates_in,
        }
    }

    /// Returns the larger of the known differences, as [`difference`] does.
    pub(super) fn difference(&self) -> f64 {
        let windows = self.distance.map(|distance| distance.max(self.tempo.unwrap_or(0.0)));
        windows.or(self.flight).or(self.conformance.map(|share| 1.0 - share)).unwrap_or(0.0)
    }
}

/// Compares the stack with the reference on every network on which both have valid runs.
pub(super) fn cells(question: &Question, grid: &Taken) -> Vec<Cell> {
    beside(grid, &question.subject_row(), grid, &question.standard_row())
}

/// Compares the stack with the kernel's TCP, which ran in a grid of its own.
pub(super) fn beside_kernel(question: &Question, grid: &Taken, kernel: &Taken) -> Vec<Cell> {
    beside(grid, &question.subject_row(), kernel, &question.kernel_row())
}

fn beside(grid: &Taken, subject: &RowLabel, other: &Taken, reference: &RowLabel) -> Vec<Cell> {
    let cell = |(variant, network, _): &(String, Network, _)| {
        let row = |taken: &Taken, label| taken.at(variant, label).filter(|samples| samples.trusted).cloned();
        Some(Cell::new(variant, *network, &row(other, reference)?, &row(grid, subject)?))
    };
    grid.variants.iter().filter_map(cell).collect()
}

/// Returns the variants where the stack deviates.
pub(super) fn deviating(cells: &[Cell]) -> Vec<&str> {
    cells.iter().filter(|cell| cell.deviates).map(|cell| cell.variant.as_str()).collect()
}

/// A changed rule, and its distance from the stack over the networks where the stack deviates.
#[derive(Clone, Debug, Serialize)]
pub struct Rule {
    pub name: String,
    /// Mean over those networks of the larger difference, in window or number of reductions.
    pub distance: f64,
}

/// Explanation of a deviation.
#[derive(Clone, Debug, Serialize)]
pub struct Cause {
    /// Mean distance of the reference from the stack, over the networks where the stack deviates.
    pub standard: f64,
    /// Distance of our controller inside the stack from the stack's own; `None` if ours cannot run
    /// there.
    pub inside: Option<f64>,
    /// Changed rules, the closest first.
    pub rules: Vec<Rule>,
    /// The closest rule on each network where the stack deviates, if it explains the deviation
    /// there.
    pub closest: Vec<Closest>,
}

/// The rule that explains a deviation on one network.
#[derive(Clone, Debug, Serialize)]
pub struct Closest {
    pub variant: String,
    pub rule: String,
    /// Distance with the rule, and without it.
    pub distance: [f64; 2],
    /// Whether the rule that is closest over all networks explains the deviation here too.
    pub named_does_as_well: bool,
}

impl Cause {
    /// Searches the rules for a cause. `inside` is the same grid with our controller in the stack.
    /// Returns `None` if nothing deviates.
    pub(super) fn find(
        question: &Question,
        cells: &[Cell],
        grid: &Taken,
        rules: &Taken,
        inside: Option<&Taken>,
    ) -> Option<Self> {
        let deviating = deviating(cells);
        let (subject, plain) = (question.subject_row(), question.standard_row());
        let at = |taken: &Taken, row: &RowLabel, variant: &str| {
            difference(taken.at(variant, row)?, grid.at(variant, &subject)?, grid.at(variant, &plain)?)
        };
        let everywhere = |taken: &Taken, row: &RowLabel| {
            mean(&deviating.iter().filter_map(|variant| at(taken, row, variant)).collect::<Vec<f64>>())
        };
        let standard = everywhere(grid, &plain)?;
        let names = rules.rows();
        let rule = |name: &RowLabel| {
            Some(Rule { name: name.in_file().to_owned(), distance: everywhere(rules, name)? })
        };
        let mut all: Vec<Rule> = names.iter().filter_map(rule).collect();
        all.sort_by(|a, b| a.distance.total_cmp(&b.distance));
        let named = all.first().map(|rule| RowLabel::new(&rule.name, Place::SIM));
        let closest = |variant: &&str| {
            let without = at(grid, &plain, variant)?;
            let each = names.iter().filter_map(|name| Some((at(rules, name, variant)?, name)));
            let (distance, name) = each.min_by(|a, b| a.0.total_cmp(&b.0))?;
            let rule = name.in_file().to_owned();
            let named = named.as_ref().and_then(|named| at(rules, named, variant));
            explains(distance, without).then(|| Closest {
                variant: (*variant).to_owned(),
                rule,
                distance: [distance, without],
                named_does_as_well: named.is_some_and(|named| explains(named, without)),
            })
        };
        let ours = RowLabel::new(&question.name, question.backend);
        Some(Self {
            standard,
            inside: inside.and_then(|inside| everywhere(inside, &ours)),
            rules: all,
            closest: deviating.iter().filter_map(closest).collect(),
        })
    }

    /// Returns the rule that removes most of the distance, if that is enough.
    pub(super) fn explained(&self) -> Option<&Rule> {
        self.rules.first().filter(|rule| explains(rule.distance, self.standard))
    }
}

/// Reports whether a rule explains a deviation if this distance remains.
fn explains(distance: f64, without: f64) -> bool {
    distance <= (1.0 - EXPLAINS) * without
}

/// Returns the difference of a row from a stack: the larger of window and number of reductions,
/// relative to the reference. Without windows, that of the bytes in flight, and without these, the
/// share of samples outside the other's envelope.
fn difference(one: &Samples, stack: &Samples, standard: &Samples) -> Option<f64> {
    let windows = standard
        .mean_window()
        .and_then(|mean| wasserstein(&one.pooled(), &stack.pooled()).map(|area| area / mean));
    let tempo = tempo_of(one, stack, standard).unwrap_or(0.0);
    let windows = windows.map(|windows| windows.max(tempo));
    let windows = windows.or_else(|| flight(stack, one, standard));
    windows.or_else(|| conformance(&one.points, &stack.points).map(|share| 1.0 - share))
}

/// Returns the distance of the bytes in flight of a stack that does not report its window, relative
/// to the mean of the reference. A long flow fills its window, so both have the same shape.
fn flight(stack: &Samples, other: &Samples, standard: &Samples) -> Option<f64> {
    let mean = mean(&standard.flights).filter(|mean| *mean > 0.0 && stack.mean_window().is_none())?;
    wasserstein(&stack.flights, &other.flights).map(|area| area / mean)
}

/// Compares the numbers of reductions. If one row has no count, all are taken from the windows.
fn tempo_of(one: &Samples, other: &Samples, standard: &Samples) -> Option<f64> {
    let all = [one, other, standard];
    let counted = all.map(|samples| samples.metric("reductions @ measure"));
    let seen = || all.map(Samples::drops);
    let counts = if counted.iter().all(Option::is_some) { counted } else { seen() };
    let [one, other, standard] = counts;
    Some(tempo(one?, other?, standard?))
}

/// Answer to [`Question`]: the differences on each network, and their cause.
#[derive(Clone, Debug, Serialize)]
pub struct Answer {
    pub stack: String,
    pub on: Place,
    pub controller: String,
    pub conforms: bool,
    /// Number of networks without a valid run.
    pub left_out: usize,
    pub cells: Vec<Cell>,
    /// Comparison with an earlier answer, with `--baseline`.
    pub since: Option<Since>,
    /// Comparison with the kernel's TCP, with `--kernel`.
    pub kernel: Option<Vec<Cell>>,
    /// Explanation, if the stack deviates.
    pub cause: Option<Cause>,
    /// Name of the rule that explains the deviation.
    pub explained_by: Option<String>,
    /// The studies behind the numbers.
    pub results: Vec<Stored>,
    /// Their results.
    #[serde(skip)]
    pub runs: Vec<Results>,
    /// Samples of the grid, for the page.
    #[serde(skip)]
    pub(super) grid: Taken,
}

impl Answer {
    /// Judges the cells of a grid with this number of networks.
    pub(super) fn new(question: &Question, networks: usize, cells: Vec<Cell>, cause: Option<Cause>) -> Self {
        Self {
            left_out: networks - cells.len(),
            stack: question.stack.clone(),
            on: question.on,
            controller: question.name.clone(),
            conforms: cells.iter().all(|cell| !cell.deviates),
            explained_by: cause.as_ref().and_then(Cause::explained).map(|rule| rule.name.clone()),
            since: question.baseline.as_ref().map(|baseline| {
                let now = cells.iter().map(|cell| (cell.variant.as_str(), &cell.deviates_in[..]));
                Since::new(baseline, &now.collect())
            }),
            cells,
            kernel: None,
            cause,
            results: Vec::new(),
            runs: Vec::new(),
            grid: Taken::default(),
        }
    }

    /// Returns the network with the largest difference from the reference.
    pub(super) fn worst(&self) -> Option<&Cell> {
        self.cells.iter().max_by(|a, b| a.difference().total_cmp(&b.difference()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NETWORK: Network = Network { rate: 20.0, rtt: 10.0, buffer: 1.0 };

    /// A sawtooth from `low` to 100 with this number of reductions.
    fn samples(low: f64, reductions: f64, delay: f64) -> Samples {
        let window = (0..1000).map(|i| low + (100.0 - low) * f64::from(i % 100) / 99.0).collect();
        let points = (0..100).map(|i| [delay + f64::from(i) / 1000.0, 0.95]).collect();
        let cells = [("reductions @ measure".to_owned(), reductions)].into();
        Samples { windows: vec![window], points, cells, trusted: true, ..Samples::default() }
    }

    fn cell(subject: &Samples) -> Cell {
        Cell::new("", NETWORK, &samples(70.0, 40.0, 0.5), subject)
    }

    #[test]
    fn what_deviates() {
        let same = cell(&samples(70.0, 41.0, 0.5));
        assert_eq!((same.deviates, same.distance, same.tempo), (false, Some(0.0), Some(0.0)));
        assert_eq!(
            (&same.deviates_in[..], &cell(&samples(50.0, 34.0, 0.5)).deviates_in[..]),
            (&[][..], &["window", "reductions"][..])
        );
        assert_eq!((same.subject.kept, same.subject.window), (Some([0.7, 0.7]), Some(85.0)));
        // The means are 85 and 75, and every quantile differs in the same direction.
        let deeper = cell(&samples(50.0, 40.0, 0.5));
        assert!(deeper.deviates && (deeper.distance.unwrap() - 10.0 / 85.0).abs() < 1e-9);
        // Five of forty, beyond the one that does not count.
        let slower = cell(&samples(70.0, 34.0, 0.5));
        assert_eq!((slower.deviates, slower.tempo), (true, Some(0.125)));
    }

    /// Linux spreads a reduction over a round trip, in small or large steps. They count as one
    /// reduction, which keeps what all steps together keep.
    #[test]
    fn a_reduction_in_steps() {
        let saw = |steps: &[f64]| {
            let tooth = (0..100).map(|i| 70.0 + 30.0 * f64::from(i) / 99.0).chain(steps.iter().copied());
            let window = tooth.collect::<Vec<_>>().repeat(10);
            Samples { windows: vec![window], cells: [].into(), ..samples(70.0, 0.0, 0.5) }
        };
        let sharp = saw(&[]);
        assert_eq!((sharp.drops(), sharp.kept()), (Some(9.0), Some([0.7, 0.7])));
        for steps in [&[95.0, 90.0, 86.0, 81.0, 77.0, 73.0, 70.0][..], &[85.0, 85.0, 75.0]] {
            let spread = saw(steps);
            // Including the last one, which no growth follows.
            assert_eq!((spread.drops(), spread.kept()), (Some(10.0), Some([0.7, 0.7])));
        }
    }

    /// A process reports no window, so its bytes in flight decide. Below 5 % they conform.
    #[test]
    fn by_the_bytes_in_flight() {
        let reference = Samples { flights: vec![100.0; 50], ..samples(70.0, 40.0, 0.5) };
        let silent = |flight| Samples {
            windows: vec![Vec::new()],
            flights: vec![flight; 50],
            cells: [].into(),
            ..samples(70.0, 40.0, 0.5)
        };
        let cell = |flight| Cell::new("v", NETWORK, &reference, &silent(flight));
        let (near, far) = (cell(96.0), cell(94.0));
        assert_eq!((near.deviates, near.flight, near.distance), (false, Some(0.04), None));
        assert_eq!((far.deviates_in.as_slice(), far.difference()), (&["flight"][..], 0.06));
        let known = Cell::new("v", NETWORK, &reference, &samples(70.0, 40.0, 0.5));
        assert_eq!((known.flight, known.distance), (None, Some(0.0)), "the window comes first");
    }

    /// A process reports neither window nor packets, so the measurements of the link decide.
    #[test]
    fn without_windows() {
        let silent =
            |delay| Samples { windows: vec![Vec::new()], cells: [].into(), ..samples(70.0, 40.0, delay) };
        let [near, far] = [cell(&silent(0.5)), cell(&silent(0.8))];
        assert_eq!(
            (near.deviates, near.distance, near.tempo, near.conformance),
            (false, None, None, Some(1.0))
        );
        assert_eq!(far.deviates_in, ["envelope"]);
        assert_eq!((far.deviates, far.conformance, far.difference()), (true, Some(0.0), 1.0));
        assert_eq!(difference(&silent(0.5), &silent(0.8), &samples(70.0, 40.0, 0.5)), Some(1.0));
    }
}

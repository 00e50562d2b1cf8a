//! How far a stack is from the standard, network by network, and which rule of ours comes closest to it.

use experiment::backend::Backend;
use experiment::row::RowLabel;
use serde::Serialize;

use super::distance::{mean, relative, tempo, wasserstein};
use super::hull::conformance;
use super::question::Question;
use super::samples::{Network, Samples, Taken};

/// Windows that are further apart than this share of the standard's mean deviate. Our own endpoint, which has the simulator's controller, is at most
/// 1 % away; CUBIC with a `beta` of 0.5 for 0.7 is 6 % or more.
pub(super) const FAR: f64 = 0.05;
/// Reductions that come so much more or less often, beyond the one that the window of time may cut off.
pub(super) const OFTEN: f64 = 0.1;
/// Without windows, envelopes that have less of their samples in common.
const IN_COMMON: f64 = 0.5;
/// A rule explains a deviation if it takes away this share of the distance.
const EXPLAINS: f64 = 0.5;

/// What one row is on a network.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Measured {
    /// Mbit/s.
    pub(super) goodput: Option<f64>,
    /// Mean wait in the queue, ms.
    pub(super) queue_wait: Option<f64>,
    /// Percent of the packets.
    pub(super) loss: Option<f64>,
    /// Mean, bytes.
    pub(super) window: Option<f64>,
    /// What reductions leave of it, 0..1: the tenth that leaves least, and the median.
    pub(super) kept: Option<[f64; 2]>,
    /// Reductions, the mean over the runs.
    pub(super) reductions: Option<f64>,
}

impl Measured {
    fn of(samples: &Samples) -> Self {
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

/// A stack beside what it is held against on one network: the standard, or the kernel's TCP.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Cell {
    /// The variant's name in the tables.
    pub(super) variant: String,
    pub(super) network: Network,
    pub(super) reference: Measured,
    pub(super) subject: Measured,
    /// Of the windows, as a share of the reference's mean; none where the stack does not tell them.
    pub(super) distance: Option<f64>,
    /// How much more or less often it reduces its window, as a share of the reference's reductions; none where nobody knows.
    pub(super) tempo: Option<f64>,
    /// How far runs of the reference are from each other, likewise.
    pub(super) spread: f64,
    /// Samples of delay and throughput that both envelopes have in common, 0..1.
    pub(super) conformance: Option<f64>,
    pub(super) deviates: bool,
}

impl Cell {
    fn of(variant: &str, network: Network, reference: &Samples, subject: &Samples) -> Self {
        let distance = relative(&subject.pooled(), &reference.pooled());
        let conformance = conformance(&subject.points, &reference.points);
        let spread = reference.spread();
        let tempo = tempo_of(subject, reference, reference);
        let deviates = match distance {
            Some(distance) => distance > FAR.max(spread) || tempo.is_some_and(|tempo| tempo > OFTEN),
            None => conformance.is_some_and(|share| share < IN_COMMON),
        };
        let measured = [reference, subject].map(Measured::of);
        let [reference, subject] = measured;
        let variant = variant.to_owned();
        Self { variant, network, reference, subject, distance, tempo, spread, conformance, deviates }
    }

    /// The larger of what is known, as [`apart`].
    pub(super) fn away(&self) -> f64 {
        let windows = self.distance.map(|distance| distance.max(self.tempo.unwrap_or(0.0)));
        windows.or(self.conformance.map(|share| 1.0 - share)).unwrap_or(0.0)
    }
}

/// Every network that both were on, with runs that are valid.
pub(super) fn cells(question: &Question, grid: &Taken) -> Vec<Cell> {
    beside(grid, &question.subject_row(), grid, &question.standard_row())
}

/// The stack beside the kernel's TCP, which ran in a grid of its own.
pub(super) fn beside_kernel(question: &Question, grid: &Taken, kernel: &Taken) -> Vec<Cell> {
    beside(grid, &question.subject_row(), kernel, &question.kernel_row())
}

fn beside(grid: &Taken, subject: &RowLabel, other: &Taken, reference: &RowLabel) -> Vec<Cell> {
    let cell = |(variant, network, _): &(String, Network, _)| {
        let row = |taken: &Taken, label| taken.at(variant, label).filter(|samples| samples.trusted).cloned();
        Some(Cell::of(variant, *network, &row(other, reference)?, &row(grid, subject)?))
    };
    grid.variants.iter().filter_map(cell).collect()
}

/// The variants where the stack deviates.
pub(super) fn deviating(cells: &[Cell]) -> Vec<&str> {
    cells.iter().filter(|cell| cell.deviates).map(|cell| cell.variant.as_str()).collect()
}

/// A rule and how far it is from the stack, over the networks where the stack deviates.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Rule {
    pub(super) name: String,
    /// The mean over those networks: of windows or tempo, whichever is further.
    pub(super) distance: f64,
}

/// Why it deviates.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Cause {
    /// The standard's mean distance from the stack, over the networks where it deviates.
    pub(super) standard: f64,
    /// Our controller inside the stack, its distance from the stack's own; none where ours cannot be there.
    pub(super) inside: Option<f64>,
    /// The closest first.
    pub(super) rules: Vec<Rule>,
    /// Of each network where it deviates, the closest of all, if it takes away enough of the distance there.
    pub(super) closest: Vec<Closest>,
}

/// The rule that explains a deviation on one network.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Closest {
    pub(super) variant: String,
    pub(super) rule: String,
    /// The distance with it, and without.
    pub(super) distance: [f64; 2],
    /// The rule that is the closest over all networks explains it here too.
    pub(super) named_does_as_well: bool,
}

impl Cause {
    /// Among the rules; `inside` is the same grid with our controller in the stack. None if nothing deviates.
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
            apart(taken.at(variant, row)?, grid.at(variant, &subject)?, grid.at(variant, &plain)?)
        };
        let away = |taken: &Taken, row: &RowLabel| {
            mean(&deviating.iter().filter_map(|variant| at(taken, row, variant)).collect::<Vec<f64>>())
        };
        let standard = away(grid, &plain)?;
        let names = rules.rows();
        let rule =
            |name: &RowLabel| Some(Rule { name: name.in_file().to_owned(), distance: away(rules, name)? });
        let mut all: Vec<Rule> = names.iter().filter_map(rule).collect();
        all.sort_by(|a, b| a.distance.total_cmp(&b.distance));
        let named = all.first().map(|rule| RowLabel::new(&rule.name, Backend::Sim));
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
            inside: inside.and_then(|inside| away(inside, &ours)),
            rules: all,
            closest: deviating.iter().filter_map(closest).collect(),
        })
    }

    /// The rule that takes most of the distance away, if that is enough.
    pub(super) fn explained(&self) -> Option<&Rule> {
        self.rules.first().filter(|rule| explains(rule.distance, self.standard))
    }
}

/// Whether a rule with which this distance is left explains it.
fn explains(distance: f64, without: f64) -> bool {
    distance <= (1.0 - EXPLAINS) * without
}

/// How far one is from a stack: windows, in means of the standard's, or tempo, whichever is more; without windows, what envelopes do not have in
/// common.
fn apart(one: &Samples, stack: &Samples, standard: &Samples) -> Option<f64> {
    let windows = standard
        .mean_window()
        .and_then(|mean| wasserstein(&one.pooled(), &stack.pooled()).map(|area| area / mean));
    let tempo = tempo_of(one, stack, standard).unwrap_or(0.0);
    let windows = windows.map(|windows| windows.max(tempo));
    windows.or_else(|| conformance(&one.points, &stack.points).map(|share| 1.0 - share))
}

/// Reductions as they were counted; where one of them tells its window alone, as all their windows show them.
fn tempo_of(one: &Samples, other: &Samples, standard: &Samples) -> Option<f64> {
    let all = [one, other, standard];
    let counted = all.map(|samples| samples.metric("reductions @ measure"));
    let seen = || all.map(Samples::drops);
    let counts = if counted.iter().all(Option::is_some) { counted } else { seen() };
    let [one, other, standard] = counts;
    Some(tempo(one?, other?, standard?))
}

/// What one screen says.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Answer {
    pub(super) stack: String,
    pub(super) on: Backend,
    pub(super) controller: String,
    pub(super) conforms: bool,
    /// Networks of the grid on which no run was valid.
    pub(super) left_out: usize,
    pub(super) cells: Vec<Cell>,
    /// The same beside the kernel's TCP, where that was asked for.
    pub(super) kernel: Option<Vec<Cell>>,
    /// Where it deviates.
    pub(super) cause: Option<Cause>,
    /// The rule that explains it, if one does.
    pub(super) explained_by: Option<String>,
}

impl Answer {
    /// `networks`: of the grid.
    pub(super) fn of(question: &Question, networks: usize, cells: Vec<Cell>, cause: Option<Cause>) -> Self {
        Self {
            left_out: networks - cells.len(),
            stack: question.stack.clone(),
            on: question.on,
            controller: question.name.clone(),
            conforms: cells.iter().all(|cell| !cell.deviates),
            explained_by: cause.as_ref().and_then(Cause::explained).map(|rule| rule.name.clone()),
            cells,
            kernel: None,
            cause,
        }
    }

    /// The network where it is furthest from the standard.
    pub(super) fn worst(&self) -> Option<&Cell> {
        self.cells.iter().max_by(|a, b| a.away().total_cmp(&b.away()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NETWORK: Network = Network { rate: 20.0, rtt: 10.0, buffer: 1.0 };

    /// A saw from `low` to 100, `reductions` of it.
    fn samples(low: f64, reductions: f64, delay: f64) -> Samples {
        let window = (0..1000).map(|i| low + (100.0 - low) * f64::from(i % 100) / 99.0).collect();
        let points = (0..100).map(|i| [delay + f64::from(i) / 1000.0, 0.95]).collect();
        let cells = [("reductions @ measure".to_owned(), reductions)].into();
        Samples { windows: vec![window], points, cells, trusted: true }
    }

    fn cell(subject: &Samples) -> Cell {
        Cell::of("", NETWORK, &samples(70.0, 40.0, 0.5), subject)
    }

    #[test]
    fn what_deviates() {
        let same = cell(&samples(70.0, 41.0, 0.5));
        assert_eq!((same.deviates, same.distance, same.tempo), (false, Some(0.0), Some(0.0)));
        assert_eq!((same.subject.kept, same.subject.window), (Some([0.7, 0.7]), Some(85.0)));
        // Means of 85 and 75, each quantile apart.
        let deeper = cell(&samples(50.0, 40.0, 0.5));
        assert!(deeper.deviates && (deeper.distance.unwrap() - 10.0 / 85.0).abs() < 1e-9);
        // Five of forty beyond the one.
        let slower = cell(&samples(70.0, 34.0, 0.5));
        assert_eq!((slower.deviates, slower.tempo), (true, Some(0.125)));
    }

    /// Linux spreads a reduction over a round trip, in steps that are small or large: it is one, and leaves what they leave together.
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
            // With the last tooth's, behind which nothing comes.
            assert_eq!((spread.drops(), spread.kept()), (Some(10.0), Some([0.7, 0.7])));
        }
    }

    /// A process tells no window: what the link saw decides.
    #[test]
    fn without_windows() {
        let silent =
            |delay| Samples { windows: vec![Vec::new()], cells: [].into(), ..samples(70.0, 40.0, delay) };
        let [near, far] = [cell(&silent(0.5)), cell(&silent(0.8))];
        assert_eq!(
            (near.deviates, near.distance, near.tempo, near.conformance),
            (false, None, None, Some(1.0))
        );
        assert_eq!((far.deviates, far.conformance, far.away()), (true, Some(0.0), 1.0));
        assert_eq!(apart(&silent(0.5), &silent(0.8), &samples(70.0, 40.0, 0.5)), Some(1.0));
    }
}

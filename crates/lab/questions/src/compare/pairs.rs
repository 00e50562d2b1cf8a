//! Pairs of long flows with the same seed, and their decision.

use std::collections::BTreeMap;

use experiment::row::RowLabel;
use results::summary::{Cell, FlowRow, Results};

use super::question::Question;
use crate::decision::{Rule, Verdict};
use crate::ratio::Ratio;

/// A run: its batch, and its repetition there.
type Run = (usize, u32);

/// Goodput of the long flow of each row in each valid run, in Mbit/s.
pub(super) struct Goodputs(BTreeMap<(String, RowLabel), BTreeMap<Run, f64>>);

impl Goodputs {
    /// Collects the runs of one or more batches with different seeds. `least` takes the place of a
    /// goodput of 0, whose logarithm does not exist.
    pub(super) fn new<'a>(batches: impl IntoIterator<Item = &'a Results>, least: f64) -> Self {
        let mut all = BTreeMap::<_, BTreeMap<Run, f64>>::new();
        for (batch, results) in batches.into_iter().enumerate() {
            for flow in &results.flows {
                let goodput = flow.values.get("goodput").copied().unwrap_or(0.0);
                let runs = all.entry((flow.variant.clone(), flow.row.clone())).or_default();
                runs.insert((batch, flow.repetition), goodput.max(least));
            }
        }
        Self(all)
    }

    fn get(&self, variant: &str, row: &RowLabel) -> Option<&BTreeMap<Run, f64>> {
        self.0.get(&(variant.to_owned(), row.clone()))
    }

    /// Returns the geometric mean of a row, which is that of the ratios.
    pub(super) fn typical(&self, variant: &str, row: &RowLabel) -> f64 {
        let Some(runs) = self.get(variant, row) else { return 0.0 };
        let sum: f64 = runs.values().map(|goodput| libm::log(*goodput)).sum();
        libm::exp(sum / runs.len() as f64)
    }

    /// Decides between two rows. `None` without pairs.
    pub(super) fn decide(
        &self,
        rule: &Rule,
        variant: &str,
        [one, other]: [&RowLabel; 2],
    ) -> Option<(Ratio, Verdict)> {
        let (one, other) = (self.get(variant, one)?, self.get(variant, other)?);
        // A run in real time may be invalid, and leaves no pair.
        let pair = |(run, goodput): (&Run, &f64)| Some((*goodput, *other.get(run)?));
        let pairs: Vec<(f64, f64)> = one.iter().filter_map(pair).collect();
        (!pairs.is_empty()).then(|| rule.decide(&pairs))
    }

    /// Reports whether the best controller of each network is decided against all others.
    pub(super) fn are_decided(&self, question: &Question, results: &Results) -> bool {
        results.summary.variants.iter().all(|variant| {
            let rows =
                || variant.rows.iter().filter(|row| question.place.compares(row)).map(|row| &row.label);
            let typical = |row: &&RowLabel| self.typical(&variant.name, row);
            let Some(best) = rows().max_by(|a, b| typical(a).total_cmp(&typical(b))) else { return true };
            let undecided = |row: &RowLabel| {
                let decided = self.decide(&question.rule, &variant.name, [best, row]);
                decided.is_some_and(|(_, verdict)| verdict == Verdict::Undecided)
            };
            !rows().any(|row| row != best && undecided(row))
        })
    }
}

/// Adds a batch with other seeds to the results: means and deviations are those of all runs.
pub(super) fn add(all: &mut Results, known: u32, batch: &Results, count: u32) {
    let variants = all.summary.variants.iter_mut().zip(&batch.summary.variants);
    for (row, new) in variants.flat_map(|(variant, new)| variant.rows.iter_mut().zip(&new.rows)) {
        row.cells.retain(|metric, _| new.cells.contains_key(metric));
        for (metric, cell) in &mut row.cells {
            *cell = pooled(cell, known, &new.cells[metric], count);
        }
    }
    all.flows.extend(
        batch.flows.iter().map(|flow| FlowRow { repetition: flow.repetition + known, ..flow.clone() }),
    );
}

/// Returns the mean and the deviation of two sets of runs. Quartiles are not known any more.
fn pooled(one: &Cell, n: u32, other: &Cell, m: u32) -> Cell {
    let (n, m) = (f64::from(n - one.without.min(n)), f64::from(m - other.without.min(m)));
    let mean = (n * one.mean + m * other.mean) / (n + m).max(1.0);
    let around = |cell: &Cell, n: f64| {
        let spread = cell.spread.unwrap_or(0.0);
        (n - 1.0).max(0.0) * spread * spread + n * (cell.mean - mean) * (cell.mean - mean)
    };
    let squares = around(one, n) + around(other, m);
    let spread = (n + m > 1.0).then(|| (squares / (n + m - 1.0)).sqrt());
    Cell { mean, spread, runs: None, without: one.without + other.without, ..one.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of 1, 2, 3 and of 4, 6: the mean is 3.2, the sum of squares 14.8.
    #[test]
    fn pools() {
        let cell = |mean, spread| Cell { mean, spread: Some(spread), ..Cell::default() };
        let both = pooled(&cell(2.0, 1.0), 3, &cell(5.0, 2.0_f64.sqrt()), 2);
        assert!((both.mean - 3.2).abs() < 1e-12);
        assert!((both.spread.unwrap() - (14.8_f64 / 4.0).sqrt()).abs() < 1e-12, "{both:?}");
        let once = Cell { mean: 1.0, ..Cell::default() };
        let both = pooled(&once, 1, &Cell { mean: 3.0, ..Cell::default() }, 1);
        assert_eq!((both.mean, both.spread), (2.0, Some(2.0_f64.sqrt())));
        let missing = pooled(&Cell { without: 1, ..cell(2.0, 0.0) }, 3, &cell(5.0, 0.0), 1);
        assert_eq!(missing.mean, 3.0, "two runs have a value");
    }
}

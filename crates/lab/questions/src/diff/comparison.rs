//! Compares two sets of results, number by number.

use std::collections::{BTreeMap, BTreeSet};

use experiment::metric::Metric;
use experiment::place::Place;
use experiment::row::RowLabel;
use results::summary::{Cell, Results, Summary, Verdict};
use serde::Serialize;

use super::change::Change;
use super::pairs;
use super::rule::Rule;
use crate::ratio::{Ratio, means_differ};

/// Largest relative difference between equal numbers: rounding in a file causes as much.
const ALIKE: f64 = 1e-9;

/// A claim whose verdict changed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ChangedVerdict {
    pub experiment: String,
    pub claim: String,
    pub before: Verdict,
    pub after: Verdict,
}

/// The differences between two sets of results.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Comparison {
    /// Every number in both sets, sorted by metric, and by size within a metric.
    pub changes: Vec<Change>,
    pub claims: Vec<ChangedVerdict>,
    /// Experiments in one set only, with their world, and whether the set is the second.
    pub alone: Vec<(String, Place, bool)>,
    /// Experiments with another name in the second set.
    pub renamed: Vec<(String, String)>,
    /// Number of rows and metrics of common experiments in one set only.
    pub unmatched: usize,
    pub experiments: usize,
    /// Rules without a number to compare.
    pub unused: Vec<String>,
}

impl Comparison {
    /// Compares results, given with their ids.
    pub(super) fn new(before: &[(String, Results)], after: &[(String, Results)], rules: &[Rule]) -> Self {
        let mut all = Self::default();
        let name = |results: &Results| results.summary.experiment.clone();
        for pair in pairs::match_up(before, after) {
            match pair {
                (Some(one), Some(other)) => {
                    if name(one) != name(other) {
                        all.renamed.push((name(one), name(other)));
                    }
                    all.add(one, other, rules);
                }
                (Some(one), None) => all.alone.push((name(one), one.summary.world, false)),
                (None, Some(other)) => all.alone.push((name(other), other.summary.world, true)),
                (None, None) => {}
            }
        }
        let farther = |a: &Change, b: &Change| b.distance().total_cmp(&a.distance());
        all.changes.sort_by(|a, b| a.rank().cmp(&b.rank()).then_with(|| farther(a, b)));
        let is_unused = |rule: &&Rule| all.changes.iter().all(|change| change.metric != rule.metric);
        all.unused = rules.iter().filter(is_unused).map(|rule| rule.text.clone()).collect();
        all
    }

    fn add(&mut self, before: &Results, after: &Results, rules: &[Rule]) {
        self.experiments += 1;
        let ([old, new], [old_runs, new_runs]) =
            ([before, after].map(|r| cells(&r.summary)), [before, after].map(repetitions));
        self.unmatched += old.keys().filter(|key| !new.contains_key(*key)).count();
        self.unmatched += new.keys().filter(|key| !old.contains_key(*key)).count();
        for ((variant, row, metric), one) in &old {
            let Some(other) = new.get(&(*variant, *row, *metric)) else { continue };
            let n = [&old_runs, &new_runs].map(|runs| runs.get(&(*variant, *row)).copied().unwrap_or(1));
            let ratio = Ratio::with_repetitions(other, one, [n[1], n[0]]);
            let mut change = Change {
                experiment: before.summary.experiment.clone(),
                variant: (*variant).to_owned(),
                row: (*row).clone(),
                metric: (*metric).clone(),
                before: one.value(),
                after: other.value(),
                ratio,
                is_beyond_spread: is_beyond_spread(one, other, ratio, n),
                is_ruled: rules.iter().any(|rule| rule.metric == **metric),
                broken: None,
            };
            change.broken =
                rules.iter().find(|rule| rule.is_broken_by(&change)).map(|rule| rule.text.clone());
            self.changes.push(change);
        }
        self.claims.extend(changed_verdicts(&before.summary, &after.summary));
    }

    /// Returns the changes that are larger than the spread between runs.
    pub fn beyond(&self) -> impl Iterator<Item = &Change> {
        self.changes.iter().filter(|change| change.is_beyond_spread)
    }

    /// Returns the changes that break a rule.
    pub fn broken(&self) -> impl Iterator<Item = &Change> {
        self.changes.iter().filter(|change| change.broken.is_some())
    }
}

type CellKey<'a> = (&'a str, &'a RowLabel, &'a Metric);

fn cells(summary: &Summary) -> BTreeMap<CellKey<'_>, &Cell> {
    let rows = summary
        .variants
        .iter()
        .flat_map(|variant| variant.rows.iter().map(|row| (variant.name.as_str(), row)));
    rows.flat_map(|(variant, row)| {
        row.cells.iter().map(move |(metric, cell)| ((variant, &row.label, metric), cell))
    })
    .collect()
}

/// Returns the number of runs behind each row.
fn repetitions(results: &Results) -> BTreeMap<(&str, &RowLabel), u32> {
    let mut runs: BTreeMap<(&str, &RowLabel), BTreeSet<u32>> = BTreeMap::new();
    for flow in &results.flows {
        runs.entry((&flow.variant, &flow.row)).or_default().insert(flow.repetition);
    }
    runs.into_iter().map(|(place, runs)| (place, runs.len() as u32)).collect()
}

/// Reports whether a change is larger than the spread between runs. With a single run every
/// difference counts, because the same program gives the same number.
fn is_beyond_spread(one: &Cell, other: &Cell, ratio: Option<Ratio>, n: [u32; 2]) -> bool {
    let (before, after) = (one.value(), other.value());
    if (before - after).abs() <= ALIKE * before.abs().max(after.abs()) {
        return false;
    }
    match ratio {
        _ if n[0] < 2 || n[1] < 2 => true,
        Some(ratio) => ratio.differs(),
        None => means_differ(one, other, n),
    }
}

fn changed_verdicts(before: &Summary, after: &Summary) -> Vec<ChangedVerdict> {
    let verdict = |id: &str| after.claims.iter().find(|claim| claim.id == id).map(|claim| claim.verdict);
    let each = |claim: &results::summary::ClaimResult| {
        let verdict = verdict(&claim.id).filter(|verdict| *verdict != claim.verdict)?;
        Some(ChangedVerdict {
            experiment: before.experiment.clone(),
            claim: claim.id.clone(),
            before: claim.verdict,
            after: verdict,
        })
    };
    before.claims.iter().filter_map(each).collect()
}

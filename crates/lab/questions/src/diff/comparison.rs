//! Compares two sets of results, number by number.

use std::collections::BTreeMap;

use experiment::metric::Metric;
use experiment::place::Place;
use experiment::row::RowLabel;
use results::summary::{Cell, Summary, Verdict};
use serde::Serialize;

use super::change::Change;
use super::evidence::Sides;
use super::pairs;
use super::rule::Rule;
use super::set::{Measured, samples};

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
    /// Metrics of the tables, in order.
    pub metrics: Vec<Metric>,
    /// Rules without a number to compare.
    pub unused: Vec<String>,
    /// Numbers and experiments of the first set that a rule is about and that the second lacks.
    pub gone: Vec<String>,
}

impl Comparison {
    pub(super) fn new(before: &[Measured], after: &[Measured], rules: &[Rule]) -> Self {
        let mut all = Self::default();
        let name = |results: &Measured| results.summary.experiment.clone();
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
        let experiments = all.alone.iter().filter(|(.., is_new)| !is_new && !rules.is_empty());
        all.gone.extend(experiments.map(|(name, world, _)| format!("{name} ({})", world.word())));
        all
    }

    fn add(&mut self, before: &Measured, after: &Measured, rules: &[Rule]) {
        self.experiments += 1;
        let is_new = |metric: &&Metric| !self.metrics.contains(metric);
        let new: Vec<Metric> = after.summary.metrics.iter().filter(is_new).cloned().collect();
        self.metrics.extend(new);
        let [old, new] = [before, after].map(|results| cells(&results.summary));
        let runs = [before, after].map(Measured::counted);
        self.unmatched += old.keys().filter(|key| !new.contains_key(*key)).count();
        self.unmatched += new.keys().filter(|key| !old.contains_key(*key)).count();
        for ((variant, row, metric), one) in &old {
            let Some(other) = new.get(&(*variant, *row, *metric)) else {
                if rules.iter().any(|rule| rule.metric == **metric) {
                    let (name, place) =
                        (&before.summary.experiment, if variant.is_empty() { "" } else { ", " });
                    self.gone.push(format!("{name} {row}{place}{variant}: {metric}"));
                }
                continue;
            };
            let samples = runs.each_ref().map(|runs| samples(runs, (variant, row), metric));
            let mut change = Change {
                experiment: before.summary.experiment.clone(),
                variant: (*variant).to_owned(),
                row: (*row).clone(),
                metric: (*metric).clone(),
                before: one.value(),
                after: other.value(),
                evidence: Sides { cells: [*one, *other], samples }.evidence(),
                rulings: Vec::new(),
            };
            change.rulings = rules.iter().filter_map(|rule| rule.judge(&change)).collect();
            self.changes.push(change);
        }
        self.claims.extend(changed_verdicts(&before.summary, &after.summary));
    }

    /// Returns the changes that are larger than the spread between runs.
    pub fn beyond(&self) -> impl Iterator<Item = &Change> {
        self.changes.iter().filter(|change| change.evidence.is_beyond_spread)
    }

    /// Returns the changes that break a rule.
    pub fn broken(&self) -> impl Iterator<Item = &Change> {
        self.changes.iter().filter(|change| change.broken().is_some())
    }

    /// Reports whether every rule was checked and holds. A rule that the runs cannot check does not
    /// count as kept.
    pub fn passes(&self) -> bool {
        let fails = |change: &Change| change.rulings.iter().any(|r| r.is_broken || r.is_too_fine);
        self.unused.is_empty() && self.gone.is_empty() && !self.changes.iter().any(fails)
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

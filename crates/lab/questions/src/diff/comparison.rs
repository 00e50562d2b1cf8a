//! Compares two sets of results, number by number.

use std::collections::{BTreeMap, BTreeSet};

use experiment::metric::Metric;
use experiment::place::Place;
use experiment::row::RowLabel;
use results::summary::{Cell, Row, Summary, Verdict};
use serde::Serialize;

use super::change::{Change, join};
use super::evidence::Sides;
use super::rule::Rule;
use super::set::{Measured, samples};
use super::unchecked::{self, GONE, Unchecked};
use super::{pairs, settings};

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
    /// Rows without a valid run, and what a rule is about and one set lacks.
    pub unchecked: Vec<Unchecked>,
    /// Keys of the runs that differ, beside those of controllers.
    pub settings: BTreeSet<String>,
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
        let experiments = all.alone.iter().filter(|(.., is_new)| !is_new && !rules.is_empty());
        all.unchecked.extend(experiments.map(|(name, world, _)| Unchecked {
            what: format!("{name} ({})", world.word()),
            why: GONE,
            metrics: rules.iter().map(|rule| rule.metric.clone()).collect(),
        }));
        let is_unused = |rule: &&Rule| {
            all.changes.iter().all(|change| change.metric != rule.metric)
                && all.unchecked.iter().all(|unchecked| !unchecked.metrics.contains(&rule.metric))
        };
        all.unused = rules.iter().filter(is_unused).map(|rule| rule.text.clone()).collect();
        all
    }

    fn add(&mut self, before: &Measured, after: &Measured, rules: &[Rule]) {
        self.experiments += 1;
        let is_new = |metric: &&Metric| !self.metrics.contains(metric);
        let new: Vec<Metric> = after.summary.metrics.iter().filter(is_new).cloned().collect();
        self.metrics.extend(new);
        self.settings.extend(settings::differing([&before.manifest, &after.manifest]));
        let [old, new] = [before, after].map(|results| rows(&results.summary));
        let numbers = |rows: &Rows<'_>| rows.values().map(|row| row.cells.len()).sum::<usize>();
        let mut common = 0;
        let runs = [before, after].map(Measured::counted);
        for (&place, row) in &old {
            let now = new.get(&place).copied();
            let name = join([&before.summary.experiment, place.0, place.1.as_str()]);
            self.unchecked.extend(unchecked::of_row(&name, [Some(row), now], rules));
            let Some(now) = now else { continue };
            let both =
                row.cells.iter().filter_map(|(metric, one)| Some((metric, [one, now.cells.get(metric)?])));
            common += both.clone().count();
            for (metric, cells) in both.filter(|_| row.is_trusted() && now.is_trusted()) {
                let samples = runs.each_ref().map(|runs| samples(runs, place, metric));
                let experiment = &before.summary.experiment;
                self.changes.push(change(experiment, place, metric, &Sides { cells, samples }, rules));
            }
        }
        self.unmatched += numbers(&old) + numbers(&new) - 2 * common;
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

    /// Returns a rule that no change of the compared numbers could break, and one of the numbers.
    pub fn accepts_all(&self) -> Option<(&str, &Change)> {
        let rulings = || self.changes.iter().flat_map(|c| c.rulings.iter().map(move |ruling| (ruling, c)));
        let is_useless =
            |rule: &str| rulings().filter(|(ruling, _)| ruling.rule == rule).all(|(r, _)| !r.can_be_broken);
        let found = rulings().find(|(ruling, _)| !ruling.can_be_broken && is_useless(&ruling.rule))?;
        Some((&found.0.rule, found.1))
    }

    /// Reports whether every rule was checked and holds. A rule that the runs cannot check does not
    /// count as kept.
    pub fn passes(&self) -> bool {
        let fails = |change: &Change| change.rulings.iter().any(|r| r.is_broken || r.is_too_fine);
        let is_checked = self.unchecked.iter().all(|unchecked| unchecked.metrics.is_empty());
        self.unused.is_empty() && is_checked && !self.changes.iter().any(fails)
    }
}

/// Compares the two sides of a number, and judges it by the rules.
fn change(
    experiment: &str,
    (variant, row): (&str, &RowLabel),
    metric: &Metric,
    sides: &Sides<'_>,
    rules: &[Rule],
) -> Change {
    let [before, after] = sides.cells.map(Cell::value);
    let mut change = Change {
        experiment: experiment.to_owned(),
        variant: variant.to_owned(),
        row: row.clone(),
        metric: metric.clone(),
        before,
        after,
        evidence: sides.evidence(),
        rulings: Vec::new(),
    };
    change.rulings = rules.iter().filter_map(|rule| rule.judge(&change)).collect();
    change
}

/// Rows of a table by variant and label.
type Rows<'a> = BTreeMap<(&'a str, &'a RowLabel), &'a Row>;

fn rows(summary: &Summary) -> Rows<'_> {
    let variants = summary.variants.iter();
    let rows = variants.flat_map(|variant| variant.rows.iter().map(|row| (variant.name.as_str(), row)));
    rows.map(|(variant, row)| ((variant, &row.label), row)).collect()
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

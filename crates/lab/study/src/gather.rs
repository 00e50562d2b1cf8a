//! Makes the tables of a study from its finished runs.

use experiment::file::{Case, Experiment};
use results::measure::{self, Values};
use results::network::Network;
use results::store::{Audit, Done, RunRow};
use results::summary::{Cdf, FlowRow, Results, Summary};
use scenario::{FlowConfig, Histogram, Outcome, Scenario};

use crate::job::Job;

/// Largest number of points in a stored distribution: more than any chart shows.
const CDF_POINTS: usize = 500;

/// Returns the row of a run in the table of all runs.
pub(crate) fn run_row(
    exp: &Experiment,
    &Job { case, repetition, .. }: &Job<'_>,
    (values, audit): (Values, Option<Audit>),
) -> RunRow {
    RunRow {
        variant: case.variant.clone(),
        row: case.label(),
        repetition,
        seed: exp.seed + u64::from(repetition),
        values,
        audit,
    }
}

/// Returns the rows of a run's flows.
pub(crate) fn flow_rows(job: &Job<'_>, scenario: &Scenario, outcome: &Outcome) -> Vec<FlowRow> {
    let &Job { case, repetition, .. } = job;
    let flows = scenario.flows.iter().zip(0..);
    let row = |(config, number): (&FlowConfig, u32)| FlowRow {
        variant: case.variant.clone(),
        row: case.label(),
        repetition,
        flow: number,
        label: config.group.clone(),
        algorithm: config.algorithm.name().to_owned(),
        values: measure::of_flow(scenario, outcome, number as usize),
    };
    flows.map(row).collect()
}

/// Collects flows and distributions in the order of the cases.
pub(crate) fn gather(
    mut summary: Summary,
    networks: Vec<Network>,
    cases: &[Case],
    done: &[Vec<(usize, Done)>],
) -> Results {
    let mut rtt_cdf = Vec::new();
    for (case, runs) in cases.iter().zip(done) {
        let mut all = Histogram::default();
        runs.iter().for_each(|(_, run)| all.merge(&run.rtt));
        rtt_cdf.push(Cdf { variant: case.variant.clone(), row: case.label(), points: thinned(&all.cdf()) });
    }
    summary.exchanges = done.iter().flatten().flat_map(|(_, run)| run.exchanges.iter().cloned()).collect();
    let flows = done.iter().flatten().flat_map(|(_, run)| run.flows.iter().cloned()).collect();
    Results { summary, series: Vec::new(), flows, rtt_cdf, networks }
}

/// Groups the runs by case, with their numbers. Like the table, drops invalid runs if the case has
/// valid ones.
pub(crate) fn counted(done: Vec<Done>, repetitions: impl Iterator<Item = usize>) -> Vec<Vec<(usize, Done)>> {
    let is_valid =
        |(_, run): &(usize, Done)| run.audit.as_ref().is_none_or(|audit| audit.invalid_reasons.is_empty());
    let mut done = done.into_iter().enumerate();
    let for_case = |repetitions| {
        let mut runs: Vec<(usize, Done)> = done.by_ref().take(repetitions).collect();
        if runs.iter().any(is_valid) {
            runs.retain(is_valid);
        }
        runs
    };
    repetitions.map(for_case).collect()
}

/// Returns at most [`CDF_POINTS`] points, evenly spaced over the list, always with the last one.
fn thinned(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let step = points.len().div_ceil(CDF_POINTS).max(1);
    let last = points.len().saturating_sub(1);
    points.iter().enumerate().filter(|(i, _)| i % step == 0 || *i == last).map(|(_, p)| *p).collect()
}

//! From finished runs to the tables of a study.

use experiment::file::{Case, Experiment};
use results::measure;
use results::network::Network;
use results::store::{Done, RunRow};
use results::summary::{Cdf, FlowRow, Results, Summary};
use scenario::{FlowConfig, Histogram, Outcome, Scenario};

use super::job::Job;

/// Points of a stored distribution at most: finer than any chart shows.
const CDF_POINTS: usize = 500;

/// The row of a run in the table of all runs.
pub(super) fn run_row(exp: &Experiment, &Job { case, repetition, .. }: &Job<'_>, done: &Done) -> RunRow {
    RunRow {
        variant: case.variant.clone(),
        row: case.label(),
        repetition,
        seed: exp.seed + u64::from(repetition),
        values: done.values.clone(),
        audit: done.audit.clone(),
    }
}

/// Those of its flows.
pub(super) fn flow_rows(job: &Job<'_>, scenario: &Scenario, outcome: &Outcome) -> Vec<FlowRow> {
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

/// Puts flows and distributions together, in the order of the cases.
pub(super) fn gather(
    summary: Summary,
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
    let flows = done.iter().flatten().flat_map(|(_, run)| run.flows.iter().cloned()).collect();
    Results { summary, series: Vec::new(), flows, rtt_cdf, networks }
}

/// The runs of each case with their numbers, without those that are not valid, if there are others: as in its table.
pub(super) fn counted(done: Vec<Done>, repetitions: impl Iterator<Item = usize>) -> Vec<Vec<(usize, Done)>> {
    let is_valid =
        |(_, run): &(usize, Done)| run.audit.as_ref().is_none_or(|audit| audit.invalid_reasons.is_empty());
    let mut done = done.into_iter().enumerate();
    let of_case = |repetitions| {
        let mut runs: Vec<(usize, Done)> = done.by_ref().take(repetitions).collect();
        if runs.iter().any(is_valid) {
            runs.retain(is_valid);
        }
        runs
    };
    repetitions.map(of_case).collect()
}

/// At most [`CDF_POINTS`], evenly over the list, the last one always.
fn thinned(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let step = points.len().div_ceil(CDF_POINTS).max(1);
    let last = points.len().saturating_sub(1);
    points.iter().enumerate().filter(|(i, _)| i % step == 0 || *i == last).map(|(_, p)| *p).collect()
}

//! The runs that an experiment needs, for executors that distribute them.

use experiment::file::{Case, Experiment};
use serde::Serialize;

/// A run that an experiment needs in the simulator.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Planned {
    pub experiment: String,
    /// Number, from 0, for [`crate::Selection::Listed`].
    pub number: usize,
    pub variant: String,
    pub row: String,
    /// Repetition, from 0.
    pub repetition: u32,
    pub seed: u64,
    /// Longest simulated time, in seconds.
    pub duration_s: f64,
    pub flows: usize,
    /// Number of packets that the bottleneck can carry in that time. CPU time is proportional to
    /// it.
    pub packets: u64,
}

/// Returns the runs of an experiment, in the order of their numbers.
pub fn planned(experiment: &Experiment) -> Vec<Planned> {
    let cases = experiment.cases();
    let runs = |case: &'_ Case| 0..experiment.repetitions_of(case);
    let all = cases.iter().flat_map(|case| runs(case).map(move |repetition| (case, repetition)));
    let planned = |(number, (case, repetition)): (usize, (&Case, u32))| {
        let scenario = experiment.scenario(case, repetition);
        let packet =
            scenario.flows.first().map_or(1500, |flow| flow.transport.wire_bytes(flow.transport.payload()));
        Planned {
            experiment: experiment.name.clone(),
            number,
            variant: case.variant.clone(),
            row: case.label().to_string(),
            repetition,
            seed: scenario.seed,
            duration_s: scenario.duration.0 as f64 / 1e9,
            flows: scenario.flows.len(),
            packets: scenario.link.rate.nominal().bytes_in(scenario.duration) / u64::from(packet.max(1)),
        }
    };
    all.enumerate().map(planned).collect()
}

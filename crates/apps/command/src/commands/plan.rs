//! `ackclock plan`: prints the runs that an experiment would make, for schedulers that distribute
//! them.

use experiment::file::Experiment;
use experiment::library::Source;
use serde::Serialize;

use crate::commands::sources;
use crate::status::{Error, HOLDS, print};

/// A planned run. `--shard k/n` makes the runs with `number % n == k - 1`.
#[derive(Serialize)]
struct Planned {
    experiment: String,
    number: usize,
    variant: String,
    row: String,
    repetition: u32,
    seed: u64,
    /// Longest simulated time, in seconds.
    duration_s: f64,
    flows: usize,
    /// Number of packets that the bottleneck can carry in that time.
    packets: u64,
}

/// Prints the runs as JSON.
pub(crate) fn run(names: &[String]) -> Result<u8, Error> {
    let mut plan = Vec::new();
    let read = |source: Source| Ok(Experiment::parse(&source.name, &source.file, &source.text)?);
    sources::read(names, read)?.iter().for_each(|experiment| plan.extend(runs(experiment)));
    print(&(serde_json::to_string_pretty(&plan).map_err(Error::bad)? + "\n"));
    Ok(HOLDS)
}

fn runs(experiment: &Experiment) -> Vec<Planned> {
    let cases = experiment.cases();
    let all = cases
        .iter()
        .flat_map(|case| (0..experiment.repetitions_of(case)).map(move |repetition| (case, repetition)));
    let planned = |(number, (case, repetition))| {
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

//! Estimates the size of the files that an experiment writes.

use experiment::file::{Case, Experiment};
use results::qlog;
use scenario::Scenario;
use units::Bytes;

use crate::cases::cases;
use crate::options::{Failure, Options};

/// Number of columns in a flow's series: those of the flow, of the link, and of the controller's
/// variables.
const COLUMNS: u64 = 16;
/// Bytes of a number while it is recorded. In the table it takes about half.
const BYTES: u64 = 8;

/// Approximate size of the files.
#[derive(Clone, Copy, Debug)]
pub struct RecordedBytes {
    /// Time series.
    pub series: Bytes,
    /// qlog files.
    pub qlog: Bytes,
}

/// Estimates how much an experiment records.
///
/// # Errors
/// The reason why the experiment cannot run.
pub fn recorded_bytes(exp: &Experiment, options: &Options) -> Result<RecordedBytes, Failure> {
    let (cases, _) = cases(exp, options)?;
    let of_all = |bytes: &dyn Fn(&Scenario) -> u64| {
        let runs =
            |case: &Case| bytes(&exp.scenario(case, 0)).saturating_mul(u64::from(exp.repetitions_of(case)));
        Bytes(cases.iter().map(runs).fold(0, u64::saturating_add))
    };
    Ok(RecordedBytes {
        series: of_all(&series),
        qlog: of_all(&|scenario| options.qlog.map_or(0, |format| qlog::estimate(scenario, format).0)),
    })
}

fn series(scenario: &Scenario) -> u64 {
    let samples = scenario.series.map_or(0, |interval| scenario.duration.0 / interval.0.max(1));
    samples.saturating_mul(scenario.flows.len() as u64).saturating_mul(COLUMNS * BYTES)
}

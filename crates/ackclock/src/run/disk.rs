//! What the runs of an experiment write, before it is too late to say so.

use experiment::backend::Backend;
use experiment::file::{Case, Experiment};
use results::qlog::{self, Format};
use scenario::Scenario;
use units::Bytes;

use super::options::Failure;
use super::study::cases;

/// Columns of a flow's series: its own, the link's, and the variables of a controller.
const COLUMNS: u64 = 16;
/// A number while it is recorded; in the table it takes about half.
const BYTES: u64 = 8;

/// Bytes that are written, roughly.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RecordedBytes {
    /// Time series.
    pub(crate) series: Bytes,
    /// Packet events.
    pub(crate) qlog: Bytes,
}

/// How much an experiment will record.
///
/// # Errors
/// Why it cannot be run.
pub(crate) fn recorded_bytes(
    exp: &Experiment,
    (world, backends): (Backend, &[Backend]),
    qlog: Option<Format>,
) -> Result<RecordedBytes, Failure> {
    let (cases, _) = cases(exp, world, backends)?;
    let of_all = |bytes: &dyn Fn(&Scenario) -> u64| {
        let runs =
            |case: &Case| bytes(&exp.scenario(case, 0)).saturating_mul(u64::from(exp.repetitions_of(case)));
        Bytes(cases.iter().map(runs).fold(0, u64::saturating_add))
    };
    Ok(RecordedBytes {
        series: of_all(&series),
        qlog: of_all(&|scenario| qlog.map_or(0, |format| qlog::estimate(scenario, format).0)),
    })
}

fn series(scenario: &Scenario) -> u64 {
    let samples = scenario.series.map_or(0, |interval| scenario.duration.0 / interval.0.max(1));
    samples.saturating_mul(scenario.flows.len() as u64).saturating_mul(COLUMNS * BYTES)
}

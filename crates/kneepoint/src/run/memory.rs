//! What the runs of an experiment keep in memory, before it is too late to say so.

use experiment::file::{Case, Experiment};
use units::Bytes;

use crate::run::Failure;

/// Columns of a flow's series: its own, the link's, and the variables of a controller.
const COLUMNS: u64 = 16;
/// A number in memory, and once more for the table that is written.
const BYTES: u64 = 2 * 8;

/// Refuses what would need more.
///
/// # Errors
/// How much it would be, and what helps.
pub(super) fn check(exp: &Experiment, cases: &[Case], most: Bytes) -> Result<(), Failure> {
    let one = |case: &Case| {
        let scenario = exp.scenario(case, 0);
        let samples = scenario.series.map_or(0, |interval| scenario.duration.0 / interval.0.max(1));
        samples.saturating_mul(scenario.flows.len() as u64).saturating_mul(COLUMNS * BYTES)
    };
    let all = cases.iter().map(one).fold(0, u64::saturating_add).saturating_mul(u64::from(exp.repetitions));
    if all <= most.0 {
        return Ok(());
    }
    Err(Failure::Memory(format!(
        "the time series of {}'s runs would take some {} of memory, and {most} are allowed: make `series` longer or \"off\", or raise \
         --max-memory",
        exp.name,
        Bytes(all / 1_000_000 * 1_000_000),
    )))
}

//! What the runs of an experiment write beside their tables, before it is too late to say so.

use experiment::backend::Backend;
use experiment::file::Experiment;
use results::qlog::{self, Format};
use units::Bytes;

use crate::run::{Failure, cases};

/// Bytes of qlog that an experiment will write, roughly.
///
/// # Errors
/// Why it cannot be run.
pub(crate) fn qlog_bytes(exp: &Experiment, world: Backend, format: Format) -> Result<Bytes, Failure> {
    let (cases, _) = cases(exp, world)?;
    let once = cases.iter().map(|case| qlog::estimate(&exp.scenario(case, 0), format).0);
    Ok(Bytes(once.fold(0, u64::saturating_add).saturating_mul(u64::from(exp.repetitions))))
}

/// How a manifest says that there are qlogs, and which.
pub(super) fn recorded(format: Format) -> String {
    if format == Format::default() { "qlog".to_owned() } else { format!("qlog={format}") }
}

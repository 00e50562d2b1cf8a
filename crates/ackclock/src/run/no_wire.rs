//! Without the emulator.

use std::path::Path;

use scenario::{Outcome, Scenario, Watch};

use super::Failure;
use experiment::backend::Backend;
use experiment::file::{Case, Experiment};
use experiment::metric::Metric;
use results::store::Audit;

const REFUSED: &str =
    "this build has no wire: it needs Linux, and the feature `wire` of the package `ackclock`";

fn refused() -> Failure {
    Failure::Wire(REFUSED.to_owned())
}

pub(crate) fn prepare() -> Result<(), Failure> {
    Err(refused())
}

pub(crate) fn locate(_: Backend) -> Result<(), String> {
    Err(REFUSED.to_owned())
}

pub(super) fn cases(_: &Experiment, _: &[Backend]) -> Result<(Vec<Case>, String), Failure> {
    Err(refused())
}

pub(super) fn run(
    _: Backend,
    _: &Scenario,
    _: Option<&Path>,
    _: &Watch,
) -> Result<(Outcome, Audit), Failure> {
    Err(refused())
}

pub(super) fn tells(_: Backend, _: &Scenario, _: &Metric) -> bool {
    true
}

pub(super) fn here_and_now() -> String {
    String::new()
}

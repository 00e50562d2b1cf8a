//! The wire in a build without the emulator.

use std::path::Path;

use scenario::{Outcome, Scenario, Watch};

use super::Failure;
use crate::features;
use experiment::backend::Backend;
use experiment::file::{Case, Experiment};
use experiment::metric::Metric;
use results::store::Audit;

fn refused() -> Failure {
    Failure::Wire(features::missing_on_linux("wire", "wire"))
}

pub(crate) fn prepare() -> Result<(), Failure> {
    Err(refused())
}

pub(crate) fn locate(_: Backend) -> Result<(), String> {
    Err(features::missing_on_linux("wire", "wire"))
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

pub(super) fn knows(_: Backend, _: &Scenario, _: &Metric) -> bool {
    true
}

pub(super) fn here_and_now() -> String {
    String::new()
}

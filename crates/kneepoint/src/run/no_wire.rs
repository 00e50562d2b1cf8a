//! Without the emulator.

use std::path::Path;

use scenario::{Outcome, Scenario, Watch};

use super::Failure;
use experiment::file::{Case, Experiment};
use experiment::metric::Metric;
use results::store::Audit;

fn refused() -> Failure {
    Failure::Wire(
        "this build has no wire: it needs Linux, and the feature `wire` of the package `kneepoint`"
            .to_owned(),
    )
}

pub(crate) fn prepare() -> Result<(), Failure> {
    Err(refused())
}

pub(super) fn cases(_: &Experiment) -> Result<(Vec<Case>, String), Failure> {
    Err(refused())
}

pub(super) fn run(_: &Scenario, _: Option<&Path>, _: &Watch) -> Result<(Outcome, Audit), Failure> {
    Err(refused())
}

pub(super) fn tells(_: &Scenario, _: &Metric) -> bool {
    true
}

pub(super) fn here_and_now() -> String {
    String::new()
}

//! Other QUIC stacks as processes on the wire.

use std::path::Path;

use experiment::backend::Backend;
use scenario::{Outcome, Scenario, Watch};

use super::Failure;

/// A stack that runs as processes.
pub(super) type Stack = wire::processes::Stack;
/// Metrics that the wire does not know of such a stack.
pub(super) const UNKNOWN: &[&str] = &wire::processes::UNKNOWN;

/// Returns the stack whose processes are a row's flows, or `None` if the kernel or our endpoints
/// carry them.
pub(super) fn stack_of(on: Backend) -> Option<Stack> {
    let name = on.stack().filter(|_| on != Backend::Wire)?;
    wire::processes::shipped().into_iter().find(|stack| stack.name() == name)
}

/// Checks that the stack is installed.
///
/// # Errors
/// The missing part, and the command that installs it.
pub(super) fn locate(stack: &Stack) -> Result<(), String> {
    stack.locate().map(drop).map_err(|why| why.to_string())
}

/// Checks that the stack can run a scenario.
///
/// # Errors
/// The first thing it cannot do.
pub(super) fn check(scenario: &Scenario, stack: &Stack) -> Result<(), String> {
    wire::processes::check(scenario, stack, None).map_err(|why| why.to_string())
}

/// Runs a scenario once. Returns its outcome, and why the run is not valid.
pub(super) fn once(
    scenario: &Scenario,
    stack: &Stack,
    pcap: Option<&Path>,
    watch: &Watch,
) -> Result<(Outcome, Vec<String>), Failure> {
    let options =
        wire::processes::Options { pcap: pcap.map(Path::to_owned), ..wire::processes::Options::default() };
    let measured = wire::processes::run_with(scenario, stack, None, &options, watch);
    let measured = measured.map_err(|why| match why {
        wire::processes::Error::Interrupted => Failure::Interrupted(0),
        why => Failure::Wire(why.to_string()),
    })?;
    Ok((measured.outcome, measured.invalid_reasons))
}

//! Other QUIC stacks on the wire in a build without the feature `others`.

use std::path::Path;

use experiment::backend::Backend;
use scenario::{Outcome, Scenario, Watch};

use super::Failure;
use crate::features;

/// A stack that this build cannot run.
pub(super) struct Stack;
/// Metrics that the wire does not know of such a stack.
pub(super) const UNKNOWN: &[&str] = &[];

fn refused() -> String {
    features::missing("other stacks on the wire", "others")
}

pub(super) fn stack_of(on: Backend) -> Option<Stack> {
    (on != Backend::Wire && on.stack().is_some()).then_some(Stack)
}

pub(super) fn locate(_: &Stack) -> Result<(), String> {
    Err(refused())
}

pub(super) fn check(_: &Scenario, _: &Stack) -> Result<(), String> {
    Err(refused())
}

pub(super) fn once(
    _: &Scenario,
    _: &Stack,
    _: Option<&Path>,
    _: &Watch,
) -> Result<(Outcome, Vec<String>), Failure> {
    Err(Failure::Wire(refused()))
}

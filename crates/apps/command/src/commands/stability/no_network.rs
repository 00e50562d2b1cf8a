//! `ackclock stability --network FILE` in a build without the feature `networks`.

use std::path::Path;

use super::StabilityArgs;
use crate::features;
use crate::status::Error;

pub(super) fn run(_: &StabilityArgs, _: &Path) -> Result<u8, Error> {
    Err(Error::bad(features::missing("analysis of networks", "networks")))
}

//! A link alone, without an experiment around it: the keys of `[link]`, for `ackclock link`.

use ::link::LinkConfig;
use units::Duration;

use crate::diagnostic::Diagnostic;
use crate::diagnostics::Diagnostics;
use crate::file::chain::keys_of_one;
use crate::file::cursor::Cursor;
use crate::file::link::{self, Link, Traffic};
use crate::file::mistakes::{StandIns, told_with};
use crate::file::node;

/// What stands where a key of a link alone must be, so that the rest of its words can be read.
const STAND_INS: StandIns = &[(&["rate"], "10 Mbit/s"), (&["delay"], "1 ms")];

/// Reads the delay of one `[link]` from TOML; that of the first step.
///
/// # Errors
/// The first mistake, with its key.
pub fn delay(name: &str, toml: &str) -> Result<Duration, Diagnostic> {
    let document = node::parse(name, toml).map_err(|all| all.first().clone())?;
    let fields = Cursor::root(name, &document).table(&keys_of_one())?;
    Ok(link::read_delay(&fields)?.0)
}

/// Reads the keys of one `[link]` from TOML. `rtt` is what a queue in BDP refers to, from the link's own delay, and
/// `packet` the largest in bytes.
///
/// # Errors
/// Every mistake, with its key; `name` stands for the file.
pub fn link(
    name: &str,
    toml: &str,
    rtt: impl Fn(Duration) -> Duration,
    packet: u32,
) -> Result<LinkConfig, Diagnostics> {
    told_with(node::parse(name, toml)?, STAND_INS, |document| {
        let read = || {
            let fields = Cursor::root(name, &document).table(&keys_of_one())?;
            let link = Link::read(&fields)?;
            link.resolve(&fields, Traffic { rtt: Some(rtt(link.config.delay)), packet })
        };
        Some(read())
    })
}

//! Reads a link without an experiment, for `ackclock link`: the keys of `[link]`.

use ::link::LinkConfig;
use congestion::Registry;
use units::Duration;

use crate::diagnostic::Diagnostic;
use crate::diagnostics::Diagnostics;
use crate::file::chain::unnamed_keys;
use crate::file::cursor::Cursor;
use crate::file::link::{self, Traffic};
use crate::file::mistakes::{Placeholders, read_or_report_with};
use crate::file::node;
use crate::file::tables::network::Link;

/// Placeholders for missing keys of a link, so that its other keys can be checked.
const PLACEHOLDERS: Placeholders = &[(&["rate"], "10 Mbit/s"), (&["delay"], "1 ms")];

/// Reads the delay of one `[link]` from TOML. If it has steps, returns the first.
///
/// # Errors Returns the first mistake, with its key.
pub fn delay(name: &str, toml: &str) -> Result<Duration, Diagnostic> {
    let document = node::parse(name, toml).map_err(|all| all.first().clone())?;
    let controllers = Registry::default();
    let fields = Cursor::root(name, &controllers, &document).table(&unnamed_keys())?;
    Ok(link::read_delay(&fields)?.first())
}

/// Reads the keys of one `[link]` from TOML. `rtt` computes, from the link's delay, the RTT that a
/// queue in BDP refers to. `packet` is the largest packet in bytes.
///
/// # Errors Returns every mistake, with its key. `name` names the file.
pub fn link(
    name: &str,
    toml: &str,
    rtt: impl Fn(Duration) -> Duration,
    packet: u32,
) -> Result<LinkConfig, Diagnostics> {
    read_or_report_with(node::parse(name, toml)?, PLACEHOLDERS, |document| {
        let controllers = Registry::default();
        let read = || {
            let fields = Cursor::root(name, &controllers, &document).table(&unnamed_keys())?;
            let link = Link::read_whole(&fields)?;
            let traffic = Traffic { rtt: Some(rtt(link.delay.first())), packet, first: 0 };
            let (_, config) = link.resolve(&fields, traffic)?;
            link.check_room(&fields, &config, traffic).map(|()| config)
        };
        Some(read())
    })
}

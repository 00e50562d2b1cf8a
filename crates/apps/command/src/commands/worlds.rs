//! `--on` and `--stack`: the backends that a command runs on.

use std::collections::BTreeSet;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use experiment::backend::Backend;

use crate::places;
use crate::status::Error;

/// Returns a parser for the names of these worlds, with their descriptions.
pub(super) fn worlds(
    worlds: &[Backend],
    doc: fn(Backend) -> &'static str,
) -> impl TypedValueParser<Value = Backend> {
    let words = worlds.iter().map(|world| PossibleValue::new(world.word()).help(doc(*world)));
    PossibleValuesParser::new(words)
        .try_map(|word| Backend::named(&word).ok_or_else(|| format!("unknown backend `{word}`")))
}

/// Returns a parser for the names of the stacks in these worlds, and of the kernel's TCP.
pub(super) fn stacks(worlds: &[Backend]) -> PossibleValuesParser {
    let kernel = worlds.contains(&Backend::Wire).then_some(KERNEL);
    PossibleValuesParser::new(stack_names(worlds).into_iter().chain(kernel).collect::<BTreeSet<&str>>())
}

fn stack_names(worlds: &[Backend]) -> BTreeSet<&'static str> {
    let backends = Backend::ALL.into_iter().filter(|backend| worlds.contains(&backend.world()));
    backends.filter_map(Backend::stack).collect()
}

/// Name of the kernel's TCP. On the wire it gives the same rows as `ackclock`.
pub(super) const KERNEL: &str = "linux-tcp";

/// Returns the backends of the rows next to the simulator's: the named stacks, each once, or ours
/// by default.
///
/// # Errors
/// A stack that is not available in this world, or not installed on this machine.
pub(super) fn backends(on: Backend, named: &[String]) -> Result<Vec<Backend>, Error> {
    if on == Backend::Sim && !named.is_empty() {
        return Err(Error::bad("--stack: requires --on stack or --on wire"));
    }
    let mut backends: Vec<Backend> = Vec::new();
    for name in named {
        let stack = if name == KERNEL && on == Backend::Wire { "ackclock" } else { name };
        let found = Backend::for_stack(on, stack);
        let elsewhere = if on == Backend::Wire { Backend::Stack } else { Backend::Wire };
        let backend =
            found.ok_or_else(|| Error::bad(format!("--stack {name}: needs --on {}", elsewhere.word())))?;
        if !backends.contains(&backend) {
            places::find(backend).map_err(|why| Error::bad(format!("--stack {name}: {why}")))?;
            backends.push(backend);
        }
    }
    if backends.is_empty() && on != Backend::Sim {
        backends.push(on);
    }
    Ok(backends)
}

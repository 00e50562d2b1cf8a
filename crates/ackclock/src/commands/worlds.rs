//! `--on` and `--stack`: where the runs of a command take place.

use std::collections::BTreeSet;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use experiment::backend::Backend;
use stack::Stack;

use crate::run;
use crate::status::Error;

/// The words of these worlds, with what each is.
pub(super) fn worlds(worlds: &[Backend]) -> impl TypedValueParser<Value = Backend> {
    let words = worlds.iter().map(|world| PossibleValue::new(world.word()).help(world.doc()));
    PossibleValuesParser::new(words)
        .try_map(|word| Backend::named(&word).ok_or_else(|| format!("no backend is called `{word}`")))
}

/// The names of the stacks of these worlds, and of the kernel's TCP.
pub(super) fn stacks(worlds: &[Backend]) -> PossibleValuesParser {
    let kernel = worlds.contains(&Backend::Wire).then_some(KERNEL);
    PossibleValuesParser::new(of_worlds(worlds).into_iter().chain(kernel).collect::<BTreeSet<&str>>())
}

fn of_worlds(worlds: &[Backend]) -> BTreeSet<&'static str> {
    let backends = Backend::ALL.into_iter().filter(|backend| worlds.contains(&backend.world()));
    backends.filter_map(Backend::stack).collect()
}

/// The kernel's TCP: the same rows of the wire as ours.
pub(super) const KERNEL: &str = "linux-tcp";

/// Of the rows beside the simulator's: of the named stacks, each once, and ours where none is.
///
/// # Errors
/// One that goes with another world, or that is not on this machine.
pub(super) fn backends(on: Backend, named: &[String]) -> Result<Vec<Backend>, Error> {
    if on == Backend::Sim && !named.is_empty() {
        return Err(Error::bad("--stack: it goes with --on stack or --on wire"));
    }
    let mut backends: Vec<Backend> = Vec::new();
    for name in named {
        let stack = if name == KERNEL && on == Backend::Wire { "ackclock" } else { name };
        let found = Backend::of(on, stack);
        let backend = found
            .ok_or_else(|| Error::bad(format!("--stack {name}: it does not go with --on {}", on.word())))?;
        if !backends.contains(&backend) {
            here(backend).map_err(|why| Error::bad(format!("--stack {name}: {why}")))?;
            backends.push(backend);
        }
    }
    if backends.is_empty() && on != Backend::Sim {
        backends.push(on);
    }
    Ok(backends)
}

/// Whether what runs a row is on this machine.
fn here(backend: Backend) -> Result<(), String> {
    if backend.world() == Backend::Wire {
        return run::locate(backend);
    }
    let stack = Stack::ALL.into_iter().find(|stack| Some(stack.word()) == backend.stack());
    stack.map_or(Ok(()), |stack| stack.find().map_err(|why| why.to_string()))
}

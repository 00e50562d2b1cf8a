//! `--on` and `--stack`: the backends that a command runs on.

use std::collections::BTreeSet;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use experiment::place::Place;
use questions::conform::KERNEL;

use crate::places;
use crate::status::Error;

/// Returns a parser for the names of these worlds, with their descriptions.
pub(super) fn worlds(
    worlds: &[Place],
    doc: fn(Place) -> &'static str,
) -> impl TypedValueParser<Value = Place> {
    let words = worlds.iter().map(|world| PossibleValue::new(world.word()).help(doc(*world)));
    PossibleValuesParser::new(words)
        .try_map(|word| Place::named(&word).ok_or_else(|| format!("unknown backend `{word}`")))
}

/// Returns a parser for the names of the stacks in these worlds, and of the kernel's TCP.
pub(super) fn stacks(worlds: &[Place]) -> PossibleValuesParser {
    let kernel = worlds.contains(&Place::WIRE).then_some(KERNEL);
    PossibleValuesParser::new(stack_names(worlds).into_iter().chain(kernel).collect::<BTreeSet<&str>>())
}

fn stack_names(worlds: &[Place]) -> BTreeSet<&'static str> {
    let backends = Place::ALL.into_iter().filter(|backend| worlds.contains(&backend.world()));
    backends.filter_map(Place::stack).collect()
}

/// Returns the backends of the rows next to the simulator's: the named stacks, each once, or ours
/// by default. On the kernel, all of them are the default.
///
/// # Errors
/// A stack that is not available in this world, or not installed on this machine.
pub(super) fn backends(on: Place, named: &[String]) -> Result<Vec<Place>, Error> {
    if on == Place::SIM && !named.is_empty() {
        return Err(Error::bad("--stack: requires --on stack, --on wire or --on kernel"));
    }
    let mut backends: Vec<Place> = Vec::new();
    for name in named {
        let stack = if name == KERNEL && on == Place::WIRE { "ackclock" } else { name };
        let found = Place::for_stack(on, stack);
        let elsewhere = || {
            let place = Place::ALL.into_iter().find(|place| place.stack() == Some(stack));
            Error::bad(format!(
                "--stack {name}: needs --on {}",
                place.map_or(Place::WIRE, Place::world).word()
            ))
        };
        let backend = found.ok_or_else(elsewhere)?;
        if !backends.contains(&backend) {
            places::find(backend).map_err(|why| Error::bad(format!("--stack {name}: {why}")))?;
            backends.push(backend);
        }
    }
    if backends.is_empty() && on == Place::KERNEL {
        places::find(on).map_err(|why| Error::bad(format!("--on {}: {why}", on.word())))?;
        backends.extend(Place::ALL.into_iter().filter(|place| place.world() == on));
    } else if backends.is_empty() && on != Place::SIM {
        backends.push(on);
    }
    Ok(backends)
}

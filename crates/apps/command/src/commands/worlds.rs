//! `--on` and `--stack`: the backends that a command runs on.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::Path;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Arg, Command};
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

/// Returns a parser for the names of the stacks in these worlds, of the kernel's TCP, and for the
/// manifest of a stack.
pub(super) fn stacks(worlds: &[Place]) -> impl TypedValueParser<Value = String> + use<> {
    let wire = worlds.contains(&Place::WIRE);
    let names = stack_names(worlds).into_iter().chain(wire.then_some(KERNEL)).collect::<BTreeSet<&str>>();
    StackNames { names: PossibleValuesParser::new(names), wire }
}

/// Parser for names of stacks and, on the wire, for the file of a manifest.
#[derive(Clone)]
struct StackNames {
    names: PossibleValuesParser,
    wire: bool,
}

impl TypedValueParser for StackNames {
    type Value = String;

    fn parse_ref(
        &self,
        command: &Command,
        argument: Option<&Arg>,
        value: &OsStr,
    ) -> Result<String, clap::Error> {
        match value.to_str().filter(|text| self.wire && is_manifest(text)) {
            Some(path) => Ok(path.to_owned()),
            None => self.names.parse_ref(command, argument, value),
        }
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        self.names.possible_values()
    }
}

/// Reports whether a stack is given by the file of its manifest.
pub(super) fn is_manifest(stack: &str) -> bool {
    stack.contains('/') || stack.ends_with(".toml")
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
pub(crate) fn backends(on: Place, named: &[String]) -> Result<Vec<Place>, Error> {
    if on == Place::SIM && !named.is_empty() {
        return Err(Error::bad("--stack: requires --on stack, --on wire or --on kernel"));
    }
    let mut backends: Vec<Place> = Vec::new();
    for name in named {
        if is_manifest(name) {
            if on != Place::WIRE {
                return Err(Error::bad(format!("--stack {name}: a manifest needs --on wire")));
            }
            let place =
                places::own(Path::new(name)).map_err(|why| Error::bad(format!("--stack {name}: {why}")))?;
            if !backends.contains(&place) {
                backends.push(place);
            }
            continue;
        }
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

//! The places of this program that can run rows, and what it tells a study about itself.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
#[cfg(wire)]
use std::sync::{Mutex, PoisonError};

use experiment::place::Place;
use sim::Simulator;
use stack::{Stack, VirtualTime};
use study::{Options, Places, Program};

use crate::controllers;
#[cfg(not(wire))]
use crate::features;

const COMMIT: &str = env!("ACKCLOCK_COMMIT");

/// Returns the options for simulations that are stored in this folder.
pub(crate) fn simulate(out: PathBuf) -> Options {
    Options::simulate(out, places(), program(None))
}

/// Returns every place of this build.
pub(crate) fn places() -> Places {
    let mut places = Places::default().with(Place::SIM, Simulator);
    for stack in Stack::ALL {
        if let Some(place) = Place::for_stack(Place::STACK, stack.word()) {
            places = places.with(place, VirtualTime(stack));
        }
    }
    with_wire(places)
}

#[cfg(not(wire))]
fn with_wire(places: Places) -> Places {
    places
}

#[cfg(wire)]
fn with_wire(places: Places) -> Places {
    use stack::Profile;
    use wire::{Endpoints, Processes, processes};

    let check = |scenario: &_| Stack::Ackclock.check_scenario(scenario).map_err(|why| format!("flow: {why}"));
    let guests = |scenario: &_| stack::guests(scenario, &Profile::default()).map_err(|why| why.to_string());
    let endpoints = Endpoints { check, guests };
    let mut places = places.with(Place::WIRE, endpoints);
    #[cfg(kernel)]
    for (place, controllers) in [
        (Place::KERNEL, wire::Controllers::Agents),
        (Place::KERNEL_NATIVE, wire::Controllers::Native),
        (Place::KERNEL_OWN, wire::Controllers::Own),
    ] {
        places = places.with(place, wire::Kernel { controllers, endpoints });
    }
    for stack in processes::shipped() {
        if let Some(place) = Place::for_stack(Place::WIRE, stack.name()) {
            places = places.with(place, Processes(stack));
        }
    }
    for (place, stack) in OWN.lock().unwrap_or_else(PoisonError::into_inner).iter() {
        places = places.with(*place, Processes(stack.clone()));
    }
    places
}

/// Stacks of the user, by the manifests that were named.
#[cfg(wire)]
static OWN: Mutex<Vec<(Place, wire::processes::Stack)>> = Mutex::new(Vec::new());

/// Reads the manifest of a stack, and returns its place.
///
/// # Errors
/// A wrong manifest, or a stack that is not installed.
#[cfg(wire)]
pub(crate) fn own(manifest: &Path) -> Result<Place, String> {
    let stack = wire::processes::Stack::read(manifest).map_err(|why| why.to_string())?;
    let name = stack.name();
    if Place::ALL.into_iter().any(|place| place.stack() == Some(name) || place.word() == name) {
        return Err(format!("name: `{name}` is a shipped stack; choose another name, like \"{name}-fork\""));
    }
    let place =
        Place::own(name).ok_or_else(|| format!("name: `{name}` is too long; use 64 letters at most"))?;
    stack.locate().map_err(|why| why.to_string())?;
    let mut known = OWN.lock().unwrap_or_else(PoisonError::into_inner);
    if known.iter().any(|(other, known)| *other == place && *known != stack) {
        return Err(format!("name: another manifest has the name `{name}`; choose another name"));
    }
    known.push((place, stack));
    Ok(place)
}

#[cfg(not(wire))]
pub(crate) fn own(_: &Path) -> Result<Place, String> {
    Err(features::missing_on_linux("wire", "wire"))
}

/// Acquires the privileges that the wire needs. A user namespace must be entered before any thread
/// starts.
///
/// # Errors
/// A build without the wire, or privileges that this user cannot have.
pub(crate) fn prepare_wire() -> Result<(), String> {
    #[cfg(wire)]
    return wire::emu::privilege::acquire().map(drop).map_err(|e| e.to_string());
    #[cfg(not(wire))]
    Err(features::missing_on_linux("wire", "wire"))
}

/// Checks that the program behind a place is in this build and on this machine.
///
/// # Errors
/// The missing part, and how to get it.
pub(crate) fn find(name: Place) -> Result<(), String> {
    match places().get(name) {
        Some(world) => world.find(),
        None => prepare_wire(),
    }
}

static FILE: OnceLock<PathBuf> = OnceLock::new();

/// Names the file that holds this program. The first name counts.
pub(crate) fn set_file(path: PathBuf) {
    let _ = FILE.set(path);
}

/// Reports whether this program is a library of another one.
pub(crate) fn is_library() -> bool {
    FILE.get().is_some()
}

/// Returns the program that results come from, with what else identifies it.
pub(crate) fn program(extended: Option<&str>) -> Program {
    let digests = digest().into_iter().chain(extended.map(str::to_owned));
    let digest = digests.reduce(|all, more| results::store::digest(format!("{all}\n{more}").as_bytes()));
    Program { version: env!("CARGO_PKG_VERSION").to_owned(), commit: COMMIT.to_owned(), digest }
}

/// Returns the digest of this program, if its commit does not identify it.
fn digest() -> Option<String> {
    static DIGEST: OnceLock<Option<String>> = OnceLock::new();
    let is_said = COMMIT.chars().all(|c| c.is_ascii_hexdigit()) && !controllers::are_extended();
    let file = || FILE.get().cloned().or_else(|| std::env::current_exe().ok());
    let read = || Some(results::store::digest(&std::fs::read(file()?).ok()?));
    if is_said { None } else { DIGEST.get_or_init(read).clone() }
}

#[cfg(test)]
mod tests {
    use experiment::file::Experiment;
    use experiment::quantity::Quantity;

    use super::*;

    /// Worlds name what they cannot tell by words. Each is the word of a metric.
    #[test]
    fn what_a_world_cannot_tell_is_a_metric() {
        let mut words = 0;
        for transport in ["quic", "tcp"] {
            let text = format!(
                "title = \"t\"\nduration = \"1 s\"\n[link]\nrate = \"10 Mbit/s\"\ndelay = \"5 ms\"\nqueue = \"1 BDP\"\n\
                 [[flow]]\ncontroller = \"cubic\"\ntransport = \"{transport}\"\n"
            );
            let exp = Experiment::parse("t", Path::new("t.toml"), &text).unwrap();
            let scenario = exp.scenario(&exp.cases()[0], 0);
            for (place, world) in Place::ALL
                .into_iter()
                .filter_map(|place| Some((place, places().get(place)?.untold(&scenario))))
            {
                for word in world {
                    assert!(Quantity::find(word).is_some(), "{}: {word}", place.word());
                    words += 1;
                }
            }
        }
        assert!(words > 0 || cfg!(not(wire)));
    }
}

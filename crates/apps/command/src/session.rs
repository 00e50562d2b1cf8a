//! The surroundings of a question: controllers, program, threads, progress.

use std::path::PathBuf;
use std::sync::Arc;

use congestion::Registry;
use experiment::diagnostic::question;
use experiment::place::Place;
use rayon::ThreadPool;
use scenario::Watch;
use study::{Options, Places, Program, Progress};

use crate::commands::worlds::backends;
use crate::controllers::controllers;
use crate::interrupt;
use crate::places;
use crate::progress::Bar;
use crate::status::Error;

/// Surroundings of the questions that a program asks.
pub struct Session<'a> {
    /// Controllers that questions may name.
    pub registry: Registry,
    /// Changes the places of this program that can run experiments.
    pub places: &'a dyn Fn(Places) -> Places,
    /// Program that the results come from.
    pub program: Program,
    /// Threads for the runs; `None` for those of the caller.
    pub pool: Option<Arc<ThreadPool>>,
    /// Receives the progress of every study.
    pub progress: &'a dyn Progress,
    /// Stops the question.
    pub watch: &'a Watch,
}

impl Session<'_> {
    /// Answers as the command does: with its own controllers and a bar, until an interrupt.
    pub(crate) fn of_command<R>(work: impl FnOnce(&Session<'_>) -> Result<R, Error>) -> Result<R, Error> {
        let watch = interrupt::watch()?;
        work(&Session {
            registry: controllers().clone(),
            places: &|places| places,
            program: places::program(None),
            pool: None,
            progress: &Bar::default(),
            watch: &watch,
        })
    }

    /// Returns the options for simulations that are stored in this folder.
    pub fn options(&self, out: PathBuf) -> Options {
        let options = Options::simulate(out, (self.places)(places::places()), self.program.clone());
        Options { pool: self.pool.clone(), ..options }
    }

    /// Returns the options for runs in a world, as in `--on`, with these stacks, as in `--stack`.
    ///
    /// # Errors
    /// A world or a stack that is unknown, or not on this machine.
    pub fn options_on(&self, out: PathBuf, on: &str, stacks: &[String]) -> Result<Options, Error> {
        let world = Place::named(on).filter(|place| place.world() == *place);
        let worlds = [Place::SIM, Place::STACK, Place::WIRE, Place::KERNEL].map(Place::word);
        let unknown = || Error::bad(format!("on: unknown world `{on}`; {}", question(on, &worlds)));
        let world = world.ok_or_else(unknown)?;
        let backends = backends(world, stacks)?;
        if [Place::WIRE, Place::KERNEL].contains(&world) {
            places::prepare_wire()?;
        }
        // The places include the user's own stacks, whose manifests `backends` has read.
        Ok(Options { world, backends, ..self.options(out) })
    }
}

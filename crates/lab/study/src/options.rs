//! Options for running experiments, and the ways that a study can end.

use std::collections::BTreeSet;
use std::io;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

use experiment::diagnostic::Diagnostic;
use experiment::place::Place;
use rayon::ThreadPool;
use results::qlog;
use results::summary::Results;
use scenario::World;

use crate::places::Places;

/// The program that results come from. Results of another program are not used.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Program {
    pub version: String,
    pub commit: String,
    /// Digest of the program, if its commit does not identify it.
    pub digest: Option<String>,
}

/// Options for running experiments.
#[derive(Clone, Debug)]
pub struct Options {
    /// Parent of the results folders.
    pub out: PathBuf,
    /// What can run rows.
    pub places: Places,
    /// The program that the results come from.
    pub program: Program,
    /// Format of the qlog files of every flow; `None` for no such files.
    pub qlog: Option<qlog::Format>,
    /// Whether to capture the traffic of each run on the wire.
    pub pcap: bool,
    /// World that the runs take place in.
    pub world: Place,
    /// Places in that world that run rows next to the simulator's.
    pub backends: Vec<Place>,
    /// Whether to compute existing results again.
    pub fresh: bool,
    /// Runs to make.
    pub runs: Selection,
    /// Threads for the runs; `None` for the pool of the caller.
    pub pool: Option<Arc<ThreadPool>>,
}

impl Options {
    /// Returns options for simulations that are stored in this folder.
    pub fn simulate(out: PathBuf, places: Places, program: Program) -> Self {
        Self {
            out,
            places,
            program,
            qlog: None,
            pcap: false,
            world: Place::SIM,
            backends: Vec::new(),
            fresh: false,
            runs: Selection::All,
            pool: None,
        }
    }

    /// Reports whether runs in the world of these options take real time.
    pub(crate) fn is_real_time(&self) -> bool {
        self.places.get(self.world).is_some_and(World::is_real_time)
    }

    /// Returns the settings of the worlds of these options, or `None` if one does not know them.
    pub(crate) fn settings(&self) -> Option<String> {
        let places = self.backends.iter().chain([&self.world]);
        places.map(|place| self.places.get(*place)?.settings()).collect()
    }

    /// Returns the world of this name.
    ///
    /// # Errors
    /// A place that this program does not have.
    pub(crate) fn world(&self, name: Place) -> Result<&dyn World, Failure> {
        let missing = || Failure::World(format!("this build has no {}", name.word()));
        self.places.get(name).ok_or_else(missing)
    }
}

/// The runs of a study that one program makes. The last part that finds all others completes the
/// study.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Selection {
    #[default]
    All,
    Shard(Shard),
    /// Numbers of runs, as in [`crate::planned`].
    Listed(BTreeSet<usize>),
}

impl Selection {
    /// Reports whether the run with this number, counted from 0, is selected.
    pub(crate) fn has(&self, run: usize) -> bool {
        match self {
            Self::All => true,
            Self::Shard(shard) => shard.has(run),
            Self::Listed(runs) => runs.contains(&run),
        }
    }
}

/// A part of a study: every `of`-th run, starting with the `number`-th, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    number: usize,
    of: usize,
}

impl Shard {
    /// Reports whether the run with this number, counted from 0, belongs to the part.
    fn has(self, run: usize) -> bool {
        run % self.of == self.number - 1
    }
}

impl FromStr for Shard {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text.split_once('/').map(|(k, n)| (k.trim().parse(), n.trim().parse()));
        match parts {
            Some((Ok(number), Ok(of))) if 1 <= number && number <= of => Ok(Self { number, of }),
            _ => Err("write K/N with 1 <= K <= N, like 3/16 for the third of sixteen parts".to_owned()),
        }
    }
}

/// State of a study after running it.
#[derive(Debug)]
pub enum Study {
    /// A complete study: results, folder, and whether they existed before.
    Complete(Box<Results>, PathBuf, bool),
    /// A part of a study: name of the experiment, number of finished runs, and number of all runs.
    Part(String, usize, usize),
}

impl Study {
    /// Reports whether this is a part, and the other parts are finished by now.
    pub(crate) fn has_all_runs(&self) -> bool {
        matches!(self, Self::Part(_, done, all) if done == all)
    }
}

/// Failure of an experiment whose file is correct.
#[derive(Debug)]
pub enum Failure {
    /// A mistake in the file that parsing did not find.
    Spec(Diagnostic),
    /// An error in this results folder.
    Store(PathBuf, io::Error),
    /// Something that a world cannot run, or its failure.
    World(String),
    /// A stop by the caller, with the number of runs that are kept.
    Interrupted(usize),
}

impl From<Diagnostic> for Failure {
    fn from(problem: Diagnostic) -> Self {
        Self::Spec(problem)
    }
}

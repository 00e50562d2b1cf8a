//! How experiments are run, and how a study ends.

use std::io;
use std::path::PathBuf;
use std::str::FromStr;

use experiment::backend::Backend;
use experiment::diagnostic::Diagnostic;
use results::qlog;
use results::summary::Results;

/// How to run.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where results folders go.
    pub out: PathBuf,
    /// Write qlogs of every flow, in this format.
    pub qlog: Option<qlog::Format>,
    /// Write the traffic of each run on the wire.
    pub pcap: bool,
    /// Where the runs take place.
    pub world: Backend,
    /// Of the rows beside the simulator's: whose QUIC, in that world.
    pub backends: Vec<Backend>,
    /// Compute what is there already.
    pub fresh: bool,
    /// Only a part of the runs: the `k`-th of `n`, from 1.
    pub shard: Option<Shard>,
}

impl Options {
    /// Simulations, into this folder.
    pub fn simulate(out: PathBuf) -> Self {
        let world = Backend::Sim;
        Self { out, qlog: None, pcap: false, world, backends: Vec::new(), fresh: false, shard: None }
    }
}

/// A part of a study: every `of`-th run, this the `number`-th, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    number: usize,
    of: usize,
}

impl Shard {
    /// Whether the run of this number, from 0, is one of it.
    pub(super) fn has(self, run: usize) -> bool {
        run % self.of == self.number - 1
    }
}

impl FromStr for Shard {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text.split_once('/').map(|(k, n)| (k.trim().parse(), n.trim().parse()));
        match parts {
            Some((Ok(number), Ok(of))) if 1 <= number && number <= of => Ok(Self { number, of }),
            _ => Err("the third of sixteen parts is written 3/16".to_owned()),
        }
    }
}

/// How a study stands.
#[derive(Debug)]
pub enum Study {
    /// Its results, where they are, and whether they were there before.
    Complete(Box<Results>, PathBuf, bool),
    /// Of a part of this experiment, how many of all runs are done now.
    Part(String, usize, usize),
}

impl Study {
    /// Whether it is a part, and the other parts are there by now.
    pub(super) fn has_all_runs(&self) -> bool {
        matches!(self, Self::Part(_, done, all) if done == all)
    }
}

/// What can go wrong once the experiment's file is accepted.
#[derive(Debug)]
pub enum Failure {
    /// The file, after all.
    Spec(Diagnostic),
    /// The results folder.
    Store(PathBuf, io::Error),
    /// The wire, in a sentence.
    Wire(String),
    /// The stack, in a sentence.
    Stack(String),
    /// Ctrl-C; so many runs are kept.
    Interrupted(usize),
}

impl From<Diagnostic> for Failure {
    fn from(problem: Diagnostic) -> Self {
        Self::Spec(problem)
    }
}

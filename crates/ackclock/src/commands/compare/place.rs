//! Where the flows of a comparison run: in the simulator, or as connections of real stacks, with the simulator's rows beside.

use std::path::PathBuf;

use experiment::backend::Backend;
use experiment::file::Experiment;
use experiment::row::RowLabel;
use results::summary::Row;

use super::args::CompareArgs;
use crate::commands::worlds::backends;
use crate::run::{self, Options};
use crate::status::Error;

/// The world, and in that of the stacks, of which.
#[derive(Debug)]
pub(super) struct Place {
    /// None: the simulator.
    stacks: Vec<Backend>,
}

impl Place {
    pub(super) fn read(args: &CompareArgs) -> Result<Self, Error> {
        Ok(Self { stacks: backends(args.on, &args.stacks)? })
    }

    /// How many rows there are of each controller, beside the simulator's.
    pub(super) fn stacks(&self) -> usize {
        self.stacks.len()
    }

    /// Of the rows that are compared.
    pub(super) fn backends(&self) -> Vec<Backend> {
        match self.stacks.as_slice() {
            [] => vec![Backend::Sim],
            stacks => stacks.to_vec(),
        }
    }

    /// Whether a row is compared, and does not only stand beside.
    pub(super) fn compares(&self, row: &Row) -> bool {
        self.backends().contains(&row.label.backend())
    }

    /// What the screen calls the row of a controller: which stack it is of is said where there are several.
    pub(super) fn shown(&self, label: &str, on: Backend) -> String {
        match self.stacks.len() {
            0 | 1 => label.to_owned(),
            _ => RowLabel::new(label, on).to_string(),
        }
    }

    /// How studies are run there.
    pub(super) fn options(&self, out: PathBuf) -> Options {
        let simulated = Options::simulate(out);
        match self.stacks.as_slice() {
            [] => simulated,
            stacks => Options { world: Backend::Stack, backends: stacks.to_vec(), ..simulated },
        }
    }

    /// Whether all of it can run there.
    ///
    /// # Errors
    /// Who cannot, and why.
    pub(super) fn check(&self, experiment: &Experiment) -> Result<(), Error> {
        Ok(run::check_stacks(experiment, &self.stacks)?)
    }

    /// Where it was run, in a sentence; nothing of the simulator.
    pub(super) fn sentence(&self) -> Option<String> {
        let words: Vec<&str> = self.stacks.iter().filter_map(|stack| stack.stack()).collect();
        let whose = match words.as_slice() {
            [] => return None,
            ["ackclock"] => "ackclock's own".to_owned(),
            [one] => format!("{one}'s"),
            [all @ .., last] => format!("{}'s and {last}'s", all.join("'s, ")),
        };
        let ends = "real QUIC endpoints at both ends of every flow, the competitor's too, in virtual time";
        Some(format!("Run on the stack, {whose}: {ends}."))
    }
}

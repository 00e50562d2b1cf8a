//! Backends of a comparison: the simulator, or real stacks with the simulator's rows next to them.

use experiment::file::Experiment;
use experiment::place::Place;
use experiment::row::RowLabel;
use results::summary::Row;
use study::Options;

use crate::Failure;

/// The backends that the flows run on.
#[derive(Debug)]
pub(super) struct Backends {
    /// Stacks; empty for the simulator.
    stacks: Vec<Place>,
}

impl Backends {
    pub(super) fn new(stacks: Vec<Place>) -> Self {
        Self { stacks }
    }

    /// Returns the options for these backends.
    pub(super) fn options(&self, options: &Options) -> Options {
        let (world, backends) = match self.stacks.as_slice() {
            [] => (Place::SIM, Vec::new()),
            stacks => (stacks[0].world(), stacks.to_vec()),
        };
        Options { world, backends, ..options.clone() }
    }

    /// Returns the stacks; none for the simulator.
    pub(super) fn named(&self) -> &[Place] {
        &self.stacks
    }

    /// Reports whether the flows run in real time.
    pub(super) fn is_real_time(&self) -> bool {
        self.stacks.iter().any(|stack| stack.world() == Place::WIRE)
    }

    /// Checks that the cases of an experiment can run there. In real time some may be left out.
    pub(super) fn check(&self, experiment: &Experiment, options: &Options) -> Result<(), Failure> {
        match self.is_real_time() {
            true => Ok(study::check(experiment, options)?),
            false => Ok(study::check_all(experiment, options)?),
        }
    }

    /// Number of rows of each controller in virtual time, without the simulator's. Runs in real
    /// time need no processor.
    pub(super) fn stacks(&self) -> usize {
        if self.is_real_time() { 0 } else { self.stacks.len() }
    }

    /// Backends of the rows that are compared.
    pub(super) fn backends(&self) -> Vec<Place> {
        match self.stacks.as_slice() {
            [] => vec![Place::SIM],
            stacks => stacks.to_vec(),
        }
    }

    /// Reports whether a row is compared, and not only shown for reference.
    pub(super) fn compares(&self, row: &Row) -> bool {
        self.backends().contains(&row.label.backend())
    }

    /// Returns the name of a controller's row on the screen. With several stacks it names the
    /// stack.
    pub(super) fn shown(&self, label: &str, on: Place) -> String {
        match self.stacks.len() {
            0 | 1 => label.to_owned(),
            _ => RowLabel::new(label, on).to_string(),
        }
    }

    /// Describes the stacks in a sentence; `None` for the simulator.
    pub(super) fn sentence(&self) -> Option<String> {
        let words: Vec<&str> = self.stacks.iter().filter_map(|stack| stack.stack()).collect();
        let names = match words.as_slice() {
            [] => return None,
            [one] => (*one).to_owned(),
            [all @ .., last] => format!("{} and {last}", all.join(", ")),
        };
        let (what, how) = match self.is_real_time() {
            true => ("endpoints", "in real time, through the emulator"),
            false => ("QUIC endpoints", "in virtual time"),
        };
        Some(format!("All flows, including the competitor, run on real {what} ({names}) {how}."))
    }
}

//! One run to do, and what it needs.

use std::io;
use std::path::{Path, PathBuf};

use experiment::file::{Case, Experiment};
use results::qlog;
use results::store::Runs;
use scenario::Scenario;

use super::files;
use super::options::Options;
use super::progress::{Progress, Work};

/// One run to do.
#[derive(Clone, Copy)]
pub(super) struct Job<'a> {
    pub(super) case: &'a Case,
    pub(super) repetition: u32,
    /// What names of the case's files begin with.
    pub(super) stem: &'a str,
}

impl Job<'_> {
    /// What runs.
    pub(super) fn scenario(&self, exp: &Experiment, options: &Options) -> Scenario {
        Scenario { trace: options.qlog.is_some(), ..exp.scenario(self.case, self.repetition) }
    }

    /// The name of a file of its own.
    pub(super) fn file(&self, what: &str) -> String {
        files::joined(&[self.stem, &format!("run{}", self.repetition), what])
    }
}

/// What every run of an experiment needs.
pub(super) struct Run<'a> {
    pub(super) exp: &'a Experiment,
    pub(super) options: &'a Options,
    pub(super) folder: &'a Path,
    pub(super) progress: &'a Progress<'a>,
    pub(super) runs: &'a Runs,
}

impl Run<'_> {
    /// A file in a folder of the results folder.
    pub(super) fn in_folder(&self, folder: &str, name: &str) -> io::Result<PathBuf> {
        let dir = self.folder.join(folder);
        std::fs::create_dir_all(&dir)?;
        Ok(dir.join(name))
    }
}

/// What a run has to do: the order of runs and the bar go by it.
pub(super) fn work(scenario: &Scenario) -> Work {
    Work { time: scenario.duration.0, packets: qlog::packets(scenario).max(1) }
}

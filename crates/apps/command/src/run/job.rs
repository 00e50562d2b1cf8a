//! One run, and the state that it needs.

use std::io;
use std::path::{Path, PathBuf};

use experiment::file::{Case, Experiment};
use results::qlog;
use results::store::Runs;
use scenario::Scenario;

use super::files;
use super::options::Options;
use super::progress::{Progress, Work};

/// A repetition of a case.
#[derive(Clone, Copy)]
pub(super) struct Job<'a> {
    pub(super) case: &'a Case,
    pub(super) repetition: u32,
    /// Beginning of the names of the case's files.
    pub(super) stem: &'a str,
}

impl Job<'_> {
    /// Returns the scenario of this repetition.
    pub(super) fn scenario(&self, exp: &Experiment, options: &Options) -> Scenario {
        Scenario { trace: options.qlog.is_some(), ..exp.scenario(self.case, self.repetition) }
    }

    /// Returns the name of a file of this run.
    pub(super) fn file(&self, what: &str) -> String {
        files::joined(&[self.stem, &format!("run{}", self.repetition), what])
    }
}

/// State that every run of an experiment needs.
pub(super) struct Run<'a> {
    pub(super) exp: &'a Experiment,
    pub(super) options: &'a Options,
    pub(super) folder: &'a Path,
    pub(super) progress: &'a Progress<'a>,
    pub(super) runs: &'a Runs,
}

impl Run<'_> {
    /// Returns the path of a file in a subfolder of the results folder, and creates the subfolder.
    pub(super) fn in_folder(&self, folder: &str, name: &str) -> io::Result<PathBuf> {
        let dir = self.folder.join(folder);
        std::fs::create_dir_all(&dir)?;
        Ok(dir.join(name))
    }
}

/// Returns the work of a run, for the order of the runs and the progress bar.
pub(super) fn work(scenario: &Scenario) -> Work {
    Work { time: scenario.duration.0, packets: qlog::packets(scenario).max(1) }
}

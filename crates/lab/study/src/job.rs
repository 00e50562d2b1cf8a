//! One run, and the state that it needs.

use std::io;
use std::path::{Path, PathBuf};

use experiment::chart::Chart;
use experiment::file::{Case, Experiment};
use results::qlog;
use results::store::Runs;
use scenario::Scenario;
use units::Time;

use crate::files;
use crate::options::Options;
use crate::progress::{Tracker, Work};

/// A repetition of a case.
#[derive(Clone, Copy)]
pub(crate) struct Job<'a> {
    pub(crate) case: &'a Case,
    pub(crate) repetition: u32,
    /// Beginning of the names of the case's files.
    pub(crate) stem: &'a str,
}

impl Job<'_> {
    /// Returns the scenario of this repetition.
    pub(crate) fn scenario(&self, exp: &Experiment, options: &Options) -> Scenario {
        let trace = options.qlog.is_some() || !self.packets(exp).is_empty();
        Scenario { trace, ..exp.scenario(self.case, self.repetition) }
    }

    /// Returns the parts of this run whose packets the charts draw, in the first repetition.
    pub(crate) fn packets(&self, exp: &Experiment) -> Vec<(Time, Time)> {
        let is_drawn = |chart: &&Chart| {
            chart.rows.is_empty() || chart.rows.iter().any(|row| row.as_str() == self.case.row)
        };
        let charts = exp.charts.iter().filter(is_drawn).filter(|_| self.repetition == 0);
        let parts = charts.filter_map(Chart::packets);
        parts.map(|(from, to)| (Time::ZERO + from, Time::ZERO + to)).collect()
    }

    /// Returns the name of a file of this run.
    pub(crate) fn file(&self, what: &str) -> String {
        files::joined(&[self.stem, &format!("run{}", self.repetition), what])
    }
}

/// State that every run of an experiment needs.
pub(crate) struct Run<'a> {
    pub(crate) exp: &'a Experiment,
    pub(crate) options: &'a Options,
    pub(crate) folder: &'a Path,
    pub(crate) progress: &'a Tracker<'a>,
    pub(crate) runs: &'a Runs,
}

impl Run<'_> {
    /// Returns the path of a file in a subfolder of the results folder, and creates the subfolder.
    pub(crate) fn in_folder(&self, folder: &str, name: &str) -> io::Result<PathBuf> {
        let dir = self.folder.join(folder);
        std::fs::create_dir_all(&dir)?;
        Ok(dir.join(name))
    }
}

/// Returns the work of a run, for the order of the runs and the progress bar.
pub(crate) fn work(scenario: &Scenario) -> Work {
    Work { time: scenario.duration.0, packets: qlog::packets(scenario).max(1) }
}

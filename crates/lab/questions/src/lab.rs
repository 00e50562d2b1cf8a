//! The part of a question that runs experiments.

use std::path::{Path, PathBuf};

use experiment::file::Experiment;
use results::summary::Results;
use scenario::Watch;
use serde::Serialize;
use study::{Options, Progress, Study};

use crate::Failure;

/// Results of an experiment, and where they are stored.
pub(crate) type Made = Result<(Results, Stored), Failure>;

/// Runs the experiments of a question.
#[derive(Clone, Copy)]
pub struct Lab<'a> {
    /// Options for simulations. A question changes the place.
    pub options: &'a Options,
    pub progress: &'a dyn Progress,
    pub watch: &'a Watch,
}

impl Lab<'_> {
    /// Runs an experiment. Returns its results, and where they are stored.
    pub(crate) fn run(&self, experiment: &Experiment, options: &Options) -> Made {
        match study::experiment(experiment, options, self.progress, self.watch)? {
            Study::Complete(results, folder, _) => {
                let stored = Stored::new(&results, folder);
                Ok((*results, stored))
            }
            Study::Part(..) => Err(Failure::bad("a question cannot be answered in parts")),
        }
    }
}

/// Stored results behind an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Stored {
    pub experiment: String,
    pub id: String,
    /// The results folder.
    pub path: PathBuf,
}

impl Stored {
    fn new(results: &Results, folder: PathBuf) -> Self {
        Self { experiment: results.summary.experiment.clone(), id: id(&folder), path: folder }
    }
}

/// Returns the id of stored results, which is the name of their folder.
pub fn id(folder: &Path) -> String {
    folder.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

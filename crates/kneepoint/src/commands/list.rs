//! `kneepoint list`: the shipped experiments.

use crate::status::{Error, HOLDS, print};
use experiment::file::Experiment;
use experiment::library::Library;

/// A line of each, and its source.
pub(crate) fn run() -> Result<u8, Error> {
    for source in Library.shipped() {
        let experiment = Experiment::parse(&source.name, &source.file, &source.text).map_err(Error::bad)?;
        print(&format!("{:24} {}\n{:24} {}\n", experiment.name, experiment.title, "", experiment.source));
    }
    Ok(HOLDS)
}

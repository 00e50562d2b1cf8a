//! Sets of results to compare.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use experiment::metric::Metric;
use experiment::row::RowLabel;
use results::store::{self, Manifest, RunRow};
use results::summary::Summary;

use super::evidence::Samples;

/// A set of results.
#[derive(Debug)]
pub struct Set {
    /// Name in texts: its folder.
    pub name: String,
    pub results: Vec<Measured>,
}

/// Results of one experiment, with its runs.
#[derive(Debug)]
pub struct Measured {
    pub id: String,
    pub summary: Summary,
    pub manifest: Manifest,
    pub runs: Vec<RunRow>,
}

/// The runs of each row that its numbers come from, by variant and row.
pub(super) type Counted<'a> = BTreeMap<(&'a str, &'a RowLabel), Vec<&'a RunRow>>;

impl Measured {
    /// Reads a results folder and checks its sums.
    ///
    /// # Errors
    /// Fails if it is not a results folder or a file is damaged.
    pub fn load(folder: &Path) -> io::Result<Self> {
        let (summary, manifest) = (store::load_summary(folder)?, store::manifest(folder)?);
        Ok(Self { id: crate::id(folder), summary, manifest, runs: store::measured(folder)? })
    }

    /// Returns the valid runs of each row.
    pub(super) fn counted(&self) -> Counted<'_> {
        let mut all = Counted::new();
        for run in self.runs.iter().filter(|run| run.is_valid()) {
            all.entry((run.variant.as_str(), &run.row)).or_default().push(run);
        }
        all
    }
}

/// Returns the values of a metric by seed.
pub(super) fn samples(runs: &Counted<'_>, place: (&str, &RowLabel), metric: &Metric) -> Samples {
    let runs = runs.get(&place).into_iter().flatten();
    runs.filter_map(|run| Some((run.seed, *run.values.get(metric)?))).collect()
}

//! `ackclock list`: lists the shipped experiments, or stored results.

use std::path::PathBuf;

use clap::Args;

use super::index;
use super::sources;
use crate::status::{Error, HOLDS, list_width, print};
use experiment::file::Experiment;
use experiment::library::Library;
use questions::cost::{cost, time};
use questions::text::cut;

/// Width of the name column. A longer name takes columns from the numbers behind it.
const NAME: usize = 31;

#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// Show only experiments with this text in their name, title, source or note.
    filter: Option<String>,
    /// List the results below this folder, with verdicts, size and integrity.
    #[arg(long, value_name = "DIR", num_args = 0..=1, default_missing_value = "results", conflicts_with = "filter")]
    results: Option<PathBuf>,
    /// Print the list of results as JSON.
    #[arg(long, requires = "results")]
    json: bool,
}

/// Lists what the arguments ask for. Returns the exit status.
pub(crate) fn run(args: &ListArgs) -> Result<u8, Error> {
    match &args.results {
        Some(dir) => index::run(dir, args.json),
        None => shipped(args.filter.as_deref().unwrap_or_default()),
    }
}

/// Lists the experiments whose name, title, source or note contains `filter`, ignoring case.
fn shipped(filter: &str) -> Result<u8, Error> {
    let mut lines = Vec::new();
    for source in Library.shipped() {
        let experiment = sources::parsed(&source)?;
        let all = [&experiment.name, &experiment.title, &experiment.source, &experiment.note];
        if all.iter().any(|text| text.to_lowercase().contains(&filter.to_lowercase())) {
            lines.push(line(&experiment));
        }
    }
    if lines.is_empty() {
        return Err(Error::bad(format!(
            "no shipped experiment has `{filter}` in its name, title, source or note; `ackclock list` shows all of them"
        )));
    }
    let head = format!("{:NAME$}{:>5} {:>8}  source", "", "runs", "one core");
    for line in std::iter::once(head).chain(lines) {
        print(&format!("{}\n", cut(&line, list_width())));
    }
    Ok(HOLDS)
}

fn line(experiment: &Experiment) -> String {
    let runs: u32 = experiment.cases().iter().map(|case| experiment.repetitions_of(case)).sum();
    let numbers = format!("{runs} {:>8}", time(cost(experiment, 0)));
    let room = (NAME + 14).saturating_sub(experiment.name.chars().count()).max(numbers.len() + 1);
    format!("{}{numbers:>room$}  {}", experiment.name, short(&experiment.source))
}

/// Returns the part of a source that names a table, figure or section, as in
/// `Table 1 and Figure 4`, or else the whole source.
fn short(source: &str) -> &str {
    let places = ["Table", "Figure", "section", "equation", "appendix"];
    let parts = source.match_indices(", ").map(|(at, comma)| &source[at + comma.len()..]);
    parts.into_iter().find(|part| places.iter().any(|place| part.starts_with(place))).unwrap_or(source)
}

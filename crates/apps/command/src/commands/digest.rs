//! `ackclock digest`: prints digests of runs, to compare builds and platforms.

use clap::Args;
use experiment::file::{Case, Experiment};
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};
use results::digest::Digest;
use sim::Simulator;

use crate::commands::sources;
use crate::interrupt;
use crate::progress::waiting;
use crate::status::{Error, HOLDS, print};

#[derive(Debug, Args)]
pub(crate) struct DigestArgs {
    /// Experiments: shipped names, prefixes of names, files or folders.
    #[arg(required = true)]
    experiments: Vec<String>,
    /// Print only the first case of each experiment.
    #[arg(long)]
    first: bool,
}

/// Prints a line of JSON for each case, in the order of the cases.
pub(crate) fn run(args: &DigestArgs) -> Result<u8, Error> {
    let read = |source: experiment::library::Source| Ok(sources::parsed(&source)?);
    let experiments = sources::read(&args.experiments, read)?;
    let most = if args.first { 1 } else { usize::MAX };
    let cases = |exp: &Experiment| exp.cases().into_iter().take(most).collect::<Vec<Case>>();
    let all: Vec<(&Experiment, Case)> =
        experiments.iter().flat_map(|exp| cases(exp).into_iter().map(move |case| (exp, case))).collect();
    let watch = interrupt::watch()?;
    let digests: Result<Option<Vec<Digest>>, String> = waiting("digest", || {
        all.par_iter()
            .map(|(exp, case)| Digest::new(exp, case, &Simulator, &watch).transpose())
            .map(Option::transpose)
            .collect()
    });
    let stopped = || Error::interrupted("interrupted");
    for digest in digests?.ok_or_else(stopped)? {
        print(&(serde_json::to_string(&digest).map_err(Error::bad)? + "\n"));
    }
    Ok(HOLDS)
}

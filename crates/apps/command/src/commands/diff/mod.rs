//! `ackclock diff`: shows what changed between two sets of results by more than the spread between
//! runs.

mod change;
mod comparison;
mod junit;
mod pairs;
mod rule;
mod text;

use std::path::{Path, PathBuf};

use clap::Args;
use results::summary::Results;

use self::comparison::Comparison;
use self::rule::Rule;
use crate::commands::folders;
use crate::status::{Error, HOLDS, MISS, print};

#[derive(Debug, Args)]
pub(crate) struct DiffArgs {
    /// Results before the change: a folder written by `run --out`.
    before: PathBuf,
    /// Results after the change.
    after: PathBuf,
    /// Fail if a metric falls or rises by more than this (repeatable).
    ///
    /// Write a relative change like "goodput -3 %" or "rtt_mean +5 %". Write an absolute one with
    /// the unit of the metric, like "goodput -3 Mbit/s". Metrics in percent, as in "loss +0.1", and
    /// those without a unit take a plain number.
    #[arg(long = "fail-if", value_name = "RULE", value_parser = Rule::read, allow_hyphen_values = true)]
    rules: Vec<Rule>,
    /// Write the results of the rules to a JUnit file, with one test case for each row that has a
    /// rule's metric.
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Print Markdown, for the summary of a CI job.
    #[arg(long)]
    markdown: bool,
    /// Print every change instead of the largest ones.
    #[arg(short, long)]
    verbose: bool,
}

/// Compares the results. The exit status is 1 if a rule is broken or has no number to compare.
pub(crate) fn run(args: &DiffArgs) -> Result<u8, Error> {
    let comparison = Comparison::new(&read(&args.before)?, &read(&args.after)?, &args.rules);
    let shown = text::Shown { markdown: args.markdown, all: args.verbose };
    print(&text::report(&comparison, args, shown));
    if let Some(file) = &args.junit {
        std::fs::write(file, junit::report(&comparison))
            .map_err(|e| Error::bad(format!("cannot write {}: {e}", file.display())))?;
    }
    // A rule that was not checked must not count as kept.
    let fails = comparison.broken().next().is_some() || !comparison.unused.is_empty();
    Ok(if fails { MISS } else { HOLDS })
}

fn read(folder: &Path) -> Result<Vec<(String, Results)>, Error> {
    folders::load_with_ids(&[folder.to_owned()])
}

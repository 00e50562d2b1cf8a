//! `ackclock diff`: what changed between two sets of results, beyond the spread of their runs.

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
    /// Results before: a folder of `run --out`.
    before: PathBuf,
    /// Results after.
    after: PathBuf,
    /// Fail when a metric falls or rises by more: `"goodput -3 %"`, `"rtt_mean +5 %"`, `"loss +0.1"` in its own unit. May be given
    /// several times.
    #[arg(long = "fail-if", value_name = "RULE", value_parser = Rule::read, allow_hyphen_values = true)]
    rules: Vec<Rule>,
    /// Write the rules as test cases, one for each row that has their metric.
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Print Markdown, for a job's summary.
    #[arg(long)]
    markdown: bool,
    /// Print every change, not the largest alone.
    #[arg(short, long)]
    verbose: bool,
}

/// The exit status: 0, or 1 if a rule is broken or has no number to hold.
pub(crate) fn run(args: &DiffArgs) -> Result<u8, Error> {
    let comparison = Comparison::of(&read(&args.before)?, &read(&args.after)?, &args.rules);
    let shown = text::Shown { markdown: args.markdown, all: args.verbose };
    print(&text::of(&comparison, args, shown));
    if let Some(file) = &args.junit {
        let xml = junit::of(&comparison).map_err(Error::bad)?;
        std::fs::write(file, xml).map_err(|e| Error::bad(format!("cannot write {}: {e}", file.display())))?;
    }
    // A rule that holds nothing must not pass for one that holds.
    let fails = comparison.broken().next().is_some() || !comparison.unused.is_empty();
    Ok(if fails { MISS } else { HOLDS })
}

fn read(folder: &Path) -> Result<Vec<(String, Results)>, Error> {
    folders::load_with_ids(&[folder.to_owned()])
}

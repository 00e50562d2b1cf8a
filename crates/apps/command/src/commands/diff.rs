//! `ackclock diff`: shows what changed between two sets of results by more than the spread between
//! runs.

use std::path::{Path, PathBuf};

use clap::Args;
use questions::Question as _;
use questions::diff::{Measured, Question, Rule, Set};

use crate::commands::ask::{Answered, View};
use crate::commands::folders;
use crate::status::{Error, HOLDS, MISS};

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
    /// those without a unit take a plain number. A rule also fails if it is finer than the smallest
    /// change that the runs show, which depends on their spread and number.
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

/// Compares the results and prints the answer. Returns the exit status.
pub(crate) fn run(args: &DiffArgs) -> Result<u8, Error> {
    Ok(diff(args)?.print(&View { json: false, verbose: args.verbose }))
}

/// Compares the results. The exit status is 1 if a rule is broken or could not be checked.
pub(crate) fn diff(args: &DiffArgs) -> Result<Answered, Error> {
    let question =
        Question { before: set(&args.before)?, after: set(&args.after)?, rules: args.rules.clone() };
    let answer = question.comparison();
    if let Some((rule, change)) = answer.accepts_all() {
        let (metric, value) = (&change.metric, change.before);
        let now = format!("{metric} is {value:.*} {}", metric.decimals(value), metric.unit());
        return Err(Error::bad(format!("`{rule}` accepts every change: before, {}", now.trim_end())));
    }
    if let Some(file) = &args.junit {
        std::fs::write(file, answer.junit())
            .map_err(|e| Error::bad(format!("cannot write {}: {e}", file.display())))?;
    }
    let [text, details] = [false, true].map(|all| match args.markdown {
        true => question.markdown(&answer, all),
        false => question.text(&answer, all),
    });
    let json = serde_json::to_string_pretty(&answer).map_err(Error::bad)? + "\n";
    Ok(Answered { text, details, json, page: None, status: if answer.passes() { HOLDS } else { MISS } })
}

fn set(folder: &Path) -> Result<Set, Error> {
    let results = folders::each(&[folder.to_owned()], Measured::load)?;
    Ok(Set { name: folder.display().to_string(), results })
}

//! `ackclock ledger`: what became of the sources' claims and numbers.

use std::path::PathBuf;

use clap::Args;

use crate::commands::folders::load_summaries;
use crate::status::{Error, HOLDS, MISS, complain, print};
use experiment::input;
use results::ledger;

/// The arguments of `ackclock ledger`.
#[derive(Debug, Args)]
pub(crate) struct LedgerArgs {
    /// Folders to look in; the newest results of each experiment count.
    #[arg(default_value = "results")]
    dirs: Vec<PathBuf>,
    /// Print a Markdown table.
    #[arg(long, conflicts_with = "json")]
    markdown: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    /// Print the mean |ln(ours / published)| of each column too, or of those of one metric: `--columns=rtt_mean`.
    #[arg(long, value_name = "METRIC", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    #[arg(conflicts_with_all = ["markdown", "json"])]
    columns: Option<String>,
    /// Whether this file holds that table; exit status 1 if it holds another.
    #[arg(long, value_name = "FILE")]
    check: Option<PathBuf>,
}

/// Prints the table, or compares it with a file.
pub(crate) fn run(args: &LedgerArgs) -> Result<u8, Error> {
    let sources = ledger::of(load_summaries(&args.dirs)?.iter());
    let table = ledger::markdown(&sources);
    if let Some(file) = &args.check {
        let text = input::read(file)?;
        if !text.contains(&table) {
            let words = "does not hold the ledger of these results";
            complain(&format!("{} {words}, which is:\n{table}", file.display()));
            return Ok(MISS);
        }
    }
    let columns = |metric: &String| ledger::columns(&sources, metric);
    print(&match (args.markdown, args.json) {
        (true, _) => table,
        (_, true) => serde_json::to_string_pretty(&sources).map_err(Error::bad)? + "\n",
        _ => ledger::text(&sources) + &args.columns.as_ref().map_or_else(String::new, columns),
    });
    Ok(HOLDS)
}

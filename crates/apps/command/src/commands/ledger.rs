//! `ackclock ledger`: how well each source's claims and numbers are reproduced.

use std::path::PathBuf;

use clap::Args;
use experiment::diagnostic::question;
use experiment::metric::Metric;
use experiment::quantity::QUANTITIES;

use crate::commands::folders::load_summaries;
use crate::status::{Error, HOLDS, print};
use results::ledger;

#[derive(Debug, Args)]
pub(crate) struct LedgerArgs {
    /// Folders with results; the newest results of each experiment are used.
    #[arg(default_value = "results")]
    dirs: Vec<PathBuf>,
    /// Print a Markdown table.
    #[arg(long, conflicts_with = "json")]
    markdown: bool,
    /// Print the summary as JSON.
    #[arg(long)]
    json: bool,
    /// Print the mean error |ln(ours / published)| of each column too.
    ///
    /// With a metric, as in `--columns=rtt_mean`, only the columns of that metric.
    #[arg(long, value_name = "METRIC", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    #[arg(conflicts_with_all = ["markdown", "json"])]
    columns: Option<String>,
}

/// Prints the ledger.
pub(crate) fn run(args: &LedgerArgs) -> Result<u8, Error> {
    let summaries = load_summaries(&args.dirs)?;
    if let Some(metric) = args.columns.as_deref().filter(|metric| !metric.is_empty()) {
        check_metric(metric)?;
    }
    let sources = ledger::by_source(summaries.iter());
    if sources.is_empty() {
        let dirs: Vec<String> = args.dirs.iter().map(|dir| dir.display().to_string()).collect();
        let dirs = dirs.join(", ");
        return Err(Error::bad(format!(
            "{dirs}: no results with claims or published values of a source; `ackclock run quic-dc/table-1` makes some"
        )));
    }
    let columns = |metric: &String| ledger::columns(&sources, metric);
    print(&match (args.markdown, args.json) {
        (true, _) => ledger::markdown(&sources),
        (_, true) => serde_json::to_string_pretty(&sources).map_err(Error::bad)? + "\n",
        _ => ledger::text(&sources) + &args.columns.as_ref().map_or_else(String::new, columns),
    });
    Ok(HOLDS)
}

/// Checks that `--columns` names a metric.
fn check_metric(text: &str) -> Result<(), Error> {
    let metric = Metric::from(text);
    if metric.quantity().is_some() {
        return Ok(());
    }
    let known: Vec<&str> = QUANTITIES.iter().map(|quantity| quantity.name).collect();
    let question = question(metric.word(), &known);
    Err(Error::bad(format!(
        "--columns={text}: unknown metric `{text}`; {question}docs/src/reference/metrics.md lists the metrics"
    )))
}

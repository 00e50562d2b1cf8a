//! `ackclock analyse`: metrics and problems from logs of any program.

use std::path::PathBuf;

use clap::Args;
use questions::analyse::Question;
use units::Duration;

use crate::commands::ask::{Answered, View, ask};
use crate::session::Session;
use crate::status::Error;

#[derive(Debug, Args)]
pub(crate) struct AnalyseArgs {
    /// Logs, in any order: qlog, pcap or pcapng, data files of flent, JSON of iperf3.
    ///
    /// Files may be compressed with gzip. Two logs of one connection, one of each end, become one
    /// connection with one-way delays, drops and spurious retransmissions.
    #[arg(required = true)]
    logs: Vec<PathBuf>,
    /// Decrypt captured QUIC packets with the keys in this file, which SSLKEYLOGFILE names.
    ///
    /// Keys inside a pcapng file are used without this.
    #[arg(long, value_name = "FILE")]
    keys: Option<PathBuf>,
    /// Count from this time on, since the start of each log, as in `10 s`.
    #[arg(long, value_name = "TIME")]
    from: Option<Duration>,
    /// Count up to this time.
    #[arg(long, value_name = "TIME")]
    to: Option<Duration>,
    /// Compare two connections side by side.
    #[arg(long)]
    compare: bool,
    /// Write results and report to this folder.
    #[arg(long, default_value = "results")]
    out: PathBuf,
    /// Print every metric, connection and problem.
    #[arg(short, long)]
    verbose: bool,
    /// Print the numbers as JSON.
    #[arg(long)]
    json: bool,
}

/// Reads the logs. Returns the exit status.
pub(crate) fn run(args: &AnalyseArgs) -> Result<u8, Error> {
    let answered = Session::of_command(|session| analyse(args, session))?;
    Ok(answered.print(&View { json: args.json, verbose: args.verbose }))
}

/// Reads the logs.
pub(crate) fn analyse(args: &AnalyseArgs, session: &Session<'_>) -> Result<Answered, Error> {
    let (from, to) = (args.from.unwrap_or(Duration::ZERO), args.to.unwrap_or(Duration::MAX));
    if from >= to {
        return Err(Error::bad("--to: it is not after --from"));
    }
    let question = Question {
        files: args.logs.clone(),
        keys: args.keys.clone(),
        window: (args.from.is_some() || args.to.is_some()).then_some((from, to)),
        named: None,
        compare: args.compare,
    };
    Ok(ask("analyse", &question, &args.out, session)?.1)
}

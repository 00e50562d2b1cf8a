//! `ackclock replay`: another controller on the ACKs and losses of a sender's log.

use std::path::PathBuf;

use clap::Args;
use questions::replay::Question;

use crate::commands::ask::{Answered, View, ask};
use crate::session::Session;
use crate::status::Error;

#[derive(Debug, Args)]
pub(crate) struct ReplayArgs {
    /// Log of a sender: qlog of any version, also compressed with gzip.
    log: PathBuf,
    /// Replay this controller, by name or as a TOML table with parameters. The default is the
    /// controller of the log.
    ///
    /// `ackclock algorithms` lists the names. An example with parameters is `'{ name = "cubic",
    /// beta = 0.8 }'`.
    #[arg(long, value_name = "NAME")]
    controller: Option<String>,
    /// Write the report to this folder.
    #[arg(long, default_value = "results")]
    out: PathBuf,
    /// Print the windows over time as well.
    #[arg(short, long)]
    verbose: bool,
    /// Print the numbers as JSON.
    #[arg(long)]
    json: bool,
}

/// Replays the log. Returns the exit status.
pub(crate) fn run(args: &ReplayArgs) -> Result<u8, Error> {
    let answered = Session::of_command(|session| replay(args, session))?;
    Ok(answered.print(&View { json: args.json, verbose: args.verbose }))
}

/// Replays the log.
pub(crate) fn replay(args: &ReplayArgs, session: &Session<'_>) -> Result<Answered, Error> {
    let question = Question {
        file: args.log.clone(),
        controller: args.controller.clone(),
        registry: session.registry.clone(),
    };
    Ok(ask("replay", &question, &args.out, session)?.1)
}

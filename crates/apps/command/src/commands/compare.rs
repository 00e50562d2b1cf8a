//! `ackclock compare`: compares controllers on a link and explains the difference.

use std::path::PathBuf;

use clap::Args;
use experiment::place::Place;
use questions::compare::{Asked, Question};
use units::Duration;

use crate::commands::arguments::repetitions;
use crate::commands::ask::{View, ask};
use crate::commands::worlds::{backends, stacks, worlds};
use crate::controllers::controllers;
use crate::status::{Error, HOLDS};

#[derive(Debug, Args)]
pub(crate) struct CompareArgs {
    /// Two or more controllers to compare, by name or as TOML tables with parameters.
    ///
    /// `ackclock algorithms` lists the names; `bbr` stands for the newest BBR. An example with
    /// parameters is `'{ name = "cubic", beta = 0.8 }'`.
    #[arg(required = true, num_args = 1..)]
    controllers: Vec<String>,
    /// Set the bottleneck, as in "rate=20 Mbit/s rtt=40 ms queue=1 BDP", or take the network of an
    /// experiment.
    ///
    /// The keys are those of [link] in docs/src/reference/keys.md. Without `queue`, words have 1
    /// BDP, at least 10 packets. An experiment is a file or a shipped name; its first case is used.
    #[arg(long, value_name = "WORDS|FILE", default_value = "rate=20 Mbit/s rtt=40 ms")]
    link: String,
    /// Choose where the flows run.
    #[arg(long, default_value = Place::SIM.word(), value_parser = worlds(&[Place::SIM, Place::STACK], Place::doc))]
    on: Place,
    /// Choose the QUIC implementations for both ends of every flow, separated by commas.
    ///
    /// Requires --on stack. Each stack gets its own rows. The competitor runs on the same
    /// stack. Example: `--stack noq,ackclock`. The default is Ackclock's own endpoints.
    #[arg(long = "stack", value_name = "STACKS", value_delimiter = ',', value_parser = stacks(&[Place::STACK]))]
    stacks: Vec<String>,
    /// Set keys of the flows, as in `transport=tcp`.
    #[arg(long, value_name = "WORDS")]
    flow: Option<String>,
    /// Sweep one key of the link over a range or a list, as in "queue=0.1..8 BDP" or "loss=0, 0.01,
    /// 0.1 %".
    ///
    /// A range has eight values, evenly spaced on a logarithmic scale.
    #[arg(long, value_name = "KEY=RANGE")]
    vary: Option<String>,
    /// Set the competitor that each controller shares the link with.
    ///
    /// The default is the first controller.
    #[arg(long, value_name = "CONTROLLER")]
    against: Option<String>,
    /// Set the duration of the long flows.
    ///
    /// The default is long enough for five cycles of CUBIC on the link.
    #[arg(long, value_name = "TIME", value_parser = time)]
    time: Option<Duration>,
    /// Set the number of repetitions, each with its own seed.
    ///
    /// By default, the first 5 repetitions show how many are needed to determine the goodput ratios
    /// to within 3 %, at most 30 in all.
    #[arg(long, allow_negative_numbers = true, value_parser = repetitions)]
    repeat: Option<u32>,
    /// Write results and report to this folder.
    #[arg(long, default_value = "results")]
    out: PathBuf,
    /// Print the numbers as JSON.
    ///
    /// `results` lists the `experiment`, `id` and results folder (`path`) of each study used.
    #[arg(long)]
    json: bool,
}

fn time(text: &str) -> Result<Duration, String> {
    match text.parse()? {
        Duration::ZERO => Err("must be longer than 0 s".to_owned()),
        time => Ok(time),
    }
}

/// Runs the comparison. Returns the exit status.
pub(crate) fn run(args: &CompareArgs) -> Result<u8, Error> {
    if args.on == Place::SIM && !args.stacks.is_empty() {
        return Err(Error::bad("--stack: requires --on stack"));
    }
    let stacks = if args.on == Place::SIM { Vec::new() } else { backends(args.on, &args.stacks)? };
    let question = Question::new(&Asked {
        controllers: args.controllers.clone(),
        link: args.link.clone(),
        flow: args.flow.clone(),
        vary: args.vary.clone(),
        against: args.against.clone(),
        time: args.time,
        repeat: args.repeat,
        stacks,
        registry: controllers().clone(),
    })?;
    ask("compare", &question, &args.out, &View { json: args.json, verbose: false })?;
    Ok(HOLDS)
}

#[cfg(test)]
mod tests {
    use questions::compare::{FIRST_SEEDS, MOST_SEEDS, NARROW};

    use super::*;

    /// The help text of `--repeat` quotes the constants.
    #[test]
    fn help_states_the_seeds() {
        let command = CompareArgs::augment_args(clap::Command::new("compare"));
        let repeat = command.get_arguments().find(|arg| arg.get_id() == "repeat").unwrap();
        let help = repeat.get_long_help().unwrap().to_string();
        assert!(help.contains(&format!("first {FIRST_SEEDS} repetitions")), "{help}");
        assert!(help.contains(&format!("at most {MOST_SEEDS} in all")), "{help}");
        assert!(help.contains(&format!("within {} %", NARROW * 100.0)), "{help}");
    }
}

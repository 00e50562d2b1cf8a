//! `ackclock compare`: compares controllers on a link and explains the difference.

use std::path::PathBuf;

use clap::Args;
use experiment::place::Place;
use questions::compare::set::Set;
use questions::compare::{Asked, FIRST_PAIRS, MOST_PAIRS, Question};
use units::{Duration, Percent};

use crate::commands::arguments::repetitions;
use crate::commands::ask::{Answered, View, answer, ask};
use crate::commands::worlds::{backends, stacks, worlds};
use crate::places;
use crate::session::Session;
use crate::status::Error;

#[derive(Debug, Args)]
pub(crate) struct CompareArgs {
    /// Controllers to compare, two or more, by name or as TOML tables with parameters.
    ///
    /// `ackclock algorithms` lists the names; `bbr` stands for the newest BBR. An example with
    /// parameters is `'{ name = "cubic", beta = 0.8 }'`.
    #[arg(required = true, num_args = 1..)]
    controllers: Vec<String>,
    /// Set the bottleneck, as in "rate=20 Mbit/s rtt=40 ms queue=1 BDP", or name a network, as in
    /// `lte`, or an experiment.
    ///
    /// The keys are those of [link] in docs/src/reference/keys.md. Without `queue`, words have 1
    /// BDP, at least 10 packets. `ackclock networks` lists the networks. An experiment is a file or
    /// a shipped name. If its [vary] makes several networks, each controller runs once on each, and
    /// the answer is over all of them.
    #[arg(long, value_name = "WORDS|NAME|FILE", default_value = "rate=20 Mbit/s rtt=40 ms")]
    link: String,
    /// Choose where the flows run.
    #[arg(long, default_value = Place::SIM.word(), value_parser = worlds(&[Place::SIM, Place::STACK, Place::WIRE], Place::doc))]
    on: Place,
    /// Choose the QUIC implementations for both ends of every flow, separated by commas.
    ///
    /// Requires --on stack or --on wire. Each stack gets its own rows. The competitor runs on the
    /// same stack. With two stacks, one controller is enough. Example: `--stack noq,ackclock`. On
    /// the wire, a file like `./mine.toml` is the manifest of a stack of your own. The default is
    /// Ackclock's own endpoints.
    #[arg(long = "stack", value_name = "STACKS", value_delimiter = ',', value_parser = stacks(&[Place::STACK, Place::WIRE]))]
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
    /// Set the number of pairs of long runs, each pair with its own seed, and of all other runs.
    ///
    /// By default, pairs are made until the 95 % interval of the goodput ratio is on one side of
    /// --margin: the answer is looked at after 5 pairs and after each 5 more, at most 30. One pair
    /// is enough where nothing is random. A sweep makes 5.
    #[arg(long, allow_negative_numbers = true, value_parser = repetitions)]
    repeat: Option<u32>,
    /// Make 5 pairs of runs and look at them once.
    #[arg(long, conflicts_with_all = ["repeat", "precise"])]
    quick: bool,
    /// Make 30 pairs of runs and look at them once.
    #[arg(long, conflicts_with = "repeat")]
    precise: bool,
    /// Set the difference of goodputs up to which they count as equal.
    #[arg(long, value_name = "PERCENT", default_value = "5 %", conflicts_with = "vary", value_parser = margin)]
    margin: f64,
    /// With several networks, make pairs of runs on each until it is decided.
    #[arg(long, conflicts_with_all = ["repeat", "quick", "precise", "vary"])]
    decide: bool,
    /// With several networks, draw the map of winners over these two keys, as in `link.rate,link.rtt`.
    #[arg(long, value_name = "KEY,KEY", value_parser = two_keys, conflicts_with = "vary")]
    map: Option<[String; 2]>,
    /// Write results and report to this folder.
    #[arg(long, default_value = "results")]
    out: PathBuf,
    /// Print the numbers as JSON.
    ///
    /// `results` lists the `experiment`, `id` and results folder (`path`) of each study used.
    #[arg(long)]
    json: bool,
    /// With several networks, print the answer as Markdown.
    #[arg(long, conflicts_with = "json")]
    markdown: bool,
}

/// Reads two keys, separated by a comma.
fn two_keys(text: &str) -> Result<[String; 2], String> {
    match text.split(',').map(str::trim).collect::<Vec<_>>().as_slice() {
        [down, across] => Ok([*down, *across].map(str::to_owned)),
        _ => Err("must be two keys, like link.rate,link.rtt".to_owned()),
    }
}

fn time(text: &str) -> Result<Duration, String> {
    match text.parse()? {
        Duration::ZERO => Err("must be longer than 0 s".to_owned()),
        time => Ok(time),
    }
}

/// Reads a margin above 0 and below 100 %.
fn margin(text: &str) -> Result<f64, String> {
    match text.parse::<Percent>()?.0 {
        percent if percent > 0.0 && percent < 100.0 => Ok(percent / 100.0),
        _ => Err("must be above 0 and below 100 %, like \"5 %\"".to_owned()),
    }
}

/// Runs the comparison. Returns the exit status.
pub(crate) fn run(args: &CompareArgs) -> Result<u8, Error> {
    let answered = Session::of_command(|session| compare(args, session))?;
    Ok(answered.print(&View { json: args.json, verbose: false }))
}

/// Runs the comparison.
pub(crate) fn compare(args: &CompareArgs, session: &Session<'_>) -> Result<Answered, Error> {
    let stacks = backends(args.on, &args.stacks)?;
    if args.on == Place::WIRE {
        places::prepare_wire()?;
    }
    let asked = Asked {
        controllers: args.controllers.clone(),
        link: args.link.clone(),
        flow: args.flow.clone(),
        vary: args.vary.clone(),
        against: args.against.clone(),
        time: args.time,
        repeat: match (args.quick, args.precise) {
            (true, _) => Some(FIRST_PAIRS),
            (_, true) => Some(MOST_PAIRS),
            _ => args.repeat,
        },
        margin: args.margin,
        stacks,
        registry: session.registry.clone(),
    };
    if let Some(set) = Set::new(&asked, args.decide, args.map.as_ref())? {
        if !args.markdown {
            return Ok(ask("compare", &set, &args.out, session)?.1);
        }
        let answer = answer("compare", &set, &args.out, session)?;
        return Ok(Answered { text: set.markdown(&answer), ..Answered::default() });
    }
    for (given, flag) in [(args.decide, "decide"), (args.map.is_some(), "map"), (args.markdown, "markdown")] {
        if given {
            let right = "it needs --link FILE with several networks in its [vary]";
            return Err(Error::bad(format!("--{flag}: {} is a single network; {right}", args.link)));
        }
    }
    Ok(ask("compare", &Question::new(&asked)?, &args.out, session)?.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The help text quotes the constants.
    #[test]
    fn help_states_the_pairs() {
        let command = CompareArgs::augment_args(clap::Command::new("compare"));
        let help = |name: &str| {
            let argument = command.get_arguments().find(|arg| arg.get_id() == name).unwrap();
            let help = argument.get_long_help().or(argument.get_help());
            help.unwrap().to_string()
        };
        assert!(help("repeat").contains(&format!("after {FIRST_PAIRS} pairs")));
        assert!(help("repeat").contains(&format!("at most {MOST_PAIRS}.")));
        assert!(help("quick").contains(&format!("Make {FIRST_PAIRS} pairs")));
        assert!(help("precise").contains(&format!("Make {MOST_PAIRS} pairs")));
    }

    #[test]
    fn margins() {
        assert_eq!(margin("5 %"), Ok(0.05));
        for wrong in ["3", "0 %", "100 %", "-1 %", "x", ""] {
            assert!(margin(wrong).is_err(), "{wrong}");
        }
    }
}

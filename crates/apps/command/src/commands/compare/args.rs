//! The arguments of `ackclock compare`.

use std::path::PathBuf;

use clap::Args;
use experiment::place::Place;
use units::Duration;

use crate::commands::arguments::repetitions;
use crate::commands::worlds::{stacks, worlds};

#[derive(Debug, Args)]
pub(crate) struct CompareArgs {
    /// Two or more controllers to compare, by name or as TOML tables with parameters.
    ///
    /// `ackclock algorithms` lists the names; `bbr` stands for the newest BBR. An example with
    /// parameters is `'{ name = "cubic", beta = 0.8 }'`.
    #[arg(required = true, num_args = 1..)]
    pub(super) controllers: Vec<String>,
    /// Set the bottleneck, as in "rate=20 Mbit/s rtt=40 ms queue=1 BDP", or take the network of an
    /// experiment.
    ///
    /// The keys are those of [link] in docs/src/reference/keys.md. An experiment is a file or a
    /// shipped name; its first case is used.
    #[arg(long, value_name = "WORDS|FILE", default_value = "rate=20 Mbit/s rtt=40 ms queue=1 BDP")]
    pub(super) link: String,
    /// Choose where the flows run.
    #[arg(long, default_value = Place::SIM.word(), value_parser = worlds(&[Place::SIM, Place::STACK], Place::doc))]
    pub(super) on: Place,
    /// Choose the QUIC implementations for both ends of every flow, separated by commas.
    ///
    /// Requires --on stack. Each stack gets its own rows. The competitor runs on the same
    /// stack. Example: `--stack noq,ackclock`. The default is Ackclock's own endpoints.
    #[arg(long = "stack", value_name = "STACKS", value_delimiter = ',', value_parser = stacks(&[Place::STACK]))]
    pub(super) stacks: Vec<String>,
    /// Set keys of the flows, as in `transport=tcp`.
    #[arg(long, value_name = "WORDS")]
    pub(super) flow: Option<String>,
    /// Sweep one key of the link over a range or a list, as in "queue=0.1..8 BDP" or "loss=0, 0.01,
    /// 0.1 %".
    ///
    /// A range has eight values, evenly spaced on a logarithmic scale.
    #[arg(long, value_name = "KEY=RANGE")]
    pub(super) vary: Option<String>,
    /// Set the competitor that each controller shares the link with.
    ///
    /// The default is the first controller.
    #[arg(long, value_name = "CONTROLLER")]
    pub(super) against: Option<String>,
    /// Set the duration of the long flows.
    ///
    /// The default is long enough for five cycles of CUBIC on the link.
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub(super) time: Option<Duration>,
    /// Set the number of repetitions, each with its own seed.
    ///
    /// By default, the first 5 repetitions show how many are needed to determine the goodput ratios
    /// to within 3 %, at most 30 in all.
    #[arg(long, allow_negative_numbers = true, value_parser = repetitions)]
    pub(super) repeat: Option<u32>,
    /// Write results and report to this folder.
    #[arg(long, default_value = "results")]
    pub(super) out: PathBuf,
    /// Print the numbers as JSON.
    ///
    /// `results` lists the `experiment`, `id` and results folder (`path`) of each study used.
    #[arg(long)]
    pub(super) json: bool,
}

fn time(text: &str) -> Result<Duration, String> {
    match text.parse()? {
        Duration::ZERO => Err("must be longer than 0 s".to_owned()),
        time => Ok(time),
    }
}

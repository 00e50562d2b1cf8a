//! The arguments.

use std::path::PathBuf;

use clap::Args;
use experiment::backend::Backend;
use units::Duration;

use crate::commands::worlds::{stacks, worlds};

#[derive(Debug, Args)]
pub(crate) struct CompareArgs {
    /// Two or more controllers: names of `ackclock algorithms`, or with parameters, `'{ name = "cubic", beta = 0.8 }'`. `bbr` is the
    /// newest BBR.
    #[arg(required = true, num_args = 1..)]
    pub(super) controllers: Vec<String>,
    /// The bottleneck in words, with the keys of `[link]` and `rtt`, or an experiment file or name whose network is taken.
    #[arg(long, value_name = "WORDS|FILE", default_value = "rate=20 Mbps rtt=40 ms queue=1 BDP")]
    pub(super) link: String,
    /// The world to run in.
    #[arg(long, default_value = Backend::Sim.word(), value_parser = worlds(&[Backend::Sim, Backend::Stack]))]
    pub(super) on: Backend,
    /// With --on stack: whose QUIC is at both ends of every flow, the competitor's too; of several each has rows of its own:
    /// `--stack noq,ackclock`. Ours if not given.
    #[arg(long = "stack", value_name = "STACKS", value_delimiter = ',', value_parser = stacks(&[Backend::Stack]))]
    pub(super) stacks: Vec<String>,
    /// Keys of the flows, like `transport=tcp`.
    #[arg(long, value_name = "WORDS")]
    pub(super) flow: Option<String>,
    /// A key of the link over a range or a list: `"queue=0.1..8 BDP"`, `"loss=0, 0.01, 0.1 %"`.
    #[arg(long, value_name = "KEY=RANGE")]
    pub(super) vary: Option<String>,
    /// The competitor beside which each runs; the first of the controllers if not given.
    #[arg(long, value_name = "CONTROLLER")]
    pub(super) against: Option<String>,
    /// How long the long flows run; long enough for five cycles of CUBIC on the link if not given.
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub(super) time: Option<Duration>,
    /// Repetitions with another seed each; as many as it takes for an interval of 3 %, between 5 and 40, if not given.
    #[arg(long)]
    pub(super) repeat: Option<u32>,
    /// Where results and report go.
    #[arg(long, default_value = "results")]
    pub(super) out: PathBuf,
    /// Print the numbers as JSON.
    #[arg(long)]
    pub(super) json: bool,
}

fn time(text: &str) -> Result<Duration, String> {
    match text.parse()? {
        Duration::ZERO => Err("no time at all".to_owned()),
        time => Ok(time),
    }
}

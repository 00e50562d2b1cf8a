//! The arguments.

use std::path::PathBuf;

use clap::Args;
use experiment::backend::Backend;

use crate::commands::worlds::{stacks, worlds};

#[derive(Debug, Args)]
pub(crate) struct ConformArgs {
    /// Whose congestion control: that of the stack itself. `ackclock` is ours, as a check; `linux-tcp` is the kernel's TCP, with `--on wire`.
    #[arg(value_parser = stacks(&WORLDS))]
    pub(super) stack: String,
    /// Which of its controllers: `cubic`, `new-reno` or `bbr3`; of ours also with parameters, `'{ name = "cubic", beta = 0.5 }'`, which are
    /// then laid beside the standard's.
    #[arg(long, default_value = "cubic")]
    pub(super) controller: String,
    /// Where the stack runs; the standard's flow is simulated.
    #[arg(long, default_value = Backend::Stack.word(), value_parser = worlds(&WORLDS))]
    pub(super) on: Backend,
    /// Lay the kernel's TCP beside it as well, through the emulator in real time (Linux, root).
    #[arg(long)]
    pub(super) kernel: bool,
    /// One rate, two buffers, 20 s, two seeds.
    #[arg(long)]
    pub(super) quick: bool,
    /// Repetitions with another seed each; 3 if not given.
    #[arg(long)]
    pub(super) repeat: Option<u32>,
    /// Where results and report go.
    #[arg(long, default_value = "results")]
    pub(super) out: PathBuf,
    /// A line for each network.
    #[arg(short, long)]
    pub(super) verbose: bool,
    /// Print the numbers as JSON.
    #[arg(long)]
    pub(super) json: bool,
}

/// Where other people's stacks run.
const WORLDS: [Backend; 2] = [Backend::Stack, Backend::Wire];

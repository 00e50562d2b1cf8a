//! The arguments of `ackclock conform`.

use std::path::PathBuf;

use clap::Args;
use experiment::place::Place;

use crate::commands::arguments::repetitions;
use crate::commands::worlds::{stacks, worlds};

#[derive(Debug, Args)]
pub(crate) struct ConformArgs {
    /// Stack whose own congestion control is checked.
    ///
    /// `ackclock` checks our endpoints, as a test of the method. `linux-tcp` is the kernel's TCP
    /// and needs --on wire.
    #[arg(value_parser = stacks(&WORLDS))]
    pub(super) stack: String,
    /// Choose the controller to check: `cubic`, `new-reno` or `bbr3`.
    ///
    /// With `ackclock` it can also be a TOML table with parameters, as in
    /// `'{ name = "cubic", beta = 0.5 }'`. It is compared with the controller of the specification.
    #[arg(long, default_value = "cubic")]
    pub(super) controller: String,
    /// Choose where the stack runs.
    ///
    /// The reference, our implementation of the specification, is always simulated.
    #[arg(long, default_value = Place::STACK.word(), value_parser = worlds(&WORLDS, doc))]
    pub(super) on: Place,
    /// Compare with the kernel's TCP as well, through the emulator in real time (Linux, root).
    #[arg(long)]
    pub(super) kernel: bool,
    /// Use a small grid: one rate, two queue sizes, 20 s and two seeds.
    #[arg(long)]
    pub(super) quick: bool,
    /// Set the number of repetitions, each with its own seed.
    ///
    /// The default is 3.
    #[arg(long, allow_negative_numbers = true, value_parser = repetitions)]
    pub(super) repeat: Option<u32>,
    /// Write results and report to this folder.
    #[arg(long, default_value = "results")]
    pub(super) out: PathBuf,
    /// Print a line for each network.
    #[arg(short, long)]
    pub(super) verbose: bool,
    /// Print the numbers as JSON.
    ///
    /// `results` lists the `experiment`, `id` and results folder (`path`) of each study used.
    #[arg(long)]
    pub(super) json: bool,
}

/// Worlds that run other stacks.
const WORLDS: [Place; 2] = [Place::STACK, Place::WIRE];

/// Describes how a world runs the one stack of this command.
fn doc(world: Place) -> &'static str {
    match world {
        Place::WIRE => "Real time, through the emulator (Linux): the stack as processes, or the kernel's TCP",
        _ => "The stack in the simulator's virtual time, with TLS",
    }
}

//! `ackclock conform`: checks whether a stack's own congestion control follows its specification.

use std::path::PathBuf;

use clap::Args;
use experiment::place::Place;
use questions::conform::{Asked, Question};

use crate::commands::arguments::repetitions;
use crate::commands::ask::{View, ask};
use crate::commands::worlds::{backends, stacks, worlds};
use crate::controllers::controllers;
use crate::places;
use crate::status::Error;

#[derive(Debug, Args)]
pub(crate) struct ConformArgs {
    /// Stack whose own congestion control is checked.
    ///
    /// `ackclock` checks our endpoints, as a test of the method. `linux-tcp` is the kernel's TCP
    /// and needs --on wire.
    #[arg(value_parser = stacks(&WORLDS))]
    stack: String,
    /// Choose the controller to check: `cubic`, `new-reno` or `bbr3`.
    ///
    /// With `ackclock` it can also be a TOML table with parameters, as in
    /// `'{ name = "cubic", beta = 0.5 }'`. It is compared with the controller of the specification.
    #[arg(long, default_value = "cubic")]
    controller: String,
    /// Choose where the stack runs.
    ///
    /// The reference, our implementation of the specification, is always simulated.
    #[arg(long, default_value = Place::STACK.word(), value_parser = worlds(&WORLDS, doc))]
    on: Place,
    /// Compare with the kernel's TCP as well, through the emulator in real time (Linux, root).
    #[arg(long)]
    kernel: bool,
    /// Use a small grid: one rate, two queue sizes, 20 s and two seeds.
    #[arg(long)]
    quick: bool,
    /// Set the number of repetitions, each with its own seed.
    ///
    /// The default is 3.
    #[arg(long, allow_negative_numbers = true, value_parser = repetitions)]
    repeat: Option<u32>,
    /// Write results and report to this folder.
    #[arg(long, default_value = "results")]
    out: PathBuf,
    /// Print a line for each network.
    #[arg(short, long)]
    verbose: bool,
    /// Print the numbers as JSON.
    ///
    /// `results` lists the `experiment`, `id` and results folder (`path`) of each study used.
    #[arg(long)]
    json: bool,
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

/// Runs the check. Returns the exit status.
pub(crate) fn run(args: &ConformArgs) -> Result<u8, Error> {
    // The stack is an option of other commands, and an argument of this one.
    let named = |error: Error| Error {
        message: error.message.strip_prefix("--stack ").unwrap_or(&error.message).to_owned(),
        ..error
    };
    let found = backends(args.on, std::slice::from_ref(&args.stack)).map_err(named)?;
    let question = Question::new(&Asked {
        stack: args.stack.clone(),
        place: found.first().copied().unwrap_or(args.on),
        controller: args.controller.clone(),
        kernel: args.kernel,
        quick: args.quick,
        repeat: args.repeat,
        registry: controllers().clone(),
    })?;
    if args.on == Place::WIRE || args.kernel {
        places::prepare_wire()?;
    }
    ask("conform", &question, &args.out, &View { json: args.json, verbose: args.verbose })
}

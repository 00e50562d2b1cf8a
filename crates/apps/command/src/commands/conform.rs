//! `ackclock conform`: checks whether a stack's own congestion control follows its specification.

use std::fmt::Display;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::{fs, io};

use clap::{Args, ValueEnum};
use experiment::input::open_regular;
use experiment::place::Place;
use questions::analyse;
use questions::conform::{Answer, Asked, Baseline, Log, Question};

use crate::commands::arguments::repetitions;
use crate::commands::ask::{Answered, View, ask, page_dir};
use crate::commands::worlds::{backends, is_manifest, stacks, worlds};
use crate::places;
use crate::session::Session;
use crate::status::{Error, HOLDS, MISS};

#[derive(Debug, Args)]
pub(crate) struct ConformArgs {
    /// Stack whose own congestion control is checked.
    ///
    /// `ackclock` checks our endpoints, as a test of the method. `linux-tcp` is the kernel's TCP
    /// and needs --on wire. A file, as in `./mine.toml`, is the manifest of a stack of your own.
    #[arg(value_parser = stacks(&WORLDS), required_unless_present = "log")]
    stack: Option<String>,
    /// Judge a stack by this log of its sender instead: qlog, or a capture at the sender
    /// (repeatable).
    ///
    /// Add the receiver's log if there is one. The reference runs on the network that --link
    /// declares. The first 5 s are left out.
    #[arg(long, value_name = "FILE", requires = "link", conflicts_with_all = ["stack", "on", "kernel", "quick", "baseline"])]
    log: Vec<PathBuf>,
    /// Declare the network of the log, as in `--link "rate=20 Mbit/s rtt=40 ms queue=1 BDP"`.
    #[arg(long, requires = "log")]
    link: Option<String>,
    /// Decrypt captured QUIC packets with the keys in this file, which SSLKEYLOGFILE names.
    #[arg(long, value_name = "FILE", requires = "log")]
    keys: Option<PathBuf>,
    /// Choose the controller to check: `cubic`, `new-reno` or `bbr3`.
    ///
    /// With `ackclock` it can also be a TOML table with parameters, as in
    /// `'{ name = "cubic", beta = 0.5 }'`. It is compared with the controller of the specification.
    #[arg(long, default_value = "cubic")]
    controller: String,
    /// Choose where the stack runs.
    ///
    /// The reference, our implementation of the specification, is always simulated. The default is
    /// `stack`, or `wire` for a manifest.
    #[arg(long, value_parser = worlds(&WORLDS, doc))]
    on: Option<Place>,
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
    /// Fail if the stack deviates on a network, or if a network has no valid run.
    #[arg(long, value_name = "VERDICT")]
    fail_if: Option<FailIf>,
    /// Compare with the verdicts of an earlier answer, and fail if a deviation is new or a network
    /// has no valid run.
    ///
    /// A folder written by `conform --out`, or a file with the output of `conform --json`. A
    /// deviation is new if the baseline has none on this network in this measure: window,
    /// reductions or envelope.
    #[arg(long, value_name = "FOLDER|FILE")]
    baseline: Option<PathBuf>,
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

/// Verdicts that fail.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum FailIf {
    /// The stack deviates from its specification on at least one network.
    Deviates,
}

/// Largest baseline that is read, in bytes.
const MOST_BASELINE: u64 = 64 << 20;

/// Name of the file with the answer, beside the page.
const ANSWER: &str = "answer.json";

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
    let answered = Session::of_command(|session| conform(args, session))?;
    Ok(answered.print(&View { json: args.json, verbose: args.verbose }))
}

/// Runs the check.
pub(crate) fn conform(args: &ConformArgs, session: &Session<'_>) -> Result<Answered, Error> {
    let (mut question, on) = match (&args.stack, &args.link) {
        (Some(stack), _) => of_stack(args, stack, session)?,
        (None, link) => (of_log(args, link.as_deref().unwrap_or_default(), session)?, Place::LOG),
    };
    if on == Place::WIRE || args.kernel {
        places::prepare_wire()?;
    }
    let kept = page_dir(&args.out, &question.folder()).join(ANSWER);
    if let Some(path) = &args.baseline {
        let file = baseline_file(path, &question);
        // A second try would compare the answer with itself.
        if is_same_file(&file, &kept) {
            let right = "keep the baseline elsewhere, or give another --out";
            return Err(Error::bad(format!(
                "--baseline {}: this run writes that file; {right}",
                file.display()
            )));
        }
        question.baseline = Some(baseline(&file)?);
    }
    let (answer, answered) = ask("conform", &question, &args.out, session)?;
    keep(&answer, &kept)?;
    Ok(Answered { status: if passes(args, &answer) { HOLDS } else { MISS }, ..answered })
}

/// Asks about a log. The stack's name is that of the program that wrote it.
fn of_log(args: &ConformArgs, link: &str, session: &Session<'_>) -> Result<Question, Error> {
    let logs = analyse::Question { files: args.log.clone(), keys: args.keys.clone(), ..Default::default() };
    let log = Log::read(&logs, link, session.watch)?;
    let asked = Asked {
        stack: String::new(),
        place: Place::LOG,
        controller: args.controller.clone(),
        kernel: false,
        quick: false,
        repeat: args.repeat,
        registry: session.registry.clone(),
    };
    Ok(Question::of_log(&asked, log)?)
}

/// Asks about a stack, and names the world that it runs in.
fn of_stack(args: &ConformArgs, stack: &str, session: &Session<'_>) -> Result<(Question, Place), Error> {
    // The stack is an option of other commands, and an argument of this one.
    let named = |error: Error| Error {
        message: error.message.strip_prefix("--stack ").unwrap_or(&error.message).to_owned(),
        ..error
    };
    let default = if is_manifest(stack) { Place::WIRE } else { Place::STACK };
    let on = args.on.unwrap_or(default);
    let found = backends(on, &[stack.to_owned()]).map_err(named)?;
    let place = found.first().copied().unwrap_or(on);
    let stack = place.stack().filter(|_| is_manifest(stack)).unwrap_or(stack);
    let question = Question::new(&Asked {
        stack: stack.to_owned(),
        place,
        controller: args.controller.clone(),
        kernel: args.kernel,
        quick: args.quick,
        repeat: args.repeat,
        registry: session.registry.clone(),
    })?;
    Ok((question, on))
}

/// Returns the file of a baseline, which can be given as the folder of its results.
fn baseline_file(path: &Path, question: &Question) -> PathBuf {
    match path.is_dir() {
        true => page_dir(path, &question.folder()).join(ANSWER),
        false => path.to_owned(),
    }
}

fn is_same_file(a: &Path, b: &Path) -> bool {
    fs::canonicalize(a).is_ok_and(|a| fs::canonicalize(b).is_ok_and(|b| a == b))
}

/// Reads the verdicts of an earlier answer.
fn baseline(file: &Path) -> Result<Baseline, Error> {
    let text = open_regular(file).and_then(|file| io::read_to_string(file.take(MOST_BASELINE)));
    let wrong = |why: &dyn Display| {
        let right = "give a folder written by `ackclock conform --out`, or a file with the output of `ackclock conform --json`";
        Error::bad(format!("--baseline {}: {why}; {right}", file.display()))
    };
    serde_json::from_str(&text.map_err(|e| wrong(&e))?).map_err(|e| wrong(&e))
}

/// Writes the answer to a file. What stands in its place, be it a link or a pipe, is removed.
fn keep(answer: &Answer, file: &Path) -> Result<(), Error> {
    let text = serde_json::to_string_pretty(answer).map_err(Error::bad)? + "\n";
    let removed = match fs::remove_file(file) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
        _ => Ok(()),
    };
    let create = || fs::File::options().write(true).create_new(true).open(file);
    removed
        .and_then(|()| create())
        .and_then(|mut new| new.write_all(text.as_bytes()))
        .map_err(|e| Error::bad(format!("cannot write {}: {e}", file.display())))
}

/// Reports whether the verdict is accepted. A network that was not measured must not pass.
fn passes(args: &ConformArgs, answer: &Answer) -> bool {
    let deviates = args.fail_if.is_some() && !answer.conforms;
    let is_new = answer.since.as_ref().is_some_and(|since| !since.new.is_empty());
    let is_gate = args.fail_if.is_some() || args.baseline.is_some();
    !(deviates || is_new || is_gate && answer.left_out > 0)
}

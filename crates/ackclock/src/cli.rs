//! The command line.

use std::path::PathBuf;

use clap::{CommandFactory, Parser, Subcommand};
use clap_complete::Shell;

use crate::commands::bench::{self, BenchArgs};
use crate::commands::compare::{self, CompareArgs};
use crate::commands::conform::{self, ConformArgs};
use crate::commands::diff::{self, DiffArgs};
use crate::commands::doctor::{self, DoctorArgs};
use crate::commands::fetch::{self, FetchArgs};
use crate::commands::index::IndexArgs;
use crate::commands::interop::{self, InteropArgs};
use crate::commands::ledger::LedgerArgs;
use crate::commands::link::{self, LinkArgs};
use crate::commands::new::{self, NewArgs};
use crate::commands::run::RunArgs;
use crate::commands::serve::{self, ServeArgs};
use crate::commands::stability::StabilityArgs;
use crate::commands::{algorithms, index, ledger, list, plan, prose, report, run, schema, shell, stability};
use crate::status::{Error, HOLDS, complain, print};

/// `0.1.0 (0123456789ab)`: a number in a paper is told by the commit.
const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), " (", env!("ACKCLOCK_COMMIT"), ")");

/// A congestion-control laboratory for QUIC and TCP.
#[derive(Debug, Parser)]
#[command(name = "ackclock", version = VERSION, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run experiments; print ours beside the published values, judge the claims, write results and a report.
    ///
    /// Exit status: 0 if every claim holds or is a known miss, 1 for an unexpected miss, 2 for bad input.
    Run(RunArgs),
    /// Print the runs of experiments as JSON, without making them: what `run --shard` hands out.
    Plan {
        /// Shipped names, prefixes of them, files or folders.
        #[arg(required = true)]
        experiments: Vec<String>,
    },
    /// Compare controllers on a link: which carries how much more, at which delay, beside whom, and why.
    ///
    /// `ackclock compare cubic bbr3 --link "rate=100 Mbit/s rtt=80 ms queue=0.3 BDP loss=0.01 %"`; docs/compare.md says how it
    /// is measured.
    Compare(CompareArgs),
    /// Say whether a stack's own congestion control does what its standard says, by how much it does not, and which rule explains it.
    ///
    /// `ackclock conform quinn --controller cubic`; docs/conform.md says what is compared. Exit status: 0, whatever the verdict.
    Conform(ConformArgs),
    /// What changed between two sets of results, beyond the spread of their runs.
    ///
    /// `ackclock diff results-main results-branch --fail-if "goodput -3 %" --junit out.xml --markdown`. Exit status: 0, or 1 if a
    /// rule is broken.
    Diff(DiffArgs),
    /// List the shipped experiments: name, runs, seconds of one core, and what of the source each is.
    List {
        /// Only those with this in their name, title or source.
        filter: Option<String>,
    },
    /// List the algorithms; of one its parameters, defaults and sources.
    Algorithms {
        /// Only this one, in full.
        name: Option<String>,
    },
    /// Write the report again from results folders.
    Report {
        /// Folders with results; the newest of each experiment counts.
        #[arg(default_value = "results")]
        dirs: Vec<PathBuf>,
        /// Where the report goes.
        #[arg(long, default_value = "results/report/all")]
        out: PathBuf,
    },
    /// What stands under a results folder, a line each: runs, claims that hold, hold partly and are missed, size, whether it is complete and its sums are
    /// right.
    ///
    /// Exit status: 0, or 1 if something is damaged.
    Index(IndexArgs),
    /// What became of the sources' claims and numbers, from results folders: per source how many claims hold, how near the numbers
    /// are, and the largest differences.
    Ledger(LedgerArgs),
    /// The numbers in the prose of the shipped experiments that the run does not fill in: where each comes from; with results,
    /// whether its command still prints it.
    ///
    /// Exit status: 0, or 1 if a number has no origin or is no longer printed.
    Prose {
        /// Folders with results to check against.
        #[arg(long, value_name = "DIR")]
        results: Vec<PathBuf>,
    },
    /// Margins of a controller's loop: Nyquist's criterion, with a page of Nyquist and Bode plots;
    /// on request the same flows as fluid and as packets.
    ///
    /// `ackclock stability dccc --rtt 100ms --rate 1Mbit/s`; docs/stability.md says what is computed.
    Stability(StabilityArgs),
    /// Run a command behind an emulated link: any program, in real time, beside its server.
    ///
    /// `sudo ackclock link "rate=10 Mbit/s delay=25 ms queue=2 BDP" -- ping -c 3 10.64.0.2`; docs/emulator.md says how
    /// truthful it is. Exit status: the command's own, or 2.
    Link(LinkArgs),
    /// Say what this machine can be trusted for as an emulator: privileges, kernel, errors of rate and delay.
    ///
    /// Exit status: 0 if every rate was measured true in a valid run, 1 if not.
    Doctor(DoctorArgs),
    /// Serve the files of a folder over QUIC, with any controller: HTTP/3 and hq-interop.
    ///
    /// `ackclock serve --root DIR --controller quic-dc --set threshold="20 ms"`. Ctrl-C finishes what runs.
    Serve(ServeArgs),
    /// Fetch files over QUIC, and say what the path was like: goodput, RTT, one-way delay, loss.
    ///
    /// `ackclock fetch https://host:4433/file`. A file stands under its name when it is whole. Exit status: 0, 1 if a file did not
    /// come, 2 if there was no connection.
    Fetch(FetchArgs),
    /// Be a client or a server of the QUIC interop runner, as its environment says: interop/README.md.
    #[command(hide = true)]
    Interop(InteropArgs),
    /// Print the JSON Schema of experiment files, for completion and checks in an editor.
    ///
    /// `ackclock schema > ackclock.schema.json`; docs/experiments.md says how an editor is told of it.
    Schema {
        /// Print the keys as Markdown instead: docs/keys.md.
        #[arg(long)]
        markdown: bool,
    },
    /// Make a crate for a controller of your own, with this command around it: `ackclock new controller mine`.
    New(NewArgs),
    /// Print a script that completes the command's words: `ackclock completions bash > ~/.local/share/bash-completion/completions/ackclock`.
    Completions {
        /// The shell.
        shell: Shell,
    },
    /// Print the man page, or that of a command: `ackclock man run | man -l -`.
    Man {
        /// The command.
        command: Option<String>,
    },
    /// Measure the simulator: packets through the bottleneck per CPU second on one core.
    Bench(BenchArgs),
}

/// Runs the command of this process's arguments; returns the exit status.
pub fn main() -> u8 {
    let cli = Cli::parse();
    let done = match cli.command {
        Command::Run(args) => run::run(&args),
        Command::Plan { experiments } => plan::run(&experiments),
        Command::Compare(args) => compare::run(&args),
        Command::Conform(args) => conform::run(&args),
        Command::Diff(args) => diff::run(&args),
        Command::List { filter } => list::run(filter.as_deref()),
        Command::Algorithms { name } => algorithms::run(name.as_deref()),
        Command::Report { dirs, out } => report::run(&dirs, &out),
        Command::Index(args) => index::run(&args),
        Command::Ledger(args) => ledger::run(&args),
        Command::Prose { results } => prose::run(&results),
        Command::Stability(args) => stability::run(&args),
        Command::Link(args) => link::run(&args),
        Command::Doctor(args) => doctor::run(&args),
        Command::Serve(args) => serve::run(&args),
        Command::Fetch(args) => fetch::run(&args),
        Command::Interop(args) => interop::run(&args),
        Command::Schema { markdown } => schema::run(markdown),
        Command::Completions { shell } => shell::completions(shell, Cli::command()),
        Command::Man { command } => shell::man(command.as_deref(), Cli::command()),
        Command::New(args) => new::run(&args).map(|said| print(&said)).map(|()| HOLDS).map_err(Error::bad),
        Command::Bench(args) => bench::run(&args),
    };
    done.unwrap_or_else(|error| {
        complain(&error.message);
        error.status
    })
}

//! The command line.

use std::ffi::OsString;

use clap::{CommandFactory, Parser, Subcommand};
use clap_complete::Shell;

use crate::commands::analyse::{self, AnalyseArgs};
use crate::commands::ask::Answered;
use crate::commands::bench::{self, BenchArgs};
use crate::commands::compare::{self, CompareArgs};
use crate::commands::conform::{self, ConformArgs};
use crate::commands::diff::{self, DiffArgs};
use crate::commands::digest::{self, DigestArgs};
use crate::commands::doctor::{self, DoctorArgs};
use crate::commands::export::{self, ExportArgs};
use crate::commands::fetch::{self, FetchArgs};
use crate::commands::interop::{self, InteropArgs};
use crate::commands::kernel::{self, KernelArgs};
use crate::commands::ledger::LedgerArgs;
use crate::commands::link::{self, LinkArgs};
use crate::commands::list::ListArgs;
use crate::commands::networks::NetworksArgs;
use crate::commands::new::{self, NewArgs};
use crate::commands::replay::{self, ReplayArgs};
use crate::commands::report::ReportArgs;
use crate::commands::run::RunArgs;
use crate::commands::serve::{self, ServeArgs};
use crate::commands::stability::StabilityArgs;
use crate::commands::trace::{self, TraceArgs};
use crate::commands::{algorithms, ledger, list, networks, plan, report, run, schema, shell, stability};
use crate::interrupt;
use crate::session::Session;
use crate::status::{Error, HOLDS, complain, print};

/// Version and commit, as in `0.1.0 (0123456789ab)`. The commit identifies the program behind a
/// published number.
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
    /// Run experiments and compare the results with published values.
    ///
    /// Prints a summary, judges the claims of each experiment, and writes results and an HTML
    /// report.
    ///
    /// Exit status: 0 if every claim holds or has a recorded reason, 1 if a claim without one
    /// fails or lacks a value, 2 for bad input.
    Run(RunArgs),
    /// List the runs of experiments as JSON, without running them.
    ///
    /// `run --shard K/N` runs those whose number modulo N is K - 1.
    Plan {
        /// Experiments to plan: shipped names, prefixes of names, files or folders.
        #[arg(required = true)]
        experiments: Vec<String>,
    },
    /// Compare the throughput, delay and fairness of controllers on a link, and explain the
    /// differences.
    ///
    /// Example:
    /// `ackclock compare cubic bbr3 --link "rate=100 Mbit/s rtt=80 ms queue=0.3 BDP loss=0.01 %"`
    ///
    /// See docs/src/explanation/comparison.md for the method.
    Compare(CompareArgs),
    /// Check whether a stack's own congestion control follows its specification.
    ///
    /// Runs the stack and our implementation of the RFC or draft on a grid of networks. Reports
    /// where they differ, by how much, and which single rule change explains the difference.
    ///
    /// Example: `ackclock conform quinn --controller cubic`
    ///
    /// See docs/src/reference/conformance.md for the method. Exit status: 0, 1 if --fail-if or
    /// --baseline finds a deviation, 2 for errors.
    Conform(ConformArgs),
    /// Compute metrics and find problems in logs of any program: qlog, captures, flent, iperf3.
    ///
    /// Prints bytes, rates, round-trip times, retransmissions and the rules that detected losses,
    /// and a list of problems. What a log cannot tell is named, with the reason. The report has
    /// charts and sequence diagrams.
    ///
    /// Example: `ackclock analyse sender.sqlog receiver.sqlog`
    ///
    /// See docs/src/how-to/analyse-logs.md. Exit status: 0, or 2 for bad input.
    Analyse(AnalyseArgs),
    /// Give the ACKs and losses of a sender's log to another controller.
    ///
    /// Prints how far its window is from the logged one: the median and the 95th percentile of the
    /// distance over all ACKs. The loop is open: the controller changes neither the queue nor the
    /// losses. Logs of this program's runs have all signals; from others they are derived.
    ///
    /// Example: `ackclock replay sender.sqlog --controller bbr3`
    ///
    /// See docs/src/how-to/replay-logs.md. Exit status: 0, or 2 for bad input.
    Replay(ReplayArgs),
    /// Show what changed between two sets of results.
    ///
    /// A change is reported if it is larger than the spread between runs. Runs with the same seed
    /// are compared with each other.
    ///
    /// Example: `ackclock diff results-main results-branch --fail-if "goodput -3 %" --junit
    /// out.xml --markdown`
    ///
    /// Exit status: 0, 1 if a rule is broken or could not be checked, or 2 for bad input.
    Diff(DiffArgs),
    /// List the shipped experiments, or stored results.
    ///
    /// Each line shows the name, the number of runs, the estimated time on one core, and the table
    /// or figure of the source.
    ///
    /// Exit status: 0, 1 if a result is damaged, or 2 for bad input.
    List(ListArgs),
    /// List the networks that can be named, or print one of them.
    ///
    /// A network is an experiment below `networks/`. Its name works in `--link`, in `ackclock
    /// link`, and in files as `network = "lte"`.
    ///
    /// Exit status: 0, or 2 for bad input.
    Networks(NetworksArgs),
    /// Write a link as commands of tc or as a line of Mahimahi, with a list of what they cannot
    /// do.
    ///
    /// Example: `ackclock export lte --to tc`
    ///
    /// Exit status: 0, or 2 for bad input.
    Export(ExportArgs),
    /// List the congestion controllers, or describe one of them.
    Algorithms {
        /// Describe this controller: parameters, defaults, ranges, sources and variables.
        name: Option<String>,
    },
    /// Rebuild the HTML report from stored results, or write its charts as figures for papers.
    ///
    /// Example: `ackclock report results/x --format pdf --width "84 mm"`
    ///
    /// The options of charts override the keys of [[chart]] in the experiment files. See
    /// docs/src/how-to/figures-for-papers.md.
    Report(ReportArgs),
    /// Summarise how well each source is reproduced.
    ///
    /// For each paper or RFC: how many claims hold, how close our numbers are, and the largest
    /// differences.
    Ledger(LedgerArgs),
    /// Compute the stability margins of a controller's control loop.
    ///
    /// Applies the Nyquist criterion and writes a page with Nyquist and Bode plots. With
    /// --simulate, also runs the flows as a fluid model and as packets.
    ///
    /// Example: `ackclock stability dccc --rtt 100ms --rate 1Mbit/s`
    ///
    /// See docs/src/reference/stability.md for the method.
    Stability(StabilityArgs),
    /// Run a command behind an emulated link, in real time.
    ///
    /// Example:
    /// `sudo ackclock link "rate=10 Mbit/s delay=25 ms queue=2 BDP" -- ping -c 3 10.64.0.2`
    ///
    /// See docs/src/explanation/worlds.md for the accuracy. Exit status: the command's own, or 2
    /// if the link failed.
    Link(LinkArgs),
    /// Check how accurately this machine can emulate links.
    ///
    /// Reports the privileges and the kernel version, and measures the errors in rate and delay.
    ///
    /// Exit status: 0 if every measurement is accurate and valid, 1 if not.
    Doctor(DoctorArgs),
    /// Run congestion controllers inside Linux TCP (needs CAP_BPF and CAP_PERFMON).
    ///
    /// Example: `sudo ackclock kernel run bbr3 --name my_bbr3`, then `iperf3 -C my_bbr3 -c HOST`
    Kernel(KernelArgs),
    /// Trace TCP connections of this host as qlog (needs CAP_BPF and CAP_PERFMON, or --pid).
    ///
    /// Example: `sudo ackclock trace --port 443 --qlog out`
    ///
    /// See docs/src/how-to/capture-and-qlog.md for the meaning of the logs.
    Trace(TraceArgs),
    /// Serve the files of a folder over QUIC, with any congestion controller.
    ///
    /// Speaks HTTP/3 and hq-interop. The first Ctrl-C waits for the transfers in progress, the
    /// second ends them.
    ///
    /// Example: `ackclock serve --root DIR --controller quic-dc --set threshold="20 ms"`
    Serve(ServeArgs),
    /// Fetch files over QUIC and report goodput, RTT, one-way delay and loss.
    ///
    /// A file appears under its name once it is complete.
    ///
    /// Example: `ackclock fetch https://host:4433/file`
    ///
    /// Exit status: 0 on success, 1 if a file could not be fetched, 2 if the connection failed.
    Fetch(FetchArgs),
    /// Act as client or server of the QUIC interop runner.
    ///
    /// Reads its environment variables; see interop/README.md.
    #[command(hide = true)]
    Interop(InteropArgs),
    /// Print the JSON Schema of experiment files, for completion and checks in an editor.
    ///
    /// Example: `ackclock schema > ackclock.schema.json`
    ///
    /// See docs/src/reference/experiment-files.md for editor settings.
    Schema,
    /// Create a crate for a controller of your own.
    ///
    /// The crate contains the whole ackclock command with that controller added.
    ///
    /// Example: `ackclock new controller mine`
    New(NewArgs),
    /// Print a completion script for a shell.
    ///
    /// Example: `ackclock completions bash > ~/.local/share/bash-completion/completions/ackclock`
    Completions {
        /// Shell to print the script for.
        shell: Shell,
    },
    /// Print the man page of ackclock or of one of its commands.
    ///
    /// Example: `ackclock man run | man -l -`
    Man {
        /// Print the page of this command.
        command: Option<String>,
    },
    /// Print digests of simulations, to compare two builds or platforms.
    ///
    /// Prints a line of JSON for each case: the number of events, and SHA-256 of the time series,
    /// the metrics and the keys of the first repetition. Equal digests mean equal results, bit for
    /// bit.
    ///
    /// Example: `ackclock digest quic-dc --first`
    Digest(DigestArgs),
    /// Measure the speed of the simulator on one core.
    ///
    /// The unit is packets through the bottleneck per CPU second.
    Bench(BenchArgs),
}

/// Answers the question that the arguments name, without printing.
pub(crate) fn ask(
    args: impl IntoIterator<Item = impl Into<OsString> + Clone>,
    session: &Session<'_>,
) -> Result<Answered, Error> {
    let cli = Cli::try_parse_from(args).map_err(|why| {
        let text = why.to_string();
        Error::bad(text.strip_prefix("error: ").unwrap_or(&text).split("\n\n").next().unwrap_or_default())
    })?;
    match &cli.command {
        Command::Compare(args) => compare::compare(args, session),
        Command::Analyse(args) => analyse::analyse(args, session),
        Command::Replay(args) => replay::replay(args, session),
        Command::Conform(args) => conform::conform(args, session),
        Command::Diff(args) => diff::diff(args),
        _ => Err(Error::bad("the command asks no question")),
    }
}

/// Runs the command that the arguments name. Returns the exit status.
pub(crate) fn main(args: impl IntoIterator<Item = impl Into<OsString> + Clone>) -> u8 {
    let cli = match Cli::try_parse_from(args) {
        Ok(cli) => cli,
        Err(why) => {
            // Help goes to standard output and is not an error.
            let _ = why.print();
            return why.exit_code() as u8;
        }
    };
    let done = match cli.command {
        Command::Run(args) => run::run(&args),
        Command::Plan { experiments } => plan::run(&experiments),
        Command::Compare(args) => compare::run(&args),
        Command::Analyse(args) => analyse::run(&args),
        Command::Replay(args) => replay::run(&args),
        Command::Conform(args) => conform::run(&args),
        Command::Diff(args) => diff::run(&args),
        Command::List(args) => list::run(&args),
        Command::Networks(args) => networks::run(&args),
        Command::Export(args) => export::run(&args),
        Command::Algorithms { name } => algorithms::run(name.as_deref()),
        Command::Report(args) => report::run(&args),
        Command::Ledger(args) => ledger::run(&args),
        Command::Stability(args) => stability::run(&args),
        Command::Link(args) => link::run(&args),
        Command::Doctor(args) => doctor::run(&args),
        Command::Kernel(args) => kernel::run(&args),
        Command::Trace(args) => trace::run(&args),
        Command::Serve(args) => serve::run(&args),
        Command::Fetch(args) => fetch::run(&args),
        Command::Interop(args) => interop::run(&args),
        Command::Schema => schema::run(),
        Command::Completions { shell } => shell::completions(shell, Cli::command()),
        Command::Man { command } => shell::man(command.as_deref(), Cli::command()),
        Command::New(args) => new::run(&args).map(|said| print(&said)).map(|()| HOLDS).map_err(Error::bad),
        Command::Digest(args) => digest::run(&args),
        Command::Bench(args) => bench::run(&args),
    };
    interrupt::forget();
    done.unwrap_or_else(|error| {
        complain(&error.message);
        error.status
    })
}

//! The command line.

use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use clap::{Args, Parser, Subcommand, ValueEnum};
use scenario::Watch;

use crate::bench;
use crate::commands::new::{self, NewArgs};
use crate::commands::stability_args::StabilityArgs;
use crate::run::{self, Failure, Options};
use experiment::backend::Backend;
use experiment::controllers::controllers;
use experiment::file::Experiment;
use experiment::library::Library;
use report::terminal;
use results::ledger;
use results::numbers;
use results::store;
use results::summary::{ClaimResult, Results, Verdict};

/// All claims hold or are recorded as known misses.
const HOLDS: u8 = 0;
/// A claim does not hold and no reason is on record.
const MISS: u8 = 1;
/// Bad input, or results that cannot be written.
pub(crate) const BAD: u8 = 2;
/// Threads at most: more than any machine has cores for.
const MAX_JOBS: usize = 256;
/// Ended by Ctrl-C.
const INTERRUPTED: u8 = 130;

/// A congestion-control laboratory for QUIC and TCP.
#[derive(Debug, Parser)]
#[command(name = "kneepoint", version, arg_required_else_help = true)]
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
    /// List the shipped experiments.
    List,
    /// List the algorithms with parameters, defaults and sources.
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
    /// `kneepoint stability dccc --rtt 100ms --rate 1Mbit/s`; docs/stability.md says what is computed.
    Stability(StabilityArgs),
    /// Run a command behind an emulated link: any program, in real time, beside its server.
    ///
    /// `sudo kneepoint link "rate=10 Mbit/s delay=25 ms queue=2 BDP" -- ping -c 3 10.64.0.2`; docs/emulator.md says how
    /// truthful it is. Exit status: the command's own, or 2.
    #[cfg(target_os = "linux")]
    Link(crate::wire::link::LinkArgs),
    /// Say what this machine can be trusted for as an emulator: privileges, kernel, errors of rate and delay.
    ///
    /// Exit status: 0 if every rate was measured true in a valid run, 1 if not.
    #[cfg(target_os = "linux")]
    Doctor(crate::wire::doctor::DoctorArgs),
    /// Make a crate for a controller of your own, with this command around it: `kneepoint new controller mine`.
    New(NewArgs),
    /// Measure the simulator: packets through the bottleneck per CPU second on one core.
    Bench {
        /// Tries per case; the fastest counts.
        #[arg(long, default_value_t = 5)]
        tries: u32,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Args)]
struct LedgerArgs {
    /// Folders to look in; the newest results of each experiment count.
    #[arg(default_value = "results")]
    dirs: Vec<PathBuf>,
    /// Print a Markdown table.
    #[arg(long, conflicts_with = "json")]
    markdown: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    /// Print the mean |ln(ours / published)| of each column too, or of those of one metric: `--columns=rtt_mean`.
    #[arg(long, value_name = "METRIC", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    #[arg(conflicts_with_all = ["markdown", "json"])]
    columns: Option<String>,
    /// Whether this file holds that table; exit status 1 if it holds another.
    #[arg(long, value_name = "FILE")]
    check: Option<PathBuf>,
}

/// What runs the scenarios.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum On {
    /// The deterministic simulator.
    Sim,
    /// The kernel's TCP, and UDP, through the emulator in real time (Linux); the simulator's rows stand beside.
    Wire,
}

impl From<On> for Backend {
    fn from(on: On) -> Self {
        match on {
            On::Sim => Self::Sim,
            On::Wire => Self::Wire,
        }
    }
}

#[derive(Debug, Args)]
struct RunArgs {
    /// Shipped names (`quic-dc/table-1`), prefixes of them (`quic-dc`), files or folders.
    #[arg(required = true)]
    experiments: Vec<String>,
    /// The world to run in.
    #[arg(long, value_enum, default_value_t = On::Sim)]
    on: On,
    /// Change a value of every experiment: `--set link.rate=20Mbit/s`.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    sets: Vec<String>,
    /// With --set: keep the published values, claims and reasons beside the changed runs, to try a hypothesis about the source's
    /// network.
    #[arg(long, requires = "sets")]
    keep_published: bool,
    /// Try this controller where the file tries its own, again for each: `--controller bbr3`, or as TOML with parameters,
    /// `--controller '{ name = "nada", rmax = "1.7 Mbit/s" }'`. For files with one list of controllers in [vary], like those
    /// of rfc8867, or one axis that sets them, like quic-dc; reasons on record do not count then.
    #[arg(long = "controller", value_name = "CONTROLLER")]
    controllers: Vec<String>,
    /// Seed of the first repetition.
    #[arg(long)]
    seed: Option<u64>,
    /// Repetitions of each case.
    #[arg(long)]
    repeat: Option<u32>,
    /// Runs at the same time; all cores if not given.
    #[arg(long)]
    jobs: Option<usize>,
    /// Where results go.
    #[arg(long, default_value = "results")]
    out: PathBuf,
    /// Write qlogs of both ends of every flow (JSON-SEQ, for qvis): some 700 bytes for each packet of each run.
    #[arg(long)]
    qlog: bool,
    /// Write the traffic of every run on the wire at both ends (pcapng, for Wireshark).
    #[arg(long)]
    pcap: bool,
    /// Print the summaries as JSON instead of tables.
    #[arg(long)]
    json: bool,
}

/// Runs the command of this process's arguments; returns the exit status.
pub fn main() -> u8 {
    let cli = Cli::parse();
    let done = match cli.command {
        Command::Run(args) => run(&args),
        Command::List => list(),
        Command::Algorithms { name } => algorithms(name.as_deref()),
        Command::Report { dirs, out } => write_report(&dirs, &out),
        Command::Ledger(args) => show_ledger(&args),
        Command::Prose { results } => prose(&results),
        Command::Stability(args) => analyse(&args),
        #[cfg(target_os = "linux")]
        Command::Link(args) => crate::wire::link::run(&args).map_err(Error::bad),
        #[cfg(target_os = "linux")]
        Command::Doctor(args) => crate::wire::doctor::run(&args, print).map_err(Error::bad),
        Command::New(args) => new::run(&args).map(|said| print(&said)).map(|()| HOLDS).map_err(Error::bad),
        Command::Bench { tries, json } => benchmark(tries, json),
    };
    done.unwrap_or_else(|error| {
        eprintln!("kneepoint: {}", error.message);
        error.status
    })
}

/// Why the command ends early.
struct Error {
    message: String,
    status: u8,
}

impl Error {
    fn bad(message: impl ToString) -> Self {
        Self { message: message.to_string(), status: BAD }
    }
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Spec(problem) => Self::bad(problem),
            Failure::Store(path, e) => Self::bad(format!(
                "cannot write results to {}: {e}; nothing was left there; choose another folder with --out",
                path.display()
            )),
            Failure::Wire(sentence) => Self::bad(sentence),
            Failure::Interrupted => Self {
                message: "interrupted; the unfinished experiment left nothing behind".into(),
                status: INTERRUPTED,
            },
        }
    }
}

/// Prints to standard output. Nobody reading any more is no error; a full disk ends the command.
fn print(text: &str) {
    let mut out = std::io::stdout();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => {
            eprintln!("kneepoint: cannot write to standard output: {e}");
            std::process::exit(i32::from(BAD));
        }
        _ => {}
    }
}

fn run(args: &RunArgs) -> Result<u8, Error> {
    if args.pcap && args.on == On::Sim {
        return Err(Error::bad("--pcap: the simulator has no packets to write; it goes with --on wire"));
    }
    // The user namespace must come before any thread.
    #[cfg(target_os = "linux")]
    if args.on == On::Wire {
        emu::privilege::acquire().map_err(Error::bad)?;
    }
    if let Some(jobs) = args.jobs {
        if jobs == 0 {
            return Err(Error::bad("--jobs 0: at least one run at a time"));
        }
        rayon::ThreadPoolBuilder::new().num_threads(jobs.min(MAX_JOBS)).build_global().map_err(Error::bad)?;
    }
    let experiments = fitting(read(args)?, args.on.into())?;
    let watch = Arc::new(Watch::default());
    let handler = Arc::clone(&watch);
    ctrlc::set_handler(move || handler.stop.store(true, Ordering::Relaxed)).map_err(Error::bad)?;
    let options = Options { out: args.out.clone(), qlog: args.qlog, pcap: args.pcap, world: args.on.into() };
    let mut all = Vec::new();
    for experiment in &experiments {
        let (results, folder) = run::experiment(experiment, &options, &watch)?;
        if !args.json {
            print(&terminal::text(&results.summary));
            print(&format!("results: {}\n", folder.display()));
        }
        all.push(results);
    }
    let dir = args.out.join("report").join(slug(&args.experiments));
    let page = report::write(&dir, &args.experiments.join(", "), &all)
        .map_err(|e| Error::bad(format!("cannot write the report to {}: {e}", dir.display())))?;
    if args.json {
        let summaries: Vec<_> = all.iter().map(|r| &r.summary).collect();
        print(&(serde_json::to_string_pretty(&summaries).map_err(Error::bad)? + "\n"));
    } else {
        print(&conclusion(&all));
        print(&format!("report: {}\n", page.display()));
    }
    Ok(if unexplained(&all) > 0 { MISS } else { HOLDS })
}

/// Those that can run in this world. Where several are named, the others are left out with a word; where none can, that is
/// an error.
fn fitting(experiments: Vec<Experiment>, world: Backend) -> Result<Vec<Experiment>, Error> {
    let (mut fit, mut unfit) = (Vec::new(), Vec::new());
    for experiment in experiments {
        match run::check(&experiment, world) {
            Ok(()) => fit.push(experiment),
            Err(why) => unfit.push(Error::from(why)),
        }
    }
    if fit.is_empty() {
        return unfit.into_iter().next().map_or(Ok(fit), Err);
    }
    unfit.iter().for_each(|why| eprintln!("kneepoint: left out: {}", why.message));
    Ok(fit)
}

/// The experiments that the arguments name, with their changes. All are checked before the first one runs.
fn read(args: &RunArgs) -> Result<Vec<Experiment>, Error> {
    let mut sets = Vec::new();
    for set in &args.sets {
        let (key, value) = set.split_once('=').ok_or_else(|| {
            Error::bad(format!("--set {set}: no value; write --set key=value, like --set link.rate=20Mbit/s"))
        })?;
        sets.push((key.trim().to_owned(), value.trim().to_owned()));
    }
    sets.extend(args.seed.map(|seed| ("seed".to_owned(), seed.to_string())));
    sets.extend(args.repeat.map(|n| ("repetitions".to_owned(), n.to_string())));
    let sources = Library.resolve(&args.experiments).map_err(Error::bad)?;
    let read = |source: experiment::library::Source| {
        let mut experiment = Experiment::parse(&source.name, &source.file, &source.text)?;
        if !args.controllers.is_empty() {
            experiment = experiment.with_controllers(&args.controllers)?;
        }
        if sets.is_empty() { Ok(experiment) } else { experiment.with_overrides(&sets, args.keep_published) }
    };
    sources.into_iter().map(read).collect::<Result<_, _>>().map_err(Error::bad)
}

/// A folder name for a report of these experiments.
fn slug(names: &[String]) -> String {
    let clean = |c: char| if c.is_ascii_alphanumeric() || c == '-' || c == '.' { c } else { '-' };
    let joined = names.join("+").trim_matches('/').chars().map(clean).collect::<String>();
    let slug: String = joined.trim_matches(|c| c == '.' || c == '-').chars().take(200).collect();
    if slug.is_empty() { "run".to_owned() } else { slug }
}

fn claims(all: &[Results]) -> impl Iterator<Item = &ClaimResult> {
    all.iter().flat_map(|r| &r.summary.claims)
}

fn unexplained(all: &[Results]) -> usize {
    claims(all).filter(|claim| claim.is_unexplained()).count()
}

fn conclusion(all: &[Results]) -> String {
    if claims(all).next().is_none() {
        return "\nno claim was judged\n".to_owned();
    }
    let line = |ours: bool, whose: &str| {
        let mine = || claims(all).filter(|claim| claim.ours == ours);
        let count = |verdict| mine().filter(|claim| claim.verdict == verdict).count();
        if mine().next().is_none() {
            return String::new();
        }
        format!(
            "{whose} {} claims: {} hold, {} partly, {} within the spread, {} missed, {} not judged\n",
            mine().count(),
            count(Verdict::Holds),
            count(Verdict::Partly),
            count(Verdict::WithinSpread),
            count(Verdict::Missed),
            count(Verdict::NotJudged),
        )
    };
    let bare = match unexplained(all) {
        0 => String::new(),
        number => format!("{number} of those that do not hold have no reason on record (marked !)\n"),
    };
    format!("\n{}{}{bare}", line(false, "of the source's"), line(true, "of our own"))
}

fn list() -> Result<u8, Error> {
    for source in Library.shipped() {
        let experiment = Experiment::parse(&source.name, &source.file, &source.text).map_err(Error::bad)?;
        print(&format!("{:24} {}\n{:24} {}\n", experiment.name, experiment.title, "", experiment.source));
    }
    Ok(HOLDS)
}

fn algorithms(name: Option<&str>) -> Result<u8, Error> {
    let all = controllers();
    let chosen: Vec<_> = all.iter().filter(|entry| name.is_none_or(|name| name == entry.name)).collect();
    if let (Some(name), true) = (name, chosen.is_empty()) {
        let known = experiment::diagnostic::did_you_mean(name, all.iter().map(|entry| entry.name));
        return Err(Error::bad(format!("`{name}` is not an algorithm; {known}")));
    }
    for entry in chosen {
        print(&format!("{}\n   {}\n", entry.name, entry.doc.trim()));
        let defaults = toml::Table::try_from(entry.algorithm()).map_err(Error::bad)?;
        for param in entry.params {
            let key = param.name.replace('_', "-");
            let default = defaults.get(&key).map_or_else(|| "none".to_owned(), ToString::to_string);
            let number = defaults.get(&key).is_some_and(|value| value.is_integer() || value.is_float());
            let range = param.range.or(number.then(|| param.allowed()));
            let range = range.map_or_else(String::new, |range| format!(" Range: {range}."));
            print(&format!("   {:28} {:20} {}{range}\n", key, default, param.doc.trim()));
        }
    }
    Ok(HOLDS)
}

/// The newest results of each experiment below these folders.
fn load(dirs: &[PathBuf]) -> Result<Vec<Results>, Error> {
    let mut all = Vec::new();
    for dir in dirs {
        let at = |e: std::io::Error| Error::bad(format!("{}: {e}", dir.display()));
        for folder in store::newest(dir).map_err(at)? {
            let read =
                |e: std::io::Error| Error::bad(format!("{}: not a results folder: {e}", folder.display()));
            all.push(store::load(&folder).map_err(read)?);
        }
    }
    if all.is_empty() {
        let dirs: Vec<_> = dirs.iter().map(|d| d.display().to_string()).collect();
        return Err(Error::bad(format!("{}: no results there; `kneepoint run` makes some", dirs.join(", "))));
    }
    Ok(all)
}

fn show_ledger(args: &LedgerArgs) -> Result<u8, Error> {
    let all = load(&args.dirs)?;
    let sources = ledger::of(all.iter().map(|results| &results.summary));
    let table = ledger::markdown(&sources);
    if let Some(file) = &args.check {
        let text =
            std::fs::read_to_string(file).map_err(|e| Error::bad(format!("{}: {e}", file.display())))?;
        if !text.contains(&table) {
            let words = "does not hold the ledger of these results";
            eprintln!("kneepoint: {} {words}, which is:\n{table}", file.display());
            return Ok(MISS);
        }
    }
    let columns = |metric: &String| ledger::columns(&sources, metric);
    print(&match (args.markdown, args.json) {
        (true, _) => table,
        (_, true) => serde_json::to_string_pretty(&sources).map_err(Error::bad)? + "\n",
        _ => ledger::text(&sources) + &args.columns.as_ref().map_or_else(String::new, columns),
    });
    Ok(HOLDS)
}

fn prose(dirs: &[PathBuf]) -> Result<u8, Error> {
    let origins = numbers::register().map_err(Error::bad)?;
    let results = if dirs.is_empty() { Vec::new() } else { load(dirs)? };
    let mut wrong = Vec::new();
    for source in Library.shipped() {
        let exp = Experiment::parse(&source.name, &source.file, &source.text).map_err(Error::bad)?;
        wrong.extend(numbers::compare(&exp, &origins));
        if let Some(own) = results.iter().find(|r| r.summary.experiment == exp.name) {
            let hugged = numbers::hugged(&exp, &own.summary);
            wrong.extend(
                hugged.iter().map(|(id, bound)| format!("{} {id}: {bound} is our own number", exp.name)),
            );
        }
        for (by, known) in origins.get(&exp.name).into_iter().flatten() {
            let list: Vec<&str> = known.iter().map(String::as_str).collect();
            print(&format!("{:32} {by}: {}\n", exp.name, list.join(" ")));
            let run = results.iter().find(|r| numbers::printed_by(by) == Some(r.summary.experiment.as_str()));
            let stale = run.map_or_else(Vec::new, |run| numbers::stale(known, &run.summary));
            wrong.extend(stale.iter().map(|n| format!("{}: {n} is not printed by `{by}`", exp.name)));
        }
    }
    let sources = ledger::of(results.iter().map(|run| &run.summary));
    let columns = || sources.iter().flat_map(|source| &source.columns);
    for (page, by, known) in numbers::of_pages(&origins) {
        let list: Vec<&str> = known.iter().map(String::as_str).collect();
        print(&format!("{page:32} {by}: {}\n", list.join(" ")));
        let stale = numbers::stale_of_ledger(by, known, columns());
        wrong.extend(stale.iter().map(|n| format!("{page}: {n} is not printed by `{by}`")));
    }
    wrong.iter().for_each(|line| eprintln!("kneepoint: {line}"));
    Ok(if wrong.is_empty() { HOLDS } else { MISS })
}

fn write_report(dirs: &[PathBuf], out: &std::path::Path) -> Result<u8, Error> {
    let all = load(dirs)?;
    let page = report::write(out, "Kneepoint", &all)
        .map_err(|e| Error::bad(format!("cannot write the report to {}: {e}", out.display())))?;
    print(&conclusion(&all));
    print(&format!("report: {}\n", page.display()));
    Ok(HOLDS)
}

fn analyse(args: &StabilityArgs) -> Result<u8, Error> {
    if let Some(curves) = args.curves().map_err(Error::bad)? {
        return numbers(args, "dccc penalty", &curves.table(), &[("penalty.csv", curves.csv())]);
    }
    if let (Some(file), Some(network)) = (&args.network, args.network().map_err(Error::bad)?) {
        let stem = file.file_stem().unwrap_or_default().to_string_lossy();
        let mut files = vec![("eigenvalues.csv", network.eigenvalues())];
        files.extend(network.moments().map(|moments| ("passivity.csv", moments)));
        let said = if args.json {
            serde_json::to_string_pretty(&network).map_err(Error::bad)? + "\n"
        } else {
            network.text()
        };
        return numbers(args, &format!("dccc network {stem}"), &said, &files);
    }
    let (mut analysis, case) =
        (args.setting().map_err(Error::bad)?.analyse(), args.case().map_err(Error::bad)?);
    let mut dir = PathBuf::from("results/stability").join(slug(&[analysis.name()]));
    dir.extend(case.iter().map(|case| slug(&[case.name()])));
    let dir = args.out.clone().unwrap_or(dir);
    analysis.simulation = case.and_then(|case| case.run(&Watch::default()));
    let page = report::write_stability(&dir, &analysis)
        .map_err(|e| Error::bad(format!("cannot write the page to {}: {e}", dir.display())))?;
    if args.json {
        print(&(serde_json::to_string_pretty(&analysis).map_err(Error::bad)? + "\n"));
    } else {
        print(&stability::text::table(&analysis));
        print(&format!("page: {}\n", page.display()));
    }
    Ok(HOLDS)
}

/// Prints, and writes numbers to a folder.
fn numbers(args: &StabilityArgs, name: &str, said: &str, files: &[(&str, String)]) -> Result<u8, Error> {
    let dir = PathBuf::from("results/stability").join(slug(&[name.to_owned()]));
    let dir = args.out.clone().unwrap_or(dir);
    report::write_numbers(&dir, files)
        .map_err(|e| Error::bad(format!("cannot write the numbers to {}: {e}", dir.display())))?;
    print(said);
    if !args.json {
        let names: Vec<_> = files.iter().map(|(name, _)| dir.join(name).display().to_string()).collect();
        print(&format!("numbers: {}\n", names.join(", ")));
    }
    Ok(HOLDS)
}

fn benchmark(tries: u32, json: bool) -> Result<u8, Error> {
    let mut figures = Vec::new();
    for case in bench::cases() {
        let Some(figure) = bench::measure(&case, tries) else { continue };
        if !json {
            print(&format!(
                "{:32} {:>9} packets  {:>6.2} s CPU  {:>5.2} million packets per CPU second\n",
                figure.case,
                figure.packets,
                figure.cpu_seconds,
                figure.packets_per_cpu_second * 1e-6
            ));
        }
        figures.push(figure);
    }
    if json {
        print(&(serde_json::to_string_pretty(&figures).map_err(Error::bad)? + "\n"));
    }
    Ok(HOLDS)
}

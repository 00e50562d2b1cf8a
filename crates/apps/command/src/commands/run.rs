//! `ackclock run`: runs experiments, prints their tables and judges their claims.

use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

use clap::{ArgAction, Args};
use serde::Serialize;
use units::Bytes;

use crate::commands::arguments;
use crate::commands::folders::slug;
use crate::commands::sources;
use crate::commands::worlds::{backends, stacks, worlds};
use crate::interrupt;
use crate::output::tell;
use crate::places;
use crate::progress::{Bar, waiting};
use crate::status::{Error, HOLDS, MISS, complain, print, width};
use experiment::file::Experiment;
use experiment::place::Place;
use report::terminal::{self, brief, first, lines::Lines};
use results::ledger::Claims;
use results::qlog::Format;
use results::summary::{Results, Summary};
use study::{Options, Selection, Shard, Study};

/// Largest number of threads: more than any machine has cores.
const MAX_JOBS: usize = 256;

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// Experiments to run: shipped names (`quic-dc/table-1`), prefixes of names (`quic-dc`), files
    /// or folders.
    ///
    /// `-` reads a file from standard input. `ackclock list` shows the shipped names.
    #[arg(required = true)]
    experiments: Vec<String>,
    /// Choose where the experiments run.
    #[arg(long, default_value = Place::SIM.word(), value_parser = worlds(&Place::WORLDS, Place::doc))]
    on: Place,
    /// Choose the QUIC implementations to run, separated by commas.
    ///
    /// Each stack gets its own rows. Example: `--stack noq,quinn,ackclock`. The default is Ackclock's
    /// own endpoints.
    ///
    /// With --on stack, aioquic runs in Python: `python3`, or the program that ACKCLOCK_PYTHON
    /// names.
    ///
    /// With --on wire, other stacks run as processes with their own controllers. `ackclock` runs our
    /// QUIC endpoints and, for TCP flows, the kernel's TCP; `linux-tcp` is the same. If a stack is
    /// not installed, the message names the command that installs it.
    #[arg(long = "stack", value_name = "STACKS", value_delimiter = ',', value_parser = stacks(&[Place::STACK, Place::WIRE, Place::KERNEL]))]
    stacks: Vec<String>,
    /// Change a value in every experiment, as in `--set link.rate=20Mbit/s` (repeatable).
    #[arg(long = "set", value_name = "KEY=VALUE")]
    sets: Vec<String>,
    /// Keep the published values, claims and reasons next to runs changed by --set.
    ///
    /// Use this to test a hypothesis about the network of the source.
    #[arg(long, requires = "sets")]
    keep_published: bool,
    /// Replace the file's controllers with this one (repeatable).
    ///
    /// Give a name, as in `--controller bbr3`, or a TOML table with parameters, as in
    /// `--controller '{ name = "nada", rmax = "1.7 Mbit/s" }'`.
    ///
    /// The file must have exactly one list of controllers in [vary] (as in rfc8867) or one axis
    /// that sets them (as in quic-dc). Recorded reasons for failing claims are ignored.
    #[arg(long = "controller", value_name = "CONTROLLER")]
    controllers: Vec<String>,
    /// Set the seed of the first repetition.
    ///
    /// Every further repetition adds 1.
    #[arg(long, allow_negative_numbers = true, value_parser = arguments::seed)]
    seed: Option<u64>,
    /// Set the number of repetitions of each case.
    #[arg(long, allow_negative_numbers = true, value_parser = arguments::repetitions)]
    repeat: Option<u32>,
    /// Set the number of simulations that run in parallel.
    ///
    /// The default is one for each core. An empty value means the default.
    #[arg(long)]
    jobs: Option<Jobs>,
    /// Write results to this folder.
    #[arg(long, default_value = "results")]
    out: PathBuf,
    /// Write a qlog file for each end of every flow (JSON-SEQ).
    ///
    /// The files take about 960 bytes for each packet of each run.
    ///
    /// FORMAT is `0.3` (for qvis) or `current` (the newest drafts, for Cloudflare's qlog crate).
    /// `gzip`, alone or after a comma, compresses the files to about a tenth.
    #[arg(
        long,
        value_name = "FORMAT",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "0.3"
    )]
    qlog: Option<Format>,
    /// Limit the disk space of time series and qlog files.
    ///
    /// The size is estimated before the first run.
    #[arg(long, value_name = "SIZE", default_value = "10 GB")]
    max_disk: Bytes,
    /// Capture the traffic of every run on the wire at both ends (pcapng, for Wireshark).
    #[arg(long)]
    pcap: bool,
    /// Recompute everything, even if results exist.
    #[arg(long)]
    fresh: bool,
    /// Run only part K of N, as in `--shard 3/16`.
    ///
    /// The parts may run on different machines with the same program. A part that finds the runs of
    /// all other parts under --out completes the study.
    #[arg(long, value_name = "K/N", conflicts_with_all = ["qlog", "pcap"])]
    shard: Option<Shard>,
    /// Print a table and the claims of each experiment.
    ///
    /// Give -vv for every variant, number and reason.
    #[arg(short, long, action = ArgAction::Count)]
    verbose: u8,
    /// Print the summaries as JSON instead of tables.
    ///
    /// Each has the `experiment`, its `id` and the `path` of its results folder.
    #[arg(long)]
    json: bool,
}

/// Value of `--jobs`; `None` if it is empty, as batch systems leave an unset variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Jobs(Option<usize>);

impl FromStr for Jobs {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.trim() {
            "" => Ok(Self(None)),
            number => number.parse().map(|jobs| Self(Some(jobs))).map_err(|_| {
                format!("`{number}` is not a number of jobs; write a number of at least 1, like --jobs 4")
            }),
        }
    }
}

/// A summary as `--json` prints it.
#[derive(Serialize)]
struct Printed<'a> {
    id: String,
    /// The results folder.
    path: PathBuf,
    #[serde(flatten)]
    summary: &'a Summary,
}

/// Returns the backends that the arguments select.
///
/// # Errors
/// A backend that does not fit the other arguments.
fn wanted(args: &RunArgs) -> Result<Vec<Place>, Error> {
    let backends = backends(args.on, &args.stacks)?;
    if args.qlog.is_some() && backends.contains(&Place::AIOQUIC) {
        let why = "--qlog: aioquic runs its own controller, and nothing of it is known; use another --stack";
        return Err(Error::bad(why));
    }
    Ok(backends)
}

/// Runs the experiments. Returns the exit status.
pub(crate) fn run(args: &RunArgs) -> Result<u8, Error> {
    let is_emulated = [Place::WIRE, Place::KERNEL].contains(&args.on);
    if args.pcap && !is_emulated {
        return Err(Error::bad("--pcap: the simulator has no packets to capture; use --on wire"));
    }
    if is_emulated {
        places::prepare_wire()?;
    }
    let pool = match args.jobs.and_then(|jobs| jobs.0) {
        Some(0) => return Err(Error::bad("--jobs 0: must be at least 1")),
        Some(jobs) => {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(jobs.min(MAX_JOBS)).build();
            Some(Arc::new(pool.map_err(Error::bad)?))
        }
        None => None,
    };
    let options = Options { pool, ..options(args, wanted(args)?) };
    let experiments = waiting("reading", || {
        let experiments = fitting(read(args)?, &options)?;
        check_disk(&experiments, args, &options).map(|()| experiments)
    })?;
    let watch = interrupt::watch()?;
    let (mut all, mut paths, mut notes) = (Vec::new(), Vec::new(), brief::Notes::new());
    let shown = Bar::default();
    for study in study::experiments(&together(&experiments), &experiments, &options, (&shown, &watch))? {
        let (results, folder) = match study {
            Study::Complete(results, folder, _) => (*results, folder),
            Study::Part(name, done, all) => {
                tell(&format!("{name}: {done} of {all} runs are done; the other parts make the rest"));
                continue;
            }
        };
        if !args.json && args.verbose > 0 {
            print(&details(&results.summary, args.verbose, &mut notes));
            print(&format!("results: {}\n", folder.display()));
        }
        all.push(results);
        paths.push(folder);
    }
    if all.is_empty() {
        if args.json {
            print("[]\n");
        }
        return Ok(HOLDS);
    }
    let dir = args.out.join("report").join(slug(&args.experiments));
    let page = report::write(&dir, &args.experiments.join(", "), &all)
        .map_err(|e| Error::bad(format!("cannot write the report to {}: {e}", dir.display())))?;
    if args.json {
        let summaries: Vec<Printed<'_>> = all
            .iter()
            .zip(paths)
            .map(|(results, path)| Printed { id: questions::id(&path), path, summary: &results.summary })
            .collect();
        print(&(serde_json::to_string_pretty(&summaries).map_err(Error::bad)? + "\n"));
    } else {
        print(&ending(args, &all));
        print(&format!("results: {}\nreport: {}\n", args.out.display(), page.display()));
    }
    Ok(if unexplained(&all) > 0 { MISS } else { HOLDS })
}

fn options(args: &RunArgs, backends: Vec<Place>) -> Options {
    Options {
        qlog: args.qlog,
        pcap: args.pcap,
        world: args.on,
        backends,
        fresh: args.fresh,
        runs: args.shard.map_or(Selection::All, Selection::Shard),
        ..places::simulate(args.out.clone())
    }
}

/// Formats one experiment, in as much detail as `-v` asks for.
fn details(summary: &Summary, verbose: u8, notes: &mut brief::Notes) -> String {
    if verbose == 1 { brief::text(summary, notes, width()) } else { terminal::text(summary) }
}

/// Formats the end of the output: the first screen, and the verdicts of all claims.
fn ending(args: &RunArgs, all: &[Results]) -> String {
    if args.verbose > 1 {
        return conclusion(all);
    }
    let summaries: Vec<&Summary> = all.iter().map(|results| &results.summary).collect();
    let mut out = Lines::new(width());
    conclusion(all).lines().for_each(|line| out.put("", line));
    let names = args.experiments.join(", ");
    let screen = if args.verbose == 1 { first::rest } else { first::text };
    screen(&names, &summaries, width()) + &out.into_text()
}

/// Returns the name of the experiments in progress messages.
fn together(experiments: &[Experiment]) -> String {
    match experiments {
        [one] => one.name.clone(),
        all => format!("{} experiments", all.len()),
    }
}

/// Checks the estimated size of time series and qlog files, and reports that of the qlog files.
///
/// # Errors
/// Files that would be larger than `--max-disk`.
fn check_disk(experiments: &[Experiment], args: &RunArgs, options: &Options) -> Result<(), Error> {
    let (mut series, mut logs) = (0u64, 0u64);
    for experiment in experiments {
        let bytes = study::recorded_bytes(experiment, options)?;
        series = series.saturating_add(bytes.series.0);
        logs = logs.saturating_add(bytes.qlog.0);
    }
    let all = series.saturating_add(logs);
    if all > args.max_disk.0 {
        let (about, enough) = (rounded_up(all), rounded_up(all).0.div_ceil(1_000_000_000));
        let smaller = match args.qlog {
            _ if series > logs => ", or set `series` to a longer interval or \"off\"",
            Some(format) if !format.gzip => ", or compress the files to about a tenth with --qlog=gzip",
            _ => "",
        };
        let what = if series > logs { "the time series" } else { "--qlog" };
        return Err(Error::bad(format!(
            "{what} would take about {about} of disk, more than the limit of {}; allow it with --max-disk {enough}GB{smaller}",
            args.max_disk
        )));
    }
    if args.qlog.is_some() {
        complain(&format!("--qlog will write about {}", rounded_up(logs)));
    }
    Ok(())
}

/// Rounds an estimate up to two digits.
fn rounded_up(bytes: u64) -> Bytes {
    let digit = 10u64.pow(bytes.checked_ilog10().unwrap_or(0).saturating_sub(1));
    Bytes(bytes.div_ceil(digit).saturating_mul(digit))
}

/// Returns the experiments that can run in this world, and reports those that cannot.
///
/// # Errors
/// Experiments of which none can run.
fn fitting(experiments: Vec<Experiment>, options: &Options) -> Result<Vec<Experiment>, Error> {
    let (mut fit, mut unfit) = (Vec::new(), Vec::new());
    for experiment in experiments {
        match study::check(&experiment, options) {
            Ok(()) => fit.push(experiment),
            Err(why) => unfit.push(Error::from(why)),
        }
    }
    if fit.is_empty() {
        return unfit.into_iter().next().map_or(Ok(fit), Err);
    }
    unfit.iter().for_each(|why| complain(&format!("skipped: {}", why.message)));
    Ok(fit)
}

/// Reads the experiments that the arguments name, with their changes. All are checked before the
/// first one runs.
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
    sources::read(&args.experiments, |source| {
        let mut experiment = sources::parsed(&source)?;
        if !args.controllers.is_empty() {
            experiment = experiment.with_controllers(&args.controllers)?;
        }
        let changed = !sets.is_empty();
        Ok(if changed { experiment.with_overrides(&sets, args.keep_published)? } else { experiment })
    })
}

/// Formats a number with the verb for one or for several.
fn counted(number: usize, [one, several]: [&str; 2]) -> String {
    format!("{number} {}", if number == 1 { one } else { several })
}

fn unexplained(all: &[Results]) -> usize {
    all.iter().flat_map(|r| &r.summary.claims).filter(|claim| claim.is_unexplained()).count()
}

/// Counts the verdicts of all claims, in a few lines.
pub(crate) fn conclusion(all: &[Results]) -> String {
    let line = |ours: bool, whose: &str| {
        let claims = all.iter().flat_map(|r| &r.summary.claims).filter(|claim| claim.ours == ours);
        let counts = Claims::count(claims);
        if counts.all() == 0 {
            return String::new();
        }
        format!(
            "{whose}: {}, {}, {} within the spread, {}, {} not judged\n",
            counted(counts.holds, ["holds", "hold"]),
            counted(counts.partly, ["holds partly", "hold partly"]),
            counts.within_spread,
            counted(counts.missed, ["fails", "fail"]),
            counts.not_judged,
        )
    };
    let lines = line(false, "claims of the source") + &line(true, "claims of our own");
    if lines.is_empty() {
        return "\nno claims to judge\n".to_owned();
    }
    let bare = match unexplained(all) {
        0 => String::new(),
        1 => "1 claim fails or lacks a value, and has no recorded reason (marked !)\n".to_owned(),
        number => {
            format!("{number} claims fail or lack a value, and have no recorded reason (marked !)\n")
        }
    };
    format!("\n{lines}{bare}")
}

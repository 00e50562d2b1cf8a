//! `ackclock run`: experiments, their tables, their claims.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use clap::{ArgAction, Args};
use scenario::Watch;
use units::Bytes;

use crate::commands::folders::slug;
use crate::commands::sources;
use crate::commands::worlds::{backends, stacks, worlds};
use crate::output::tell;
use crate::run::{self, Options, Shard, Study};
use crate::status::{Error, HOLDS, MISS, complain, print, width};
use experiment::backend::Backend;
use experiment::file::Experiment;
use report::terminal::{self, brief, first, lines::Lines};
use results::qlog::Format;
use results::summary::{ClaimResult, Results, Summary, Verdict};

/// Threads at most: more than any machine has cores for.
const MAX_JOBS: usize = 256;

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// Shipped names (`quic-dc/table-1`), prefixes of them (`quic-dc`), files or folders; `-` is a file on standard input.
    #[arg(required = true)]
    experiments: Vec<String>,
    /// The world to run in.
    #[arg(long, default_value = Backend::Sim.word(), value_parser = worlds(&Backend::WORLDS))]
    on: Backend,
    /// With --on stack: whose QUIC, one or several, each with rows of its own: `--stack noq,quinn,ackclock`. Ours if not given. aioquic is
    /// Python's, and is run by `python3`, or what ACKCLOCK_PYTHON names. With --on wire: whose processes, with their own controllers; what is not
    /// installed is told with the command that installs it; ackclock is our endpoints and, of flows of TCP, the kernel, as is linux-tcp.
    #[arg(long = "stack", value_name = "STACKS", value_delimiter = ',', value_parser = stacks(&[Backend::Stack, Backend::Wire]))]
    stacks: Vec<String>,
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
    /// Write qlogs of both ends of every flow (JSON-SEQ): some 700 bytes for each packet of each run. `0.3` is what qvis loads, `current`
    /// what the drafts of today say and Cloudflare's qlog reads; `gzip` after a comma, or alone, compresses the files to a tenth.
    #[arg(
        long,
        value_name = "FORMAT",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "0.3"
    )]
    qlog: Option<Format>,
    /// Refuse to write more time series and qlogs than this, by an estimate before the first run.
    #[arg(long, value_name = "SIZE", default_value = "10 GB")]
    max_disk: Bytes,
    /// Write the traffic of every run on the wire at both ends (pcapng, for Wireshark).
    #[arg(long)]
    pcap: bool,
    /// Compute everything again, also what is there already.
    #[arg(long)]
    fresh: bool,
    /// Only a part of the runs, the third of sixteen: `--shard 3/16`. Parts may run anywhere with the same program; the one that finds
    /// the others' runs under --out finishes the study.
    #[arg(long, value_name = "K/N", conflicts_with_all = ["qlog", "pcap"])]
    shard: Option<Shard>,
    /// More: a table and the claims of each experiment; twice for every variant, number and reason.
    #[arg(short, long, action = ArgAction::Count)]
    verbose: u8,
    /// Print the summaries as JSON instead of tables.
    #[arg(long)]
    json: bool,
}

/// Whose QUIC is asked for.
///
/// # Errors
/// One that does not go with the other arguments.
fn wanted(args: &RunArgs) -> Result<Vec<Backend>, Error> {
    let backends = backends(args.on, &args.stacks)?;
    let shows_none = |backend: &Backend| backend.world() == Backend::Stack && *backend != Backend::Stack;
    if args.qlog.is_some() && backends.iter().any(shows_none) {
        let why = "--qlog: other stacks do not show their packets; it goes with --stack ackclock";
        return Err(Error::bad(why));
    }
    Ok(backends)
}

/// Runs the experiments; the exit status.
pub(crate) fn run(args: &RunArgs) -> Result<u8, Error> {
    if args.pcap && args.on != Backend::Wire {
        return Err(Error::bad("--pcap: the simulator has no packets to write; it goes with --on wire"));
    }
    if args.on == Backend::Wire {
        run::prepare_wire()?;
    }
    if let Some(jobs) = args.jobs {
        if jobs == 0 {
            return Err(Error::bad("--jobs 0: at least one run at a time"));
        }
        rayon::ThreadPoolBuilder::new().num_threads(jobs.min(MAX_JOBS)).build_global().map_err(Error::bad)?;
    }
    let backends = wanted(args)?;
    let experiments = fitting(read(args)?, args.on, &backends)?;
    check_disk(&experiments, args, &backends)?;
    let watch = Arc::new(Watch::default());
    let handler = Arc::clone(&watch);
    ctrlc::set_handler(move || handler.stop.store(true, Ordering::Relaxed)).map_err(Error::bad)?;
    let options = options(args, backends);
    let (mut all, mut notes) = (Vec::new(), brief::Notes::new());
    for study in run::experiments(&together(&experiments), &experiments, &options, &watch)? {
        let (results, folder) = match study {
            Study::Complete(results, folder, _) => (*results, folder),
            Study::Part(name, done, all) => {
                tell(&format!("{name}: {done} of {all} runs are there; the other parts make the rest"));
                continue;
            }
        };
        if !args.json && args.verbose > 0 {
            print(&told(&results.summary, args.verbose, &mut notes));
            print(&format!("results: {}\n", folder.display()));
        }
        all.push(results);
    }
    if all.is_empty() {
        return Ok(HOLDS);
    }
    let dir = args.out.join("report").join(slug(&args.experiments));
    let page = report::write(&dir, &args.experiments.join(", "), &all)
        .map_err(|e| Error::bad(format!("cannot write the report to {}: {e}", dir.display())))?;
    if args.json {
        let summaries: Vec<_> = all.iter().map(|r| &r.summary).collect();
        print(&(serde_json::to_string_pretty(&summaries).map_err(Error::bad)? + "\n"));
    } else {
        print(&ending(args, &all));
        print(&format!("results: {}\nreport: {}\n", args.out.display(), page.display()));
    }
    Ok(if unexplained(&all) > 0 { MISS } else { HOLDS })
}

fn options(args: &RunArgs, backends: Vec<Backend>) -> Options {
    Options {
        out: args.out.clone(),
        qlog: args.qlog,
        pcap: args.pcap,
        world: args.on,
        backends,
        fresh: args.fresh,
        shard: args.shard,
    }
}

/// One experiment, as much of it as is asked for.
fn told(summary: &Summary, verbose: u8, notes: &mut brief::Notes) -> String {
    if verbose == 1 { brief::text(summary, notes, width()) } else { terminal::text(summary) }
}

/// What it comes to: the first screen, and what became of all claims.
fn ending(args: &RunArgs, all: &[Results]) -> String {
    if args.verbose > 1 {
        return conclusion(all);
    }
    let summaries: Vec<&Summary> = all.iter().map(|results| &results.summary).collect();
    let mut out = Lines::new(width());
    conclusion(all).lines().for_each(|line| out.put("", line));
    let asked = args.experiments.join(", ");
    let screen = if args.verbose == 1 { first::rest } else { first::text };
    screen(&asked, &summaries, width()) + &out.into_text()
}

/// What experiments are called together while they run.
fn together(experiments: &[Experiment]) -> String {
    match experiments {
        [one] => one.name.clone(),
        all => format!("{} experiments", all.len()),
    }
}

/// Says how large the qlogs will be.
///
/// # Errors
/// When they, and the time series, are more than is allowed.
fn check_disk(experiments: &[Experiment], args: &RunArgs, backends: &[Backend]) -> Result<(), Error> {
    let (mut series, mut logs) = (0u64, 0u64);
    for experiment in experiments {
        let bytes = run::recorded_bytes(experiment, (args.on, backends), args.qlog)?;
        series = series.saturating_add(bytes.series.0);
        logs = logs.saturating_add(bytes.qlog.0);
    }
    let all = series.saturating_add(logs);
    if all > args.max_disk.0 {
        let (about, enough) = (rounded_up(all), rounded_up(all).0.div_ceil(1_000_000_000));
        let smaller = match args.qlog {
            _ if series > logs => "; or make `series` longer, or \"off\"",
            Some(format) if !format.gzip => "; a tenth of it with `gzip` in --qlog",
            _ => "",
        };
        let what = if series > logs { "the time series" } else { "--qlog" };
        return Err(Error::bad(format!(
            "{what} would take some {about} of disk, more than {}; allow it with --max-disk {enough}GB{smaller}",
            args.max_disk
        )));
    }
    if args.qlog.is_some() {
        complain(&format!("--qlog writes some {}", rounded_up(logs)));
    }
    Ok(())
}

/// To two digits, as an estimate should be.
fn rounded_up(bytes: u64) -> Bytes {
    let digit = 10u64.pow(bytes.checked_ilog10().unwrap_or(0).saturating_sub(1));
    Bytes(bytes.div_ceil(digit).saturating_mul(digit))
}

/// Those that can run in this world. Where several are named, the others are left out with a word; where none can, that is
/// an error.
fn fitting(
    experiments: Vec<Experiment>,
    world: Backend,
    backends: &[Backend],
) -> Result<Vec<Experiment>, Error> {
    let (mut fit, mut unfit) = (Vec::new(), Vec::new());
    for experiment in experiments {
        match run::check(&experiment, world, backends) {
            Ok(()) => fit.push(experiment),
            Err(why) => unfit.push(Error::from(why)),
        }
    }
    if fit.is_empty() {
        return unfit.into_iter().next().map_or(Ok(fit), Err);
    }
    unfit.iter().for_each(|why| complain(&format!("left out: {}", why.message)));
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
    sources::read(&args.experiments, |source| {
        let mut experiment = Experiment::parse(&source.name, &source.file, &source.text)?;
        if !args.controllers.is_empty() {
            experiment = experiment.with_controllers(&args.controllers)?;
        }
        let changed = !sets.is_empty();
        Ok(if changed { experiment.with_overrides(&sets, args.keep_published)? } else { experiment })
    })
}

fn claims(all: &[Results]) -> impl Iterator<Item = &ClaimResult> {
    all.iter().flat_map(|r| &r.summary.claims)
}

fn unexplained(all: &[Results]) -> usize {
    claims(all).filter(|claim| claim.is_unexplained()).count()
}

/// What became of all claims.
pub(crate) fn conclusion(all: &[Results]) -> String {
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

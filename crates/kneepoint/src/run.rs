//! Runs experiments: every case times every repetition, then measures, judges and stores. Simulations run on all cores;
//! on the wire one run follows the other.

mod disk;
mod files;
mod memory;
#[cfg_attr(not(wire), path = "run/no_wire.rs")]
mod on_wire;
mod progress;

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::OnceLock;

use rayon::prelude::*;
use scenario::{FlowConfig, Histogram, Outcome, Scenario, Watch};
use units::Bytes;

use crate::output::tell;
use experiment::backend::Backend;
use experiment::diagnostic::Diagnostic;
use experiment::file::{Case, Experiment};
use results::judge;
use results::measure;
use results::network::Network;
use results::qlog;
use results::store::{self, Done, Folder, Manifest, ManifestCase, RunRow, Runs};
use results::summary::{Cdf, FlowRow, Results, Summary, Track};

pub(crate) use self::disk::qlog_bytes;
pub(crate) use self::on_wire::prepare as prepare_wire;
use self::progress::Progress;
pub(crate) use self::progress::waiting;

/// Points of a stored distribution at most: finer than any chart shows.
const CDF_POINTS: usize = 500;

/// How to run.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where results folders go.
    pub out: PathBuf,
    /// Write qlogs of every flow, in this format.
    pub qlog: Option<qlog::Format>,
    /// Write the traffic of each run on the wire.
    pub pcap: bool,
    /// Where the runs take place.
    pub world: Backend,
    /// Compute what is there already.
    pub fresh: bool,
    /// Only a part of the runs: the `k`-th of `n`, from 1.
    pub shard: Option<Shard>,
    /// What runs may keep in memory until they are stored.
    pub max_memory: Bytes,
}

impl Options {
    /// Simulations, into this folder.
    pub fn simulate(out: PathBuf) -> Self {
        let world = Backend::Sim;
        let max_memory = Bytes(4_000_000_000);
        Self { out, qlog: None, pcap: false, world, fresh: false, shard: None, max_memory }
    }
}

/// A part of a study: every `of`-th run, this the `number`-th, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    number: usize,
    of: usize,
}

impl FromStr for Shard {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text.split_once('/').map(|(k, n)| (k.trim().parse(), n.trim().parse()));
        match parts {
            Some((Ok(number), Ok(of))) if 1 <= number && number <= of => Ok(Self { number, of }),
            _ => Err("the third of sixteen parts is written 3/16".to_owned()),
        }
    }
}

/// How a study stands.
#[derive(Debug)]
pub enum Study {
    /// Its results, where they are, and whether they were there before.
    Complete(Box<Results>, PathBuf, bool),
    /// Of a part, how many of all runs are done now.
    Part(usize, usize),
}

/// What can go wrong once the experiment's file is accepted.
#[derive(Debug)]
pub enum Failure {
    /// The file, after all.
    Spec(Diagnostic),
    /// The results folder.
    Store(PathBuf, io::Error),
    /// The wire, in a sentence.
    Wire(String),
    /// More memory than is allowed.
    Memory(String),
    /// Ctrl-C; so many runs are kept.
    Interrupted(usize),
}

impl From<Diagnostic> for Failure {
    fn from(problem: Diagnostic) -> Self {
        Self::Spec(problem)
    }
}

/// One run to do.
#[derive(Clone, Copy)]
struct Job<'a> {
    case: &'a Case,
    repetition: u32,
    /// What names of the case's files begin with.
    stem: &'a str,
}

impl Job<'_> {
    /// The name of a file of its own.
    fn file(&self, what: &str) -> String {
        files::joined(&[self.stem, &format!("run{}", self.repetition), what])
    }
}

/// Runs one experiment and stores its results. What is there already is not run again: neither a study that was made before with the same
/// program, nor the runs of one that was interrupted or made in parts. `watch.stop` interrupts it.
///
/// # Errors
/// An experiment that cannot be run, a folder that cannot be written, an interruption: finished simulations are kept then, and nothing else.
pub fn experiment(exp: &Experiment, options: &Options, watch: &Watch) -> Result<Study, Failure> {
    let (cases, left_out) = cases(exp, options.world)?;
    let manifest = manifest(exp, &cases, options)?;
    let runs = Runs::of(&options.out, &manifest);
    if options.fresh {
        runs.discard();
    } else if let Some((results, folder)) = store::find(&options.out, &manifest) {
        return Ok(Study::Complete(Box::new(results), folder, true));
    }
    let store = |e| Failure::Store(options.out.join(&exp.name), e);
    let labels: Vec<[String; 2]> =
        cases.iter().map(|case| [case.variant.clone(), case.label().to_string()]).collect();
    let stems = files::stems(&labels);
    let jobs: Vec<Job<'_>> = cases
        .iter()
        .zip(&stems)
        .flat_map(|(case, stem)| (0..exp.repetitions).map(move |repetition| Job { case, repetition, stem }))
        .collect();
    memory::check(exp, &cases, options.max_memory)?;
    let folder = Folder::begin(&options.out, &manifest).map_err(store)?;
    let progress = Progress::new(&exp.name, jobs.len(), length_of(exp, &jobs), watch);
    let run = Run { exp, options, folder: folder.path(), progress: &progress, kept: &runs };
    let done = progress.during(|| run.all(&jobs))?;
    let Some(done) = done.into_iter().collect::<Option<Vec<Done>>>() else {
        return Ok(Study::Part(runs.count(jobs.len()), jobs.len()));
    };

    let rows: Vec<RunRow> = jobs.iter().zip(&done).map(|(job, done)| run_row(exp, job, done)).collect();
    let mut summary = judge::summary(exp, &cases, &rows, options.world);
    summary.note = [summary.note, left_out].join(" ").trim().to_owned();
    let network = |case: &Case| Network::of(&case.variant, &case.label(), &exp.scenario(case, 0));
    let networks = cases.iter().map(network).collect();
    let results = gather(summary, networks, &cases, exp.repetitions, done);
    folder.fill(&results, &rows, &exp.swept(&cases)).map_err(store)?;
    let path = folder.publish().map_err(store)?;
    runs.discard();
    Ok(Study::Complete(Box::new(results), path, false))
}

/// Whether there is anything in it for this world.
///
/// # Errors
/// Why there is not.
pub fn check(exp: &Experiment, world: Backend) -> Result<(), Failure> {
    cases(exp, world).map(drop)
}

/// The cases to run. For the wire those that can run there a second time, side by side; and which cannot, and why.
fn cases(exp: &Experiment, world: Backend) -> Result<(Vec<Case>, String), Failure> {
    match world {
        Backend::Sim => Ok((exp.cases(), String::new())),
        Backend::Wire => on_wire::cases(exp),
    }
}

fn manifest(exp: &Experiment, cases: &[Case], options: &Options) -> Result<Manifest, Diagnostic> {
    let case = |case: &Case| {
        let spec = exp.resolved(case, exp.seed)?;
        Ok(ManifestCase { variant: case.variant.clone(), row: case.label(), spec })
    };
    let world = options.world;
    let qlog = options.qlog.map(disk::recorded);
    let recording = qlog.into_iter().chain(options.pcap.then(|| "pcap".to_owned()));
    Ok(Manifest {
        experiment: exp.name.clone(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        commit: COMMIT.to_owned(),
        program: program(),
        reading: store::digest(exp.reading().as_bytes()),
        recording: recording.collect(),
        world,
        measured: (world == Backend::Wire).then(on_wire::here_and_now),
        seed: exp.seed,
        repetitions: exp.repetitions,
        case: cases.iter().map(case).collect::<Result<_, _>>()?,
    })
}

const COMMIT: &str = env!("KNEEPOINT_COMMIT");

/// The digest of this program, where its commit does not say what it does.
fn program() -> Option<String> {
    static DIGEST: OnceLock<Option<String>> = OnceLock::new();
    let is_said = COMMIT.chars().all(|c| c.is_ascii_hexdigit()) && !experiment::controllers::are_extended();
    let read = || Some(store::digest(&std::fs::read(std::env::current_exe().ok()?).ok()?));
    if is_said { None } else { DIGEST.get_or_init(read).clone() }
}

/// Nanoseconds of all runs together.
fn length_of(exp: &Experiment, jobs: &[Job<'_>]) -> u64 {
    let lengths = jobs.iter().map(|job| exp.scenario(job.case, job.repetition).duration.0);
    lengths.fold(0, u64::saturating_add)
}

/// What every run of an experiment needs.
struct Run<'a> {
    exp: &'a Experiment,
    options: &'a Options,
    folder: &'a Path,
    progress: &'a Progress<'a>,
    kept: &'a Runs,
}

impl Run<'_> {
    /// All of them, in the order of the jobs; `None` for those of other parts. Simulations come first: beside them nothing in real
    /// time would be valid.
    fn all(&self, jobs: &[Job<'_>]) -> Result<Vec<Option<Done>>, Failure> {
        let simulate = |(number, job): (usize, &Job<'_>)| match job.case.on {
            Backend::Sim => self.simulate(number, job),
            Backend::Wire => Ok(None),
        };
        let simulated = jobs.par_iter().enumerate().map(simulate).collect::<Result<Vec<_>, Failure>>();
        let simulated = simulated.map_err(|failure| match failure {
            Failure::Interrupted(_) => Failure::Interrupted(self.kept.count(jobs.len())),
            other => other,
        })?;
        let complete = |(job, done): (&Job<'_>, Option<Done>)| match job.case.on {
            Backend::Sim => Ok(done),
            Backend::Wire => {
                // In real time, and no bar to be seen: a line each.
                if self.progress.is_hidden() {
                    let (variant, row) = (&job.case.variant, job.case.label());
                    tell(&format!("measuring {variant} {row} run {}", job.repetition));
                }
                self.measure(job).map(Some)
            }
        };
        jobs.iter().zip(simulated).map(complete).collect()
    }

    fn scenario(&self, job: &Job<'_>) -> Scenario {
        Scenario { trace: self.options.qlog.is_some(), ..self.exp.scenario(job.case, job.repetition) }
    }

    /// The run of this number, which may be there already; `None` if it is another part's.
    fn simulate(&self, number: usize, job: &Job<'_>) -> Result<Option<Done>, Failure> {
        // What qlog records stands in files of its own; a measurement, and what is simulated beside it, is no other's.
        let keeps = self.options.qlog.is_none() && self.options.world == Backend::Sim;
        let scenario = self.scenario(job);
        let is_others = self.options.shard.is_some_and(|shard| number % shard.of != shard.number - 1);
        let known = self.kept.load(number).filter(|_| keeps);
        if known.is_some() || is_others {
            return Ok(self.progress.run(scenario.duration.0, |_| known));
        }
        let outcome = self.progress.run(scenario.duration.0, |watch| sim::run(&scenario, watch));
        let outcome = outcome.ok_or(Failure::Interrupted(0))?;
        let done = self.done(job, &scenario, &outcome)?;
        if keeps {
            self.kept.keep(number, &done).map_err(|e| self.store(e))?;
        }
        Ok(Some(done))
    }

    /// In real time.
    fn measure(&self, job: &Job<'_>) -> Result<Done, Failure> {
        let scenario = self.scenario(job);
        let pcap = match self.options.pcap {
            true => Some(self.in_folder("pcap", &(job.file("") + ".pcapng")).map_err(|e| self.store(e))?),
            false => None,
        };
        let (outcome, audit) = self
            .progress
            .run(scenario.duration.0, |watch| on_wire::run(&scenario, pcap.as_deref(), watch))?;
        let mut done = self.done(job, &scenario, &outcome)?;
        done.values.retain(|metric, _| on_wire::tells(metric));
        done.flows.iter_mut().for_each(|flow| flow.values.retain(|metric, _| on_wire::tells(metric)));
        Ok(Done { audit: Some(audit), ..done })
    }

    fn done(&self, job: &Job<'_>, scenario: &Scenario, outcome: &Outcome) -> Result<Done, Failure> {
        if let Some(format) = self.options.qlog {
            self.write_qlogs(format, job, scenario, outcome).map_err(|e| self.store(e))?;
        }
        Ok(Done {
            values: measure::measure(scenario, outcome, self.exp.groups()),
            flows: flow_rows(job, scenario, outcome),
            rtt: measure::rtt_of_all(&outcome.flows),
            tracks: tracks(job, outcome),
            audit: None,
        })
    }

    fn store(&self, error: io::Error) -> Failure {
        Failure::Store(self.options.out.join(&self.exp.name), error)
    }

    /// A file in a folder of the results folder.
    fn in_folder(&self, folder: &str, name: &str) -> io::Result<PathBuf> {
        let dir = self.folder.join(folder);
        std::fs::create_dir_all(&dir)?;
        Ok(dir.join(name))
    }

    fn write_qlogs(
        &self,
        format: qlog::Format,
        job: &Job<'_>,
        scenario: &Scenario,
        outcome: &Outcome,
    ) -> io::Result<()> {
        for (i, (flow, record)) in scenario.flows.iter().zip(&outcome.flows).enumerate() {
            let Some(trace) = &record.trace else { continue };
            let file = |end: &str| {
                let name = job.file(&format!("flow{i}{end}")) + format.extension();
                File::create(self.in_folder("qlog", &name)?)
            };
            let meta = qlog::Meta {
                title: self.exp.name.clone(),
                flow: flow.label.clone(),
                algorithm: flow.algorithm.name().to_owned(),
                transport: (&flow.transport).into(),
                seed: scenario.seed,
                start: flow.start,
            };
            qlog::write(file("")?, format, &meta, trace)?;
            // On the wire the receiver is the kernel's.
            if let Some(trace) = record.far_trace.as_ref().filter(|trace| !trace.is_empty()) {
                qlog::write_far(file("-receiver")?, format, &meta, trace)?;
            }
        }
        Ok(())
    }
}

fn run_row(exp: &Experiment, &Job { case, repetition, .. }: &Job<'_>, done: &Done) -> RunRow {
    RunRow {
        variant: case.variant.clone(),
        row: case.label(),
        repetition,
        seed: exp.seed + u64::from(repetition),
        values: done.values.clone(),
        audit: done.audit.clone(),
    }
}

fn flow_rows(job: &Job<'_>, scenario: &Scenario, outcome: &Outcome) -> Vec<FlowRow> {
    let &Job { case, repetition, .. } = job;
    let flows = scenario.flows.iter().zip(0..);
    let row = |(config, number): (&FlowConfig, u32)| FlowRow {
        variant: case.variant.clone(),
        row: case.label(),
        repetition,
        flow: number,
        label: config.group.clone(),
        algorithm: config.algorithm.name().to_owned(),
        values: measure::of_flow(scenario, outcome, number as usize),
    };
    flows.map(row).collect()
}

/// One track per flow.
fn tracks(&Job { case, repetition, .. }: &Job<'_>, outcome: &Outcome) -> Vec<Track> {
    let series = &outcome.series;
    let flows = series.flows.iter().zip(0..).map(|(flow, number)| {
        let mut columns: std::collections::BTreeMap<String, Vec<f64>> =
            flow.inner.iter().map(|(name, values)| ((*name).to_owned(), values.clone())).collect();
        for (name, values) in [
            ("cwnd_bytes", &flow.cwnd),
            ("bytes_in_flight", &flow.bytes_in_flight),
            ("smoothed_rtt_ms", &flow.smoothed_rtt_ms),
            ("latest_rtt_ms", &flow.latest_rtt_ms),
            ("goodput_mbit_s", &flow.goodput_mbit_s),
            ("media_mbit_s", &flow.media_mbit_s),
            ("owd_ms", &flow.owd_ms),
            ("queue_bytes", &series.backlog),
            ("drops", &series.drops),
            ("ping_ms", &series.probe_ms),
            ("udp_mbit_s", &series.udp_mbit_s),
        ] {
            if values.iter().any(|v| !v.is_nan()) {
                columns.insert(name.to_owned(), values.clone());
            }
        }
        let times = series.times.clone();
        Track { variant: case.variant.clone(), row: case.label(), repetition, flow: number, times, columns }
    });
    flows.collect()
}

/// Puts tracks and distributions together, in the order of the cases.
fn gather(
    summary: Summary,
    networks: Vec<Network>,
    cases: &[Case],
    repetitions: u32,
    done: Vec<Done>,
) -> Results {
    let mut rtt_cdf = Vec::new();
    let done = counted(done, repetitions.max(1) as usize);
    for (case, runs) in cases.iter().zip(&done) {
        let mut all = Histogram::default();
        runs.iter().for_each(|run| all.merge(&run.rtt));
        rtt_cdf.push(Cdf { variant: case.variant.clone(), row: case.label(), points: thinned(&all.cdf()) });
    }
    let (mut flows, mut series) = (Vec::new(), Vec::new());
    for run in done.into_iter().flatten() {
        flows.extend(run.flows);
        series.extend(run.tracks);
    }
    Results { summary, series, flows, rtt_cdf, networks }
}

/// The runs of each case, without those that are not valid, if there are others: as in its table.
fn counted(done: Vec<Done>, repetitions: usize) -> Vec<Vec<Done>> {
    let is_valid = |run: &Done| run.audit.as_ref().is_none_or(|audit| audit.invalid_reasons.is_empty());
    let mut done = done.into_iter();
    let mut cases = Vec::new();
    loop {
        let mut runs: Vec<Done> = done.by_ref().take(repetitions).collect();
        if runs.is_empty() {
            return cases;
        }
        if runs.iter().any(is_valid) {
            runs.retain(is_valid);
        }
        cases.push(runs);
    }
}

/// At most [`CDF_POINTS`], evenly over the list, the last one always.
fn thinned(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let step = points.len().div_ceil(CDF_POINTS).max(1);
    let last = points.len().saturating_sub(1);
    points.iter().enumerate().filter(|(i, _)| i % step == 0 || *i == last).map(|(_, p)| *p).collect()
}

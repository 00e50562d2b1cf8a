//! Runs experiments: every case times every repetition, then measures, judges and stores. Simulations run on all cores;
//! on the wire one run follows the other.

mod disk;
mod files;
mod memory;
#[cfg_attr(not(wire), path = "run/no_wire.rs")]
mod on_wire;
mod options;
mod progress;
mod recorder;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use rayon::prelude::*;
use scenario::{FlowConfig, Histogram, Outcome, Scenario, Watch};

use experiment::backend::Backend;
use experiment::diagnostic::Diagnostic;
use experiment::file::{Case, Experiment};
use results::judge;
use results::measure;
use results::network::Network;
use results::store::{self, Done, Folder, Manifest, ManifestCase, Recorded, RunRow, Runs};
use results::summary::{Cdf, FlowRow, Results, Summary};

pub(crate) use self::disk::qlog_bytes;
pub(crate) use self::on_wire::prepare as prepare_wire;
pub use self::options::{Failure, Options, Shard, Study};
use self::progress::Progress;
pub(crate) use self::progress::waiting;
use self::recorder::Recorder;

/// Points of a stored distribution at most: finer than any chart shows.
const CDF_POINTS: usize = 500;

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
    let store = |e| Failure::Store(options.out.join(&exp.name), e);
    let runs = runs(options, &manifest).map_err(store)?;
    if options.fresh {
        runs.discard();
    } else if let Some((results, folder)) = store::find(&options.out, &manifest) {
        return Ok(Study::Complete(Box::new(results), folder, true));
    }
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
    let run = Run { exp, options, folder: folder.path(), progress: &progress, runs: &runs };
    let done = progress.during(|| run.all(&jobs))?;
    let Some(done) = done.into_iter().collect::<Option<Vec<Done>>>() else {
        return Ok(Study::Part(runs.count(jobs.len()), jobs.len()));
    };

    let rows: Vec<RunRow> = jobs.iter().zip(&done).map(|(job, done)| run_row(exp, job, done)).collect();
    let mut summary = judge::summary(exp, &cases, &rows, options.world);
    summary.note = [summary.note, left_out].join(" ").trim().to_owned();
    let network = |case: &Case| Network::of(&case.variant, &case.label(), &exp.scenario(case, 0));
    let networks = cases.iter().map(network).collect();
    let done = counted(done, exp.repetitions.max(1) as usize);
    let mut results = gather(summary, networks, &cases, &done);
    let recorded: Vec<_> = done.into_iter().flatten().map(|(number, run)| (number, run.recorded)).collect();
    folder.fill(&mut results, &rows, (&runs, &recorded), &exp.swept(&cases)).map_err(store)?;
    let path = folder.publish().map_err(store)?;
    runs.discard();
    Ok(Study::Complete(Box::new(results), path, false))
}

/// Where the runs are kept until the study is complete. What qlog records stands in files of its own, and a measurement, with what is
/// simulated beside it, is no other's: those go with the process.
fn runs(options: &Options, manifest: &Manifest) -> io::Result<Runs> {
    let stay = options.qlog.is_none() && options.world == Backend::Sim;
    if stay { Ok(Runs::of(&options.out, manifest)) } else { Runs::passing(&options.out, manifest) }
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
    runs: &'a Runs,
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
            Failure::Interrupted(_) => Failure::Interrupted(self.runs.count(jobs.len())),
            other => other,
        })?;
        let complete = |((number, job), done): ((usize, &Job<'_>), Option<Done>)| match job.case.on {
            Backend::Sim => Ok(done),
            Backend::Wire => {
                // In real time, and no bar to be seen: a line each.
                if self.progress.is_hidden() {
                    eprintln!("measuring {} {} run {}", job.case.variant, job.case.label(), job.repetition);
                }
                self.measure(number, job).map(Some)
            }
        };
        jobs.iter().enumerate().zip(simulated).map(complete).collect()
    }

    fn scenario(&self, job: &Job<'_>) -> Scenario {
        Scenario { trace: self.options.qlog.is_some(), ..self.exp.scenario(job.case, job.repetition) }
    }

    /// The run of this number, which may be there already; `None` if it is another part's.
    fn simulate(&self, number: usize, job: &Job<'_>) -> Result<Option<Done>, Failure> {
        let scenario = self.scenario(job);
        let is_others = self.options.shard.is_some_and(|shard| !shard.has(number));
        let known = self.runs.load(number);
        if known.is_some() || is_others {
            return Ok(self.progress.run(scenario.duration.0, |_| known));
        }
        let simulated = self.progress.run(scenario.duration.0, |watch| {
            let mut recorder = Recorder::begin(self, job, &scenario, watch)?;
            let outcome = sim::run_recorded(&scenario, watch, &mut recorder);
            Ok((outcome, recorder.finish(number)))
        });
        let (outcome, recorded) = simulated.map_err(|e| self.store(e))?;
        // A disk that is full ends the run too.
        let recorded = recorded.map_err(|e| self.store(e))?;
        let outcome = outcome.ok_or(Failure::Interrupted(0))?;
        let done = self.done(job, &scenario, &outcome, recorded);
        self.runs.keep(number, &done).map_err(|e| self.store(e))?;
        Ok(Some(done))
    }

    /// In real time.
    fn measure(&self, number: usize, job: &Job<'_>) -> Result<Done, Failure> {
        let scenario = self.scenario(job);
        let pcap = match self.options.pcap {
            true => Some(self.in_folder("pcap", &(job.file("") + ".pcapng")).map_err(|e| self.store(e))?),
            false => None,
        };
        let (mut outcome, audit) = self
            .progress
            .run(scenario.duration.0, |watch| on_wire::run(&scenario, pcap.as_deref(), watch))?;
        let nobody = Watch::default();
        let mut recorder = Recorder::begin(self, job, &scenario, &nobody).map_err(|e| self.store(e))?;
        outcome.hand_over(&mut recorder);
        let recorded = recorder.finish(number).map_err(|e| self.store(e))?;
        let mut done = self.done(job, &scenario, &outcome, recorded);
        done.values.retain(|metric, _| on_wire::tells(metric));
        done.flows.iter_mut().for_each(|flow| flow.values.retain(|metric, _| on_wire::tells(metric)));
        Ok(Done { audit: Some(audit), ..done })
    }

    fn done(
        &self,
        job: &Job<'_>,
        scenario: &Scenario,
        outcome: &Outcome,
        recorded: Option<Recorded>,
    ) -> Done {
        Done {
            values: measure::measure(scenario, outcome, self.exp.groups()),
            flows: flow_rows(job, scenario, outcome),
            rtt: measure::rtt_of_all(&outcome.flows),
            recorded,
            audit: None,
        }
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

/// Puts flows and distributions together, in the order of the cases.
fn gather(summary: Summary, networks: Vec<Network>, cases: &[Case], done: &[Vec<(usize, Done)>]) -> Results {
    let mut rtt_cdf = Vec::new();
    for (case, runs) in cases.iter().zip(done) {
        let mut all = Histogram::default();
        runs.iter().for_each(|(_, run)| all.merge(&run.rtt));
        rtt_cdf.push(Cdf { variant: case.variant.clone(), row: case.label(), points: thinned(&all.cdf()) });
    }
    let flows = done.iter().flatten().flat_map(|(_, run)| run.flows.iter().cloned()).collect();
    Results { summary, series: Vec::new(), flows, rtt_cdf, networks }
}

/// The runs of each case with their numbers, without those that are not valid, if there are others: as in its table.
fn counted(done: Vec<Done>, repetitions: usize) -> Vec<Vec<(usize, Done)>> {
    let is_valid =
        |(_, run): &(usize, Done)| run.audit.as_ref().is_none_or(|audit| audit.invalid_reasons.is_empty());
    let mut done = done.into_iter().enumerate();
    let mut cases = Vec::new();
    loop {
        let mut runs: Vec<(usize, Done)> = done.by_ref().take(repetitions).collect();
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

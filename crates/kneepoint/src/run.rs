//! Runs experiments: every case times every repetition, on all cores, then measures, judges and stores.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use indicatif::{ProgressBar, ProgressStyle};
use rayon::prelude::*;
use sim::{FlowConfig, Histogram, Outcome, Record, Scenario, Watch};

use crate::judge;
use crate::measure::{self, Values};
use crate::problem::Problem;
use crate::qlog;
use crate::spec::{Case, Experiment};
use crate::store::{Folder, Manifest, ManifestCase, RunRow};
use crate::summary::{Cdf, FlowRow, Results, Summary, Track};

/// Points of a stored distribution at most: finer than any chart shows.
const CDF_POINTS: usize = 500;

/// How to run.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where results folders go.
    pub out: PathBuf,
    /// Write a qlog per flow.
    pub qlog: bool,
}

/// What can go wrong once the experiment's file is accepted.
#[derive(Debug)]
pub enum Failure {
    /// The file, after all.
    Spec(Problem),
    /// The results folder.
    Store(PathBuf, io::Error),
    /// Ctrl-C.
    Interrupted,
}

impl From<Problem> for Failure {
    fn from(problem: Problem) -> Self {
        Self::Spec(problem)
    }
}

/// One run, done.
struct Done {
    values: Values,
    flows: Vec<FlowRow>,
    rtt: Histogram,
    tracks: Vec<Track>,
}

/// Runs one experiment and stores its results; returns them and their folder. `watch.stop` interrupts it.
///
/// # Errors
/// An experiment that cannot be run, a folder that cannot be written, an interruption. Nothing is left behind then.
pub fn experiment(exp: &Experiment, options: &Options, watch: &Watch) -> Result<(Results, PathBuf), Failure> {
    let cases = exp.cases();
    let manifest = manifest(exp, &cases);
    let store = |e| Failure::Store(options.out.join(&exp.name), e);
    let folder = Folder::begin(&options.out, &manifest).map_err(store)?;
    let jobs: Vec<(&Case, u32)> = cases
        .iter()
        .flat_map(|case| (0..exp.repetitions).map(move |repetition| (case, repetition)))
        .collect();
    let bar = progress(&exp.name, jobs.len());
    let done = jobs
        .par_iter()
        .map(|&(case, repetition)| {
            let done = one(exp, case, repetition, options, folder.path(), watch)?;
            bar.inc(1);
            Ok(done)
        })
        .collect::<Result<Vec<Done>, Failure>>();
    bar.finish_and_clear();
    let done = done?;

    let rows: Vec<RunRow> = jobs.iter().zip(&done).map(|(job, done)| run_row(exp, job, done)).collect();
    let summary = judge::summary(exp, &cases, &rows);
    let results = gather(summary, &cases, exp.repetitions, done);
    folder.fill(&results, &rows).map_err(store)?;
    let path = folder.publish().map_err(store)?;
    Ok((results, path))
}

fn manifest(exp: &Experiment, cases: &[Case]) -> Manifest {
    let case = |case: &Case| {
        let spec = exp.expanded(case, exp.seed).parse().unwrap_or_default();
        ManifestCase { variant: case.variant.clone(), row: case.row.clone(), spec }
    };
    Manifest {
        experiment: exp.name.clone(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        commit: env!("KNEEPOINT_COMMIT").to_owned(),
        world: "sim".to_owned(),
        seed: exp.seed,
        repetitions: exp.repetitions,
        case: cases.iter().map(case).collect(),
    }
}

fn progress(name: &str, jobs: usize) -> ProgressBar {
    let style = ProgressStyle::with_template("{prefix:24} [{bar:40}] {pos}/{len} runs  {eta} left");
    let bar = ProgressBar::new(jobs as u64).with_prefix(name.to_owned());
    bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("=> "))
}

fn one(
    exp: &Experiment,
    case: &Case,
    repetition: u32,
    options: &Options,
    folder: &Path,
    watch: &Watch,
) -> Result<Done, Failure> {
    let mut scenario = exp.scenario(case, repetition)?;
    scenario.trace = options.qlog;
    let outcome = sim::run(&scenario, watch).ok_or(Failure::Interrupted)?;
    if options.qlog {
        write_qlogs(exp, case, repetition, &scenario, &outcome, folder)
            .map_err(|e| Failure::Store(options.out.join(&exp.name), e))?;
    }
    Ok(Done {
        values: measure::measure(&scenario, &outcome, exp.groups()),
        flows: flow_rows(case, repetition, &scenario, &outcome),
        rtt: measure::rtt_of_all(&outcome.flows),
        tracks: tracks(case, repetition, &outcome),
    })
}

fn write_qlogs(
    exp: &Experiment,
    case: &Case,
    repetition: u32,
    scenario: &Scenario,
    outcome: &Outcome,
    folder: &Path,
) -> io::Result<()> {
    let dir = folder.join("qlog");
    std::fs::create_dir_all(&dir)?;
    for (i, (flow, record)) in scenario.flows.iter().zip(&outcome.flows).enumerate() {
        let Some(trace) = &record.trace else { continue };
        let name = file_name(&[&case.variant, &case.row, &format!("run{repetition}"), &format!("flow{i}")]);
        let meta = qlog::Meta {
            title: exp.name.clone(),
            flow: flow.label.clone(),
            algorithm: flow.algorithm.name().to_owned(),
            transport: (&flow.transport).into(),
            seed: scenario.seed,
            start: flow.start,
        };
        qlog::write(File::create(dir.join(name + ".sqlog"))?, &meta, trace)?;
    }
    Ok(())
}

/// Words joined into a name that every file system takes.
fn file_name(words: &[&str]) -> String {
    let keep = |c: char| if c.is_ascii_alphanumeric() || "+-._#".contains(c) { c } else { '_' };
    let words = words.iter().filter(|w| !w.is_empty()).map(|w| w.chars().map(keep).collect::<String>());
    words.collect::<Vec<_>>().join("--")
}

fn run_row(exp: &Experiment, (case, repetition): &(&Case, u32), done: &Done) -> RunRow {
    RunRow {
        variant: case.variant.clone(),
        row: case.row.clone(),
        repetition: *repetition,
        seed: exp.seed + u64::from(*repetition),
        values: done.values.clone(),
    }
}

fn flow_rows(case: &Case, repetition: u32, scenario: &Scenario, outcome: &Outcome) -> Vec<FlowRow> {
    let flows = scenario.flows.iter().zip(&outcome.flows).zip(0..);
    let row = |((config, record), number): ((&FlowConfig, &Record), u32)| FlowRow {
        variant: case.variant.clone(),
        row: case.row.clone(),
        repetition,
        flow: number,
        label: config.group.clone(),
        algorithm: config.algorithm.name().to_owned(),
        values: measure::of_flow(record, outcome.end),
    };
    flows.map(row).collect()
}

/// One track per flow.
fn tracks(case: &Case, repetition: u32, outcome: &Outcome) -> Vec<Track> {
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
        Track {
            variant: case.variant.clone(),
            row: case.row.clone(),
            repetition,
            flow: number,
            times,
            columns,
        }
    });
    flows.collect()
}

/// Puts tracks and distributions together, in the order of the cases.
fn gather(summary: Summary, cases: &[Case], repetitions: u32, done: Vec<Done>) -> Results {
    let mut rtt_cdf = Vec::new();
    for (case, runs) in cases.iter().zip(done.chunks(repetitions.max(1) as usize)) {
        let mut all = Histogram::default();
        runs.iter().for_each(|run| all.merge(&run.rtt));
        rtt_cdf.push(Cdf {
            variant: case.variant.clone(),
            row: case.row.clone(),
            points: thinned(&all.cdf()),
        });
    }
    let (mut flows, mut series) = (Vec::new(), Vec::new());
    for run in done {
        flows.extend(run.flows);
        series.extend(run.tracks);
    }
    Results { summary, series, flows, rtt_cdf }
}

/// At most [`CDF_POINTS`], evenly over the list, the last one always.
fn thinned(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let step = points.len().div_ceil(CDF_POINTS).max(1);
    let last = points.len().saturating_sub(1);
    points.iter().enumerate().filter(|(i, _)| i % step == 0 || *i == last).map(|(_, p)| *p).collect()
}

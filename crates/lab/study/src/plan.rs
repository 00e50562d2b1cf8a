//! A study in progress: its runs, and its results once the last run is done.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use experiment::file::{Case, Experiment};
use results::judge;
use results::network::Network;
use results::store::{self, Done, Folder, Found, Manifest, RunRow, Runs};
use results::summary::Summary;
use scenario::Scenario;

use crate::cases::cases;
use crate::files;
use crate::gather::{counted, gather, run_row};
use crate::job::{Job, Run};
use crate::manifest::{manifest, runs_id};
use crate::options::{Failure, Options, Selection, Study};
use crate::progress::Tracker;

/// An experiment that has to be computed.
pub(crate) struct Plan<'a> {
    exp: &'a Experiment,
    options: &'a Options,
    cases: Vec<Case>,
    /// Note about cases that cannot run here, and why.
    left_out: String,
    /// Beginning of the names of each case's files.
    stems: Vec<String>,
    runs: Runs,
    path: PathBuf,
    folder: Mutex<Option<Folder>>,
    done: Mutex<Vec<Option<Done>>>,
    /// Number of unfinished runs.
    left: AtomicUsize,
}

/// An experiment whose results exist, or the runs that it needs.
pub(crate) enum Begun<'a> {
    Nothing(Study),
    Runs(Box<Plan<'a>>),
}

impl<'a> Begun<'a> {
    pub(crate) fn plan(&self) -> Option<&Plan<'a>> {
        match self {
            Self::Nothing(_) => None,
            Self::Runs(plan) => Some(plan),
        }
    }

    pub(crate) fn into_study(self) -> Option<Study> {
        match self {
            Self::Nothing(study) => Some(study),
            Self::Runs(_) => None,
        }
    }
}

impl<'a> Plan<'a> {
    /// Looks for existing results, and plans the runs otherwise.
    pub(crate) fn begin(exp: &'a Experiment, options: &'a Options) -> Result<Begun<'a>, Failure> {
        let (cases, left_out) = cases(exp, options)?;
        let manifest = manifest(exp, &cases, options)?;
        let id = manifest.id();
        let store = |e| Failure::Store(options.out.join(&exp.name), e);
        let found = if options.fresh { None } else { store::find(&options.out, &manifest, &id) };
        let runs = runs(options, &manifest).map_err(store)?;
        if let Some(Found::Same(results, folder)) = found {
            // Runs of another program that made the same study.
            runs.discard();
            return Ok(Begun::Nothing(Study::Complete(results, folder, true)));
        }
        let labels: Vec<[String; 2]> =
            cases.iter().map(|case| [case.variant.clone(), case.label().to_string()]).collect();
        let folder = Folder::begin(&options.out, &manifest, &id).map_err(store)?;
        let all = cases.iter().map(|case| exp.repetitions_of(case)).sum::<u32>() as usize;
        let plan = Self {
            exp,
            options,
            left_out,
            stems: files::stems(&labels),
            cases,
            runs,
            path: folder.path().to_owned(),
            folder: Mutex::new(Some(folder)),
            done: Mutex::new(vec![None; all]),
            left: AtomicUsize::new(all),
        };
        let read = match found {
            Some(Found::OtherReading(old)) => plan.read_again(&old).map_err(store)?,
            _ => None,
        };
        Ok(read.map_or_else(|| Begun::Runs(Box::new(plan)), Begun::Nothing))
    }

    /// Evaluates the runs of a folder again and replaces its summary. Returns `None` if its table
    /// has not all runs.
    fn read_again(&self, old: &Path) -> io::Result<Option<Study>> {
        // A table that cannot be read is computed again.
        let Some(measured) = store::measured(old).ok().filter(|all| all.len() == self.jobs().count()) else {
            return Ok(None);
        };
        let jobs = self.jobs().zip(measured);
        let rows = jobs.map(|(job, run)| run_row(self.exp, &job, (run.values, run.audit)));
        let folder = self.take_folder()?;
        folder.fill_from(old, &self.summary(&rows.collect::<Vec<_>>()))?;
        let results = Box::new(folder.results()?);
        let path = folder.publish()?;
        self.runs.discard();
        Ok(Some(Study::Complete(results, path, true)))
    }

    fn summary(&self, rows: &[RunRow]) -> Summary {
        let mut summary = judge::summary(self.exp, &self.cases, rows, self.options.world);
        summary.note = [&*summary.note, &self.left_out].join(" ").trim().to_owned();
        summary
    }

    fn take_folder(&self) -> io::Result<Folder> {
        let folder = self.folder.lock().unwrap_or_else(PoisonError::into_inner).take();
        folder.ok_or_else(|| io::Error::other("the study is complete already"))
    }

    /// Returns the scenario of a run.
    pub(crate) fn scenario(&self, job: &Job<'_>) -> Scenario {
        job.scenario(self.exp, self.options)
    }

    /// Returns all runs, grouped by case.
    pub(crate) fn jobs(&self) -> impl Iterator<Item = Job<'_>> {
        self.cases.iter().zip(&self.stems).flat_map(|(case, stem)| {
            (0..self.exp.repetitions_of(case)).map(move |repetition| Job { case, repetition, stem })
        })
    }

    /// Returns the state that each run needs.
    pub(crate) fn run<'r>(&'r self, progress: &'r Tracker<'r>) -> Run<'r> {
        Run { exp: self.exp, options: self.options, folder: &self.path, progress, runs: &self.runs }
    }

    /// Removes the folder of runs if it is empty.
    pub(crate) fn tidy(&self) {
        self.runs.remove_if_empty();
    }

    /// Reports whether the run with this number exists.
    pub(crate) fn has(&self, number: usize) -> bool {
        self.runs.load(number).is_some()
    }

    /// Returns the number of runs that are kept.
    pub(crate) fn kept(&self) -> usize {
        self.runs.count(self.jobs().count())
    }

    /// Records the end of a run; `done` is `None` if it belongs to another part. Returns the study
    /// after the last one.
    pub(crate) fn over(&self, number: usize, done: Option<Done>) -> Option<Result<Study, Failure>> {
        self.done()[number] = done;
        let is_last = self.left.fetch_sub(1, Ordering::AcqRel) == 1;
        is_last.then(|| self.finish())
    }

    fn done(&self) -> MutexGuard<'_, Vec<Option<Done>>> {
        self.done.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn finish(&self) -> Result<Study, Failure> {
        let done = std::mem::take(&mut *self.done());
        let all = done.len();
        let Some(done) = done.into_iter().collect::<Option<Vec<Done>>>() else {
            return Ok(Study::Part(self.exp.name.clone(), self.runs.count(all), all));
        };
        let store = |e| Failure::Store(self.options.out.join(&self.exp.name), e);
        let (exp, cases) = (self.exp, &self.cases);
        let measured = |done: &Done| (done.values.clone(), done.audit.clone());
        let rows: Vec<RunRow> =
            self.jobs().zip(&done).map(|(job, done)| run_row(exp, &job, measured(done))).collect();
        let summary = self.summary(&rows);
        let network =
            |case: &Case| Network::from_scenario(&case.variant, &case.label(), &exp.scenario(case, 0));
        let networks = cases.iter().map(network).collect();
        let done = counted(done, cases.iter().map(|case| exp.repetitions_of(case) as usize));
        let mut results = gather(summary, networks, cases, &done);
        let recorded: Vec<_> =
            done.into_iter().flatten().map(|(number, run)| (number, run.recorded)).collect();
        let folder = self.take_folder().map_err(store)?;
        folder.fill(&mut results, &rows, (&self.runs, &recorded), &exp.sweep_axes(cases)).map_err(store)?;
        let path = folder.publish().map_err(store)?;
        self.runs.discard();
        Ok(Study::Complete(Box::new(results), path, false))
    }
}

/// Returns the store of finished runs until the study is complete. It ends with the process for
/// runs that cannot be used again: those with qlog or pcapng files, which are stored separately,
/// runs that are made although they exist, and those of programs that may change meanwhile.
fn runs(options: &Options, manifest: &Manifest) -> io::Result<Runs> {
    let settings = options.settings();
    let kept = Runs::open(&options.out, manifest, &runs_id(manifest, settings.as_deref()));
    let is_once = options.fresh && options.runs == Selection::All;
    let is_unknown = manifest.measured.is_some() && settings.is_none();
    if is_once && manifest.measured.is_some() {
        // Newer measurements replace them.
        kept.discard();
    }
    match options.qlog.is_some() || options.pcap || is_once || is_unknown {
        true => Runs::temporary(&options.out, manifest),
        false => Ok(kept),
    }
}

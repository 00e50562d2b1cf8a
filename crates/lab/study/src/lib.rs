#![doc = include_str!("../README.md")]

mod cases;
mod disk;
mod files;
mod gather;
mod job;
mod manifest;
mod one;
mod options;
mod places;
mod plan;
mod planned;
mod progress;
mod recorder;

use std::cmp::Reverse;
use std::io::ErrorKind;
use std::sync::{Mutex, PoisonError};

use experiment::file::Experiment;
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};
use scenario::Watch;
use units::Duration;

pub use self::cases::check_all;
pub use self::disk::{RecordedBytes, recorded_bytes};
use self::job::{Job, work};
pub use self::options::{Failure, Options, Program, Selection, Shard, Study};
pub use self::places::Places;
use self::plan::{Begun, Plan};
pub use self::planned::{Planned, planned};
pub use self::progress::{Progress, Silent, State, with_updates};
use self::progress::{Tracker, Work};

/// Runs one experiment and stores its results.
///
/// # Errors
/// The same as of [`experiments`].
pub fn experiment(
    exp: &Experiment,
    options: &Options,
    shown: &dyn Progress,
    watch: &Watch,
) -> Result<Study, Failure> {
    let mut studies = experiments(&exp.name, std::slice::from_ref(exp), options, (shown, watch))?;
    studies.pop().ok_or(Failure::Interrupted(0))
}

/// Runs experiments and stores their results. `name` is their common name in progress messages.
///
/// Existing results are not computed again. These are studies made earlier by the same program, and
/// finished runs of studies that were interrupted or made in parts. `watch.stop` interrupts the
/// runs.
///
/// # Errors
/// An experiment that cannot be run, a folder that cannot be written, or an interruption. Studies
/// that were complete by then, and finished runs of the others, are kept.
pub fn experiments(
    name: &str,
    all: &[Experiment],
    options: &Options,
    (shown, watch): (&dyn Progress, &Watch),
) -> Result<Vec<Study>, Failure> {
    let mut tries = 1;
    let attempt = || attempt(name, all, options, (shown, watch));
    loop {
        match options.pool.as_ref().map_or_else(attempt, |pool| pool.install(attempt)) {
            // Another program finished the same study and removed its runs. The results exist now.
            Err(Failure::Store(_, e)) if e.kind() == ErrorKind::NotFound && tries < TRIES => tries += 1,
            // The last of the other parts was finished while this one ran.
            Ok(studies) if studies.iter().any(Study::has_all_runs) && tries < TRIES => tries += 1,
            other => return other,
        }
    }
}

/// Largest number of programs that may run the same study at once.
const TRIES: u32 = 20;

fn attempt(
    name: &str,
    all: &[Experiment],
    options: &Options,
    (shown, watch): (&dyn Progress, &Watch),
) -> Result<Vec<Study>, Failure> {
    // On all cores. Of several failures, the first is reported.
    let begun: Vec<_> = all.par_iter().map(|exp| Plan::begin(exp, options)).collect();
    let begun: Vec<Begun<'_>> = begun.into_iter().collect::<Result<_, _>>()?;
    let plans = begun.iter().enumerate().filter_map(|(at, begun)| Some((at, begun.plan()?)));
    let plans: Vec<(usize, &Plan<'_>)> = plans.collect();
    let (simulated, measured) = jobs(&plans, options)?;
    let total = simulated.iter().chain(&measured).map(|todo| todo.work).sum();
    let progress = Tracker::new(name, (simulated.len() + measured.len(), total), shown, watch);
    let done = progress.during(|| {
        let mut done = simulate(&simulated, &progress)?;
        done.extend(measure(&measured, options, &progress)?);
        Ok(done)
    });
    let mut done = done.map_err(|failure| {
        plans.iter().for_each(|(_, plan)| plan.tidy());
        match failure {
            Failure::Interrupted(_) => Failure::Interrupted(plans.iter().map(|(_, plan)| plan.kept()).sum()),
            other => other,
        }
    })?;
    let known = |(at, begun): (usize, Begun<'_>)| begun.into_study().map(|study| (at, study));
    done.extend(begun.into_iter().enumerate().filter_map(known));
    done.sort_by_key(|(at, _)| *at);
    Ok(done.into_iter().map(|(_, study)| study).collect())
}

/// A run to make.
struct Todo<'p> {
    /// Index of the plan among the experiments.
    at: usize,
    plan: &'p Plan<'p>,
    /// Number of the run in the plan.
    number: usize,
    job: Job<'p>,
    work: Work,
}

/// Complete studies, with the indices of their experiments.
type Complete = Vec<(usize, Study)>;

/// Returns the runs in virtual time and those in real time. The former are sorted by length, so
/// that no core ends with a long one.
fn jobs<'p>(
    plans: &[(usize, &'p Plan<'p>)],
    options: &Options,
) -> Result<(Vec<Todo<'p>>, Vec<Todo<'p>>), Failure> {
    let all = plans.iter().flat_map(|(at, plan)| {
        let todo = |(number, job)| Todo { at: *at, plan, number, work: work(&plan.scenario(&job)), job };
        plan.jobs().enumerate().map(todo)
    });
    let (mut simulated, mut measured) = (Vec::new(), Vec::new());
    for todo in all {
        let is_real_time = options.world(todo.job.case.on)?.is_real_time();
        if is_real_time { measured.push(todo) } else { simulated.push(todo) }
    }
    simulated.sort_by_key(|todo| Reverse(todo.work.packets));
    Ok((simulated, measured))
}

/// Runs simulations on all cores. The thread that finishes the last run of a study makes its
/// tables, while the others continue.
fn simulate(jobs: &[Todo<'_>], progress: &Tracker<'_>) -> Result<Complete, Failure> {
    let (failed, complete) = (Mutex::new(None), Mutex::new(Vec::new()));
    let locked = |failure: &Mutex<Option<Failure>>| failure.lock().map_or(true, |failure| failure.is_some());
    let one = |Todo { plan, number, job, .. }: &Todo<'_>| {
        let done = plan.run(progress).simulate(*number, job)?;
        plan.over(*number, done).transpose()
    };
    rayon::scope_fifo(|scope| {
        for todo in jobs {
            let (failed, complete, one, locked) = (&failed, &complete, &one, &locked);
            scope.spawn_fifo(move |_| {
                if locked(failed) {
                    return;
                }
                match one(todo) {
                    Ok(study) => push(complete, study.map(|study| (todo.at, study))),
                    Err(failure) => {
                        let mut first = failed.lock().unwrap_or_else(PoisonError::into_inner);
                        first.get_or_insert(failure);
                    }
                }
            });
        }
    });
    match failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some(failure) => Err(failure),
        None => Ok(complete.into_inner().unwrap_or_else(PoisonError::into_inner)),
    }
}

fn push<T>(list: &Mutex<Vec<T>>, item: Option<T>) {
    list.lock().unwrap_or_else(PoisonError::into_inner).extend(item);
}

/// Makes the measurements one after the other, after all simulations: next to those no run in real
/// time would be valid.
fn measure(jobs: &[Todo<'_>], options: &Options, progress: &Tracker<'_>) -> Result<Complete, Failure> {
    let mut complete = Vec::new();
    let is_missing = |todo: &Todo<'_>| options.runs.has(todo.number) && !todo.plan.has(todo.number);
    let missing: Vec<bool> = jobs.iter().map(is_missing).collect();
    if !jobs.is_empty() {
        let left = || jobs.iter().zip(&missing).filter(|(_, missing)| **missing);
        let time = Duration(left().map(|(todo, _)| todo.work.time).sum());
        progress.shown.real_time((left().count(), jobs.len()), time);
    }
    for (Todo { at, plan, number, job, .. }, missing) in jobs.iter().zip(missing) {
        let (variant, row) = (&job.case.variant, job.case.label());
        if missing {
            progress.shown.measuring(&format!("{variant} {row} run {}", job.repetition));
        }
        let done = plan.run(progress).measure(*number, job)?;
        complete.extend(plan.over(*number, done).transpose()?.map(|study| (*at, study)));
    }
    Ok(complete)
}

/// Checks that at least one case of an experiment can run in the world of the options.
///
/// # Errors
/// The reasons why none can.
pub fn check(exp: &Experiment, options: &Options) -> Result<(), Failure> {
    cases::cases(exp, options).map(drop)
}

//! Runs experiments: every case times every repetition, then measures, judges and stores. Simulations run on all cores;
//! on the wire one run follows the other.

mod beside;
mod disk;
mod files;
mod gather;
mod job;
mod manifest;
mod on_stack;
#[cfg_attr(not(wire), path = "run/no_wire.rs")]
mod on_wire;
mod one;
mod options;
mod progress;
mod recorder;
mod study;

use std::cmp::Reverse;
use std::io::ErrorKind;
use std::sync::{Mutex, PoisonError};

use experiment::backend::Backend;
use experiment::file::Experiment;
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};
use scenario::Watch;
use units::Duration;

pub(crate) use self::disk::recorded_bytes;
use self::job::{Job, work};
pub(crate) use self::on_stack::check_all as check_stacks;
pub(crate) use self::on_wire::{locate, prepare as prepare_wire};
pub use self::options::{Failure, Options, Shard, Study};
pub(crate) use self::progress::waiting;
use self::progress::{Progress, Work};
use self::study::{Begun, Plan};
use crate::output::tell;

/// Runs one experiment and stores its results, as [`experiments`] does.
///
/// # Errors
/// As there.
pub fn experiment(exp: &Experiment, options: &Options, watch: &Watch) -> Result<Study, Failure> {
    let mut studies = experiments(&exp.name, std::slice::from_ref(exp), options, watch)?;
    studies.pop().ok_or(Failure::Interrupted(0))
}

/// Runs experiments and stores their results; `name` is what they are called together. What is there already is not run again: neither a
/// study that was made before with the same program, nor the runs of one that was interrupted or made in parts. `watch.stop`
/// interrupts it.
///
/// # Errors
/// An experiment that cannot be run, a folder that cannot be written, an interruption: studies that were complete by then stand, and
/// finished simulations of the others are kept.
pub fn experiments(
    name: &str,
    all: &[Experiment],
    options: &Options,
    watch: &Watch,
) -> Result<Vec<Study>, Failure> {
    let mut tries = 1;
    loop {
        match attempt(name, all, options, watch) {
            // Another program has finished the same study, and its runs went: the results are there now.
            Err(Failure::Store(_, e)) if e.kind() == ErrorKind::NotFound && tries < TRIES => tries += 1,
            // The last of the others' parts came while this one ran.
            Ok(studies) if studies.iter().any(Study::has_all_runs) && tries < TRIES => tries += 1,
            other => return other,
        }
    }
}

/// As many programs may be at the same study.
const TRIES: u32 = 20;

fn attempt(name: &str, all: &[Experiment], options: &Options, watch: &Watch) -> Result<Vec<Study>, Failure> {
    // On all cores; of several failures the first is told.
    let begun: Vec<_> = all.par_iter().map(|exp| Plan::begin(exp, options)).collect();
    let begun: Vec<Begun<'_>> = begun.into_iter().collect::<Result<_, _>>()?;
    let plans = begun.iter().enumerate().filter_map(|(at, begun)| Some((at, begun.plan()?)));
    let plans: Vec<(usize, &Plan<'_>)> = plans.collect();
    let (simulated, measured) = jobs(&plans);
    let total = simulated.iter().chain(&measured).map(|todo| todo.work).sum();
    let progress = Progress::new(name, simulated.len() + measured.len(), total, watch);
    let done = progress.during(|| {
        let mut done = simulate(&simulated, &progress)?;
        done.extend(measure(&measured, &progress)?);
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

/// A run of a plan, by its number there, and the plan's among the experiments.
struct Todo<'p> {
    at: usize,
    plan: &'p Plan<'p>,
    number: usize,
    job: Job<'p>,
    work: Work,
}

/// Studies that are complete, with the numbers of their experiments.
type Complete = Vec<(usize, Study)>;

/// What runs in virtual time, the longest first, so that no core is left with a long one at the end; and what is measured, in its order.
fn jobs<'p>(plans: &[(usize, &'p Plan<'p>)]) -> (Vec<Todo<'p>>, Vec<Todo<'p>>) {
    let all = plans.iter().flat_map(|(at, plan)| {
        let todo = |(number, job)| Todo { at: *at, plan, number, work: work(&plan.scenario(&job)), job };
        plan.jobs().enumerate().map(todo)
    });
    let (mut simulated, measured): (Vec<_>, Vec<_>) =
        all.partition(|todo| todo.job.case.on.world() != Backend::Wire);
    simulated.sort_by_key(|todo| Reverse(todo.work.packets));
    (simulated, measured)
}

/// On all cores. Whoever is done with the last run of a study makes its tables, while the others go on.
fn simulate(jobs: &[Todo<'_>], progress: &Progress<'_>) -> Result<Complete, Failure> {
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

/// Measurements together that are announced.
const LONG: Duration = Duration::from_secs(60);

/// One after the other, when no simulation runs: beside them nothing in real time would be valid.
fn measure(jobs: &[Todo<'_>], progress: &Progress<'_>) -> Result<Complete, Failure> {
    let mut complete = Vec::new();
    let time: u64 = jobs.iter().map(|todo| todo.work.time).sum();
    if time >= LONG.0 {
        let minutes = time.div_ceil(60_000_000_000);
        tell(&format!(
            "{} runs in real time: up to {minutes} min, and more where one is not valid and is made again",
            jobs.len()
        ));
    }
    for Todo { at, plan, number, job, .. } in jobs {
        // In real time, and no bar to be seen: a line each.
        if progress.is_hidden() {
            let (variant, row) = (&job.case.variant, job.case.label());
            tell(&format!("measuring {variant} {row} run {}", job.repetition));
        }
        let done = plan.run(progress).measure(*number, job)?;
        complete.extend(plan.over(*number, Some(done)).transpose()?.map(|study| (*at, study)));
    }
    Ok(complete)
}

/// Whether there is anything in it for this world.
///
/// # Errors
/// Why there is not.
pub fn check(exp: &Experiment, world: Backend, backends: &[Backend]) -> Result<(), Failure> {
    study::cases(exp, world, backends).map(drop)
}

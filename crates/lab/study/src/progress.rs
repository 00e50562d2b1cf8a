//! Progress of a study: how much of its work is done, told to whoever wants to show it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, Thread};
use std::time::Duration;

use scenario::Watch;

use crate::options::Failure;

/// Interval between updates.
const LOOK: Duration = Duration::from_millis(100);

/// How far a study is.
#[derive(Clone, Copy, Debug)]
pub struct State<'a> {
    /// Name of the experiments.
    pub name: &'a str,
    /// Share of all packets that is done, 0 to 1. It moves inside a run too, with its time.
    pub share: f64,
    /// Number of finished runs.
    pub over: u64,
    /// Number of all runs.
    pub runs: usize,
}

/// Receives the progress of a study.
pub trait Progress: Sync {
    /// Receives the state, ten times a second while runs are made. Called from another thread.
    fn update(&self, _: &State<'_>) {}
    /// Receives the number of runs in real time that come next, that of all, and how long the
    /// former take at least.
    fn real_time(&self, _: (usize, usize), _: units::Duration) {}
    /// Receives the name of a run in real time that begins.
    fn measuring(&self, _: &str) {}
    /// Learns that no run of a study goes on, at its end or after a failure. A study without runs
    /// tells nothing.
    fn done(&self) {}
}

/// No progress.
#[derive(Clone, Copy, Debug)]
pub struct Silent;

impl Progress for Silent {}

/// Approximate work of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Work {
    /// Virtual time, in nanoseconds.
    pub(crate) time: u64,
    /// Number of packets, which CPU time is proportional to.
    pub(crate) packets: u64,
}

impl Work {
    /// Returns the number of packets done when the run has reached this time.
    fn done(self, reached: u64) -> f64 {
        self.packets as f64 * (reached as f64 / self.time.max(1) as f64).min(1.0)
    }
}

impl std::iter::Sum for Work {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |a, b| Self {
            time: a.time.saturating_add(b.time),
            packets: a.packets.saturating_add(b.packets),
        })
    }
}

/// The runs of a study, finished and under way.
pub(crate) struct Tracker<'a> {
    name: &'a str,
    pub(crate) shown: &'a dyn Progress,
    /// Watch of the caller. Its `stop` ends all runs.
    whole: &'a Watch,
    runs: usize,
    /// Work of all runs.
    total: Work,
    /// Packets of the finished runs.
    past: AtomicU64,
    /// Number of finished runs.
    over: AtomicU64,
    going: Mutex<Vec<(Arc<Watch>, Work)>>,
}

impl<'a> Tracker<'a> {
    /// Starts the progress of `runs` runs with this total work.
    pub(crate) fn new(
        name: &'a str,
        (runs, total): (usize, Work),
        shown: &'a dyn Progress,
        whole: &'a Watch,
    ) -> Self {
        let (past, over) = (AtomicU64::new(0), AtomicU64::new(0));
        Self { name, shown, whole, runs, total, past, over, going: Mutex::new(Vec::new()) }
    }

    /// Ends a study that is stopped between two runs. A short run does not look for a stop.
    pub(crate) fn check_stop(&self) -> Result<(), Failure> {
        if self.whole.stop.load(Ordering::Relaxed) { Err(Failure::Interrupted(0)) } else { Ok(()) }
    }

    /// Does the work, and tells the progress meanwhile, if there is a run.
    pub(crate) fn during<R>(&self, work: impl FnOnce() -> R) -> R {
        if self.runs == 0 {
            return work();
        }
        let result = with_updates(|| self.update(), work);
        self.shown.done();
        result
    }

    /// Makes one run with its own watch.
    pub(crate) fn run<R>(&self, work: Work, run: impl FnOnce(&Watch) -> R) -> R {
        let watch = Arc::new(Watch::default());
        watch.stop.store(self.whole.stop.load(Ordering::Relaxed), Ordering::Relaxed);
        self.going().push((Arc::clone(&watch), work));
        let result = run(&watch);
        self.going().retain(|(other, _)| !Arc::ptr_eq(other, &watch));
        self.past.fetch_add(work.packets, Ordering::Relaxed);
        self.over.fetch_add(1, Ordering::Relaxed);
        result
    }

    fn going(&self) -> MutexGuard<'_, Vec<(Arc<Watch>, Work)>> {
        self.going.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn share(&self) -> f64 {
        let done = |(watch, work): &(Arc<Watch>, Work)| work.done(watch.reached.load(Ordering::Relaxed));
        let going: f64 = self.going().iter().map(done).sum();
        let reached = self.past.load(Ordering::Relaxed) as f64 + going;
        (reached / self.total.packets.max(1) as f64).min(1.0)
    }

    /// Forwards a stop to the runs, and tells the progress.
    fn update(&self) {
        for (watch, _) in self.going().iter() {
            watch.stop.store(self.whole.stop.load(Ordering::Relaxed), Ordering::Relaxed);
        }
        let (share, over) = (self.share(), self.over.load(Ordering::Relaxed));
        self.shown.update(&State { name: self.name, share, over, runs: self.runs });
    }
}

/// Does the work, and calls `update` ten times a second meanwhile, from another thread.
pub fn with_updates<R>(update: impl Fn() + Sync, work: impl FnOnce() -> R) -> R {
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let again = || {
            while !done.load(Ordering::Relaxed) {
                update();
                thread::park_timeout(LOOK);
            }
        };
        let updater = thread::Builder::new().spawn_scoped(scope, again);
        // If no thread can be started, the work continues without updates.
        let _end = updater.ok().map(|updater| End { done: &done, updater: updater.thread().clone() });
        work()
    })
}

/// Ends the updates when the work ends, even by a panic.
struct End<'a> {
    done: &'a AtomicBool,
    updater: Thread,
}

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.done.store(true, Ordering::Relaxed);
        self.updater.unpark();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Work with three packets per nanosecond.
    fn work(time: u64) -> Work {
        Work { time, packets: 3 * time }
    }

    /// Half of the first of two runs is a quarter. The end of one run is half, even if it ended
    /// early.
    #[test]
    fn moves_inside_a_run() {
        let whole = Watch::default();
        let tracker = Tracker::new("x", (2, work(200)), &Silent, &whole);
        tracker.run(work(100), |watch| {
            watch.reached.store(50, Ordering::Relaxed);
            assert!((tracker.share() - 0.25).abs() < 1e-12);
        });
        assert!((tracker.share() - 0.5).abs() < 1e-12);
    }

    /// A panic in the work ends the updates.
    #[test]
    fn updates_end_with_the_work() {
        let whole = Watch::default();
        let tracker = Tracker::new("x", (1, work(1)), &Silent, &whole);
        assert_eq!(tracker.during(|| 7), 7);
        let panic = std::panic::AssertUnwindSafe(|| tracker.during(|| panic!("as tested")));
        assert!(std::panic::catch_unwind(panic).is_err());
    }

    /// Stopping the study stops every run, those under way and those that begin later.
    #[test]
    fn a_stop_reaches_every_run() {
        let whole = Watch::default();
        let tracker = Tracker::new("x", (2, work(200)), &Silent, &whole);
        tracker.during(|| {
            tracker.run(work(100), |watch| {
                whole.stop.store(true, Ordering::Relaxed);
                while !watch.stop.load(Ordering::Relaxed) {
                    thread::yield_now();
                }
            });
            tracker.run(work(100), |watch| assert!(watch.stop.load(Ordering::Relaxed)));
        });
    }
}

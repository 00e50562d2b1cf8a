//! Progress of the runs: a bar on a terminal, and elsewhere a line every ten seconds. It moves
//! inside a run too, with the virtual time of the run.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use experiment::printable::printable;
use indicatif::{ProgressBar, ProgressStyle};
use scenario::Watch;

use crate::output::tell;

/// Interval between updates.
const LOOK: Duration = Duration::from_millis(100);
/// Interval between lines without a terminal.
const LINE: Duration = Duration::from_secs(10);
/// Number of steps of the bar.
const PARTS: u64 = 1000;

/// Time of the last line; the start of the first experiment before that.
static LAST_LINE: LazyLock<Mutex<Instant>> = LazyLock::new(|| Mutex::new(now()));

#[allow(clippy::disallowed_methods, reason = "only shown to the user; no result depends on it")]
fn now() -> Instant {
    Instant::now()
}

/// Progress of the runs of a command.
pub(super) struct Progress<'a> {
    name: &'a str,
    bar: ProgressBar,
    /// Watch of the command. Its `stop` ends all runs.
    whole: &'a Watch,
    jobs: usize,
    /// Work of all runs.
    total: Work,
    /// Packets of the finished runs.
    past: AtomicU64,
    /// Number of finished runs.
    over: AtomicU64,
    going: Mutex<Vec<(Arc<Watch>, Work)>>,
}

/// Approximate work of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Work {
    /// Virtual time, in nanoseconds.
    pub(super) time: u64,
    /// Number of packets, which CPU time is proportional to.
    pub(super) packets: u64,
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

impl<'a> Progress<'a> {
    /// Starts the progress of `jobs` runs with this total work.
    pub(super) fn new(name: &'a str, jobs: usize, total: Work, whole: &'a Watch) -> Self {
        let style = ProgressStyle::with_template("{prefix:24} [{bar:24}] {percent:>3} %  {msg}  {eta} left");
        let style = style.unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("=> ");
        let bar = ProgressBar::new(PARTS).with_prefix(printable(name).into_owned()).with_style(style);
        LazyLock::force(&LAST_LINE);
        let (past, over) = (AtomicU64::new(0), AtomicU64::new(0));
        Self { name, bar, whole, jobs, total, past, over, going: Mutex::new(Vec::new()) }
    }

    /// Reports whether no terminal shows the bar.
    pub(super) fn is_hidden(&self) -> bool {
        self.bar.is_hidden()
    }

    /// Does the work, and shows the progress meanwhile.
    pub(super) fn during<R>(&self, work: impl FnOnce() -> R) -> R {
        let result = with_updates(|| self.update(), work);
        self.bar.finish_and_clear();
        result
    }

    /// Makes one run with its own watch.
    pub(super) fn run<R>(&self, work: Work, run: impl FnOnce(&Watch) -> R) -> R {
        let watch = Arc::new(Watch::default());
        watch.stop.store(self.whole.stop.load(Ordering::Relaxed), Ordering::Relaxed);
        self.going().push((Arc::clone(&watch), work));
        let result = run(&watch);
        self.going().retain(|(other, _)| !Arc::ptr_eq(other, &watch));
        self.past.fetch_add(work.packets, Ordering::Relaxed);
        self.over.fetch_add(1, Ordering::Relaxed);
        result
    }

    fn going(&self) -> std::sync::MutexGuard<'_, Vec<(Arc<Watch>, Work)>> {
        self.going.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the share of all packets that is done, 0 to 1.
    fn share(&self) -> f64 {
        let done = |(watch, work): &(Arc<Watch>, Work)| work.done(watch.reached.load(Ordering::Relaxed));
        let going: f64 = self.going().iter().map(done).sum();
        let reached = self.past.load(Ordering::Relaxed) as f64 + going;
        (reached / self.total.packets.max(1) as f64).min(1.0)
    }

    /// Forwards a stop to the runs, and shows the progress.
    fn update(&self) {
        for (watch, _) in self.going().iter() {
            watch.stop.store(self.whole.stop.load(Ordering::Relaxed), Ordering::Relaxed);
        }
        let share = self.share();
        let runs = format!("{} of {} runs", self.over.load(Ordering::Relaxed), self.jobs);
        self.bar.set_position((share * PARTS as f64) as u64);
        self.bar.set_message(runs.clone());
        if self.is_hidden() && is_time_for_a_line() {
            tell(&format!("{}: {:.0} %, {runs}", self.name, share * 100.0));
        }
    }
}

/// Does work of unknown length, and shows that it continues.
pub(crate) fn waiting<R>(name: &str, work: impl FnOnce() -> R) -> R {
    let (bar, begin) = (ProgressBar::new_spinner().with_message(name.to_owned()), now());
    LazyLock::force(&LAST_LINE);
    let update = || {
        bar.tick();
        if bar.is_hidden() && is_time_for_a_line() {
            tell(&format!("{name}: working for {} s", begin.elapsed().as_secs()));
        }
    };
    let result = with_updates(update, work);
    bar.finish_and_clear();
    result
}

/// Does the work, and calls `update` regularly meanwhile.
fn with_updates<R>(update: impl Fn() + Sync, work: impl FnOnce() -> R) -> R {
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

fn is_time_for_a_line() -> bool {
    let mut last = LAST_LINE.lock().unwrap_or_else(PoisonError::into_inner);
    let is_time = last.elapsed() >= LINE;
    if is_time {
        *last = now();
    }
    is_time
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
        let progress = Progress::new("x", 2, work(200), &whole);
        progress.run(work(100), |watch| {
            watch.reached.store(50, Ordering::Relaxed);
            assert!((progress.share() - 0.25).abs() < 1e-12);
        });
        assert!((progress.share() - 0.5).abs() < 1e-12);
    }

    /// The work is done once, and its result is returned. A panic in it ends the updates.
    #[test]
    fn waiting_ends_with_the_work() {
        assert_eq!(waiting("x", || 7), 7);
        let panic = std::panic::catch_unwind(|| waiting("x", || panic!("as tested")));
        assert!(panic.is_err());
    }

    /// Stopping the command stops every run, those under way and those that begin later.
    #[test]
    fn a_stop_reaches_every_run() {
        let whole = Watch::default();
        let progress = Progress::new("x", 2, work(200), &whole);
        progress.during(|| {
            progress.run(work(100), |watch| {
                whole.stop.store(true, Ordering::Relaxed);
                while !watch.stop.load(Ordering::Relaxed) {
                    thread::yield_now();
                }
            });
            progress.run(work(100), |watch| assert!(watch.stop.load(Ordering::Relaxed)));
        });
    }
}

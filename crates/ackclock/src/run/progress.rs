//! How far the runs of an experiment are: a bar on a terminal, and elsewhere a line every ten seconds. It moves inside a run too, with the
//! virtual time that the run has reached.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use experiment::printable::printable;
use indicatif::{ProgressBar, ProgressStyle};
use scenario::Watch;

use crate::output::tell;

/// Between two looks at the runs.
const LOOK: Duration = Duration::from_millis(100);
/// Between two lines where there is no terminal.
const LINE: Duration = Duration::from_secs(10);
/// Parts of the bar.
const PARTS: u64 = 1000;

/// When the command last said how far it is; it begins with the first experiment.
static SAID: LazyLock<Mutex<Instant>> = LazyLock::new(|| Mutex::new(now()));

#[allow(clippy::disallowed_methods, reason = "for the eyes of the person who waits; no result depends on it")]
fn now() -> Instant {
    Instant::now()
}

/// The runs of one experiment.
pub(super) struct Progress<'a> {
    name: &'a str,
    bar: ProgressBar,
    /// Of the command: who sets its `stop` ends all runs.
    whole: &'a Watch,
    jobs: usize,
    /// Of all runs.
    total: Work,
    /// Packets of those that are over.
    past: AtomicU64,
    over: AtomicU64,
    going: Mutex<Vec<(Arc<Watch>, Work)>>,
}

/// What a run has to do, roughly.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Work {
    /// Virtual time, nanoseconds.
    pub(super) time: u64,
    /// Packets: what its CPU time goes with.
    pub(super) packets: u64,
}

impl Work {
    /// Packets done when it has reached this time.
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
    /// Of so many runs, which have so much to do together.
    pub(super) fn new(name: &'a str, jobs: usize, total: Work, whole: &'a Watch) -> Self {
        let style = ProgressStyle::with_template("{prefix:24} [{bar:24}] {percent:>3} %  {msg}  {eta} left");
        let style = style.unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("=> ");
        let bar = ProgressBar::new(PARTS).with_prefix(printable(name).into_owned()).with_style(style);
        LazyLock::force(&SAID);
        let (past, over) = (AtomicU64::new(0), AtomicU64::new(0));
        Self { name, bar, whole, jobs, total, past, over, going: Mutex::new(Vec::new()) }
    }

    /// Whether there is no terminal that shows it.
    pub(super) fn is_hidden(&self) -> bool {
        self.bar.is_hidden()
    }

    /// Does the work and meanwhile shows how far it is.
    pub(super) fn during<R>(&self, work: impl FnOnce() -> R) -> R {
        let result = beside(|| self.look(), work);
        self.bar.finish_and_clear();
        result
    }

    /// One run, with a watch of its own.
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

    /// Of the packets of all runs, those that have been: 0 to 1.
    fn share(&self) -> f64 {
        let done = |(watch, work): &(Arc<Watch>, Work)| work.done(watch.reached.load(Ordering::Relaxed));
        let going: f64 = self.going().iter().map(done).sum();
        let reached = self.past.load(Ordering::Relaxed) as f64 + going;
        (reached / self.total.packets.max(1) as f64).min(1.0)
    }

    /// Passes on the wish to stop, and shows.
    fn look(&self) {
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

/// Does a piece of work of which nobody knows how far it is: says that it goes on.
pub(crate) fn waiting<R>(name: &str, work: impl FnOnce() -> R) -> R {
    let (bar, begin) = (ProgressBar::new_spinner().with_message(name.to_owned()), now());
    LazyLock::force(&SAID);
    let look = || {
        bar.tick();
        if bar.is_hidden() && is_time_for_a_line() {
            tell(&format!("{name}: at work for {} s", begin.elapsed().as_secs()));
        }
    };
    let result = beside(look, work);
    bar.finish_and_clear();
    result
}

/// Does the work, and looks again and again while it lasts.
fn beside<R>(look: impl Fn() + Sync, work: impl FnOnce() -> R) -> R {
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let again = || {
            while !done.load(Ordering::Relaxed) {
                look();
                thread::park_timeout(LOOK);
            }
        };
        let eyes = thread::Builder::new().spawn_scoped(scope, again);
        // Without a thread to spare it goes on unseen.
        let _end = eyes.ok().map(|eyes| End { done: &done, eyes: eyes.thread().clone() });
        work()
    })
}

fn is_time_for_a_line() -> bool {
    let mut said = SAID.lock().unwrap_or_else(PoisonError::into_inner);
    let is_time = said.elapsed() >= LINE;
    if is_time {
        *said = now();
    }
    is_time
}

/// However the work ends, nobody looks any more.
struct End<'a> {
    done: &'a AtomicBool,
    eyes: Thread,
}

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.done.store(true, Ordering::Relaxed);
        self.eyes.unpark();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Nanoseconds, and three packets in each.
    fn work(time: u64) -> Work {
        Work { time, packets: 3 * time }
    }

    /// Half of the first of two runs is a quarter, and the end of one run is half, also if it ended early.
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

    /// The work is done once, and its answer comes back, also from beside a panic.
    #[test]
    fn waiting_ends_with_the_work() {
        assert_eq!(waiting("x", || 7), 7);
        let panic = std::panic::catch_unwind(|| waiting("x", || panic!("as tested")));
        assert!(panic.is_err());
    }

    /// Whoever stops the command stops every run of it, those under way and those that begin later.
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

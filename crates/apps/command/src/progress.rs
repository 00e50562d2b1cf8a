//! Progress on standard error: a bar on a terminal, and elsewhere a line every ten seconds.

use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::{Duration, Instant};

use experiment::printable::{counted, printable};
use indicatif::{ProgressBar, ProgressStyle};
use study::{Progress, State, with_updates};

use crate::output::tell;

/// Interval between lines without a terminal.
const LINE: Duration = Duration::from_secs(10);
/// Number of steps of the bar.
const PARTS: u64 = 1000;
/// Total duration of measurements above which it is announced.
const LONG: units::Duration = units::Duration::from_secs(60);

/// Time of the last line; the start of the first experiment before that.
static LAST_LINE: LazyLock<Mutex<Instant>> = LazyLock::new(|| Mutex::new(now()));

#[allow(clippy::disallowed_methods, reason = "only shown to the user; no result depends on it")]
fn now() -> Instant {
    Instant::now()
}

/// Progress of studies, one after the other, as a bar or as lines.
pub(crate) struct Bar(Mutex<Option<ProgressBar>>);

impl Default for Bar {
    fn default() -> Self {
        LazyLock::force(&LAST_LINE);
        Self(Mutex::new(None))
    }
}

impl Bar {
    /// Does something with the bar of the study that runs.
    fn with<R>(&self, work: impl FnOnce(&ProgressBar) -> R) -> R {
        let mut bar = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        work(bar.get_or_insert_with(|| {
            let style =
                ProgressStyle::with_template("{prefix:24} [{bar:24}] {percent:>3} %  {msg}  {eta} left");
            let style = style.unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("=> ");
            ProgressBar::new(PARTS).with_style(style)
        }))
    }
}

impl Progress for Bar {
    fn update(&self, state: &State<'_>) {
        let runs = format!("{} of {}", state.over, counted(state.runs, ["run", "runs"]));
        let is_hidden = self.with(|bar| {
            bar.set_prefix(printable(state.name).into_owned());
            bar.set_position((state.share * PARTS as f64) as u64);
            bar.set_message(runs.clone());
            bar.is_hidden()
        });
        if is_hidden && is_time_for_a_line() {
            tell(&format!("{}: {:.0} %, {runs}", state.name, state.share * 100.0));
        }
    }

    fn real_time(&self, (runs, all): (usize, usize), time: units::Duration) {
        if runs < all {
            tell(&format!(
                "{} of {all} measurements exist from an interrupted run; --fresh makes all of them again",
                all - runs
            ));
        }
        if time >= LONG {
            let minutes = time.0.div_ceil(60_000_000_000);
            let runs = counted(runs, ["run", "runs"]);
            tell(&format!(
                "{runs} in real time: up to {minutes} min, or longer if invalid runs are repeated"
            ));
        }
    }

    fn measuring(&self, run: &str) {
        // Without a visible progress bar, print a line for each run.
        if self.with(ProgressBar::is_hidden) {
            tell(&format!("measuring {run}"));
        }
    }

    fn done(&self) {
        self.with(ProgressBar::finish_and_clear);
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// Time after which work of unknown length is shown.
const MOMENT: Duration = Duration::from_millis(500);

/// Does work of unknown length, and shows that it continues.
pub(crate) fn waiting<R>(name: &str, work: impl FnOnce() -> R) -> R {
    let (bar, begin) = (ProgressBar::new_spinner().with_message(name.to_owned()), now());
    LazyLock::force(&LAST_LINE);
    let update = || {
        // Work of a moment shows nothing.
        if begin.elapsed() >= MOMENT {
            bar.tick();
        }
        if bar.is_hidden() && is_time_for_a_line() {
            tell(&format!("{name}: working for {} s", begin.elapsed().as_secs()));
        }
    };
    let result = with_updates(update, work);
    bar.finish_and_clear();
    result
}

fn is_time_for_a_line() -> bool {
    let mut last = LAST_LINE.lock().unwrap_or_else(PoisonError::into_inner);
    let is_time = last.elapsed() >= LINE;
    if is_time {
        *last = now();
    }
    is_time
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The work is done once, and its result is returned. A panic in it ends the updates.
    #[test]
    fn waiting_ends_with_the_work() {
        assert_eq!(waiting("x", || 7), 7);
        let panic = std::panic::catch_unwind(|| waiting("x", || panic!("as tested")));
        assert!(panic.is_err());
    }
}

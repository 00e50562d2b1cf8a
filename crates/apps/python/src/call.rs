//! A call of Python that works in Rust: threads of its own, progress, Ctrl-C.

use std::any::Any;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use pyo3::prelude::*;
use rayon::{ThreadBuilder, ThreadPool, ThreadPoolBuildError};
use scenario::Watch;
use study::{Progress, State};

use crate::controller::host::Host;
use crate::error;

/// Interval between two looks for signals and at the progress.
const LOOK: Duration = Duration::from_millis(50);
/// Most threads of a call.
const MOST_JOBS: usize = 1024;

/// Work that goes on.
pub(crate) struct Call {
    pub(crate) pool: Arc<ThreadPool>,
    pub(crate) watch: Watch,
    pub(crate) shown: Shown,
}

/// Progress of the studies of a call.
#[derive(Default)]
pub(crate) struct Shown {
    name: Mutex<String>,
    /// Bits of the share, 0 to 1.
    share: AtomicU64,
    done: AtomicU64,
    runs: AtomicU64,
}

impl Progress for Shown {
    fn update(&self, state: &State<'_>) {
        state.name.clone_into(&mut self.name.lock().unwrap_or_else(PoisonError::into_inner));
        self.share.store(state.share.to_bits(), Ordering::Relaxed);
        self.done.store(state.over, Ordering::Relaxed);
        self.runs.store(state.runs as u64, Ordering::Relaxed);
    }
}

impl Shown {
    /// Calls `progress(name, share, done, runs)` with the last state.
    fn tell(&self, progress: &Bound<'_, PyAny>) -> PyResult<()> {
        let name = self.name.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let share = f64::from_bits(self.share.load(Ordering::Relaxed));
        let [done, runs] = [&self.done, &self.runs].map(|number| number.load(Ordering::Relaxed));
        progress.call1((name, share, done, runs)).map(drop)
    }
}

/// Threads of a call, and who wants to see its progress.
pub(crate) struct Manner<'py> {
    /// Number of threads; all processors by default.
    jobs: Option<usize>,
    /// Receives the progress.
    progress: Option<Bound<'py, PyAny>>,
}

impl<'py> Manner<'py> {
    pub(crate) fn new(jobs: Option<usize>, progress: Option<Bound<'py, PyAny>>) -> Self {
        Self { jobs, progress }
    }

    /// Does the work on threads of its own, without the interpreter's lock. Looks for signals and
    /// tells the progress meanwhile. Controllers in Python belong to the host.
    pub(crate) fn call<R: Send>(
        &self,
        py: Python<'_>,
        host: &Arc<Host>,
        work: impl FnOnce(&Call) -> R + Send,
    ) -> PyResult<R> {
        if Host::is_inside_a_call() {
            return Err(error::other(py, "a controller cannot start runs of its own; run them before"));
        }
        let threads = Mutex::new(Vec::new());
        let jobs = self.jobs;
        let pool = py.detach(|| pool(jobs, host, &threads)).map_err(|why| error::other(py, why))?;
        let call = Call { pool: Arc::new(pool), watch: Watch::default(), shown: Shown::default() };
        let result = thread::scope(|scope| {
            let (done, over) = channel::<()>();
            let call = &call;
            let worker = scope.spawn(move || {
                // Dropped at the end, even by a panic.
                let _done = done;
                call.pool.install(|| work(call))
            });
            let interrupt = self.attend(py, host, call, over);
            (py.detach(|| worker.join()), interrupt)
        });
        // No thread of this call is left when the interpreter ends.
        py.detach(|| {
            drop(call);
            let threads = threads.into_inner().unwrap_or_else(PoisonError::into_inner);
            threads.into_iter().for_each(|thread| drop(thread.join()));
        });
        match (result, host.take_fault()) {
            ((_, Some(interrupt)), _) => Err(interrupt),
            (_, Some(fault)) => Err(fault),
            ((Ok(result), None), None) => Ok(result),
            ((Err(panic), None), None) => {
                Err(error::other(py, format!("a defect of Ackclock: {}", text_of(&*panic))))
            }
        }
    }

    /// Waits for the end. Returns the exception of a signal or of the progress, which stops the
    /// work.
    fn attend(&self, py: Python<'_>, host: &Host, call: &Call, over: Receiver<()>) -> Option<PyErr> {
        let over = Mutex::new(over);
        let is_over =
            || over.lock().is_ok_and(|over| over.recv_timeout(LOOK) != Err(RecvTimeoutError::Timeout));
        let mut interrupt = None;
        while !py.detach(is_over) {
            let tell = || self.progress.as_ref().map_or(Ok(()), |progress| call.shown.tell(progress));
            if interrupt.is_some() {
                // If this fails, the work ends by itself.
                let _ = host.interrupt(py);
            } else if let Err(why) = py.check_signals().and_then(|()| tell()) {
                interrupt = Some(why);
                call.watch.stop.store(true, Ordering::Relaxed);
                host.stop();
            } else if host.has_fault() {
                call.watch.stop.store(true, Ordering::Relaxed);
            }
        }
        interrupt
    }
}

/// Creates the threads of a call. Each has a state of the interpreter for its whole life, because
/// one for each call of Python takes 30 us.
fn pool(
    jobs: Option<usize>,
    host: &Arc<Host>,
    threads: &Mutex<Vec<JoinHandle<()>>>,
) -> Result<ThreadPool, ThreadPoolBuildError> {
    let jobs = jobs.unwrap_or_else(|| thread::available_parallelism().map_or(1, NonZeroUsize::get));
    let start = |thread: ThreadBuilder| {
        let host = Arc::clone(host);
        let run = move || {
            host.enter();
            Python::attach(|py| py.detach(|| thread.run()));
        };
        let thread = thread::Builder::new().spawn(run)?;
        threads.lock().unwrap_or_else(PoisonError::into_inner).push(thread);
        Ok(())
    };
    rayon::ThreadPoolBuilder::new().num_threads(jobs.clamp(1, MOST_JOBS)).spawn_handler(start).build()
}

/// Returns the message of a panic.
pub(crate) fn text_of(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message")
}

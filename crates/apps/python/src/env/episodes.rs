//! Environments for learning: many runs at once that pause after each interval for actions.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError};
use std::{mem, process, thread};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyByteArray;
use rayon::ThreadPool;
use rayon::prelude::*;
use scenario::Watch;
use units::Duration;

use crate::controller::host::Host;
use crate::env::episode::{COLUMNS, Episode, Refused, Settings, Start};
use crate::env::view::{FEATURES, bytes};
use crate::error;
use crate::experiment::Experiment;

/// Longest part of an interval between two looks for signals.
const LOOK: Duration = Duration::from_millis(250);

/// Number of an episode, its experiment and case, changes of keys, and the seed.
type Given = (usize, Py<Experiment>, usize, Vec<(String, String)>, u64);

/// Episodes that go on together.
#[pyclass(module = "ackclock._ackclock")]
pub(crate) struct Episodes {
    settings: Arc<Settings>,
    /// A class of Python must be one that threads can share.
    all: Mutex<Vec<Episode>>,
    host: Arc<Host>,
    jobs: usize,
    /// Threads, and the process that has them.
    pool: Option<(u32, ThreadPool)>,
}

#[pymethods]
impl Episodes {
    /// Creates episodes that have not begun.
    #[new]
    fn new(
        interval: &str,
        flows: Vec<usize>,
        action: String,
        history: usize,
        count: usize,
        jobs: Option<usize>,
    ) -> PyResult<Self> {
        let length: Duration = interval.parse().map_err(PyValueError::new_err)?;
        if length == Duration::ZERO || history == 0 || flows.is_empty() || count == 0 {
            return Err(PyValueError::new_err("interval, history, agents and number must be above 0"));
        }
        let acts = action.parse()?;
        let settings = Arc::new(Settings { interval: length, flows, action, acts, history });
        let all = Mutex::new((0..count).map(|_| Episode::new(Arc::clone(&settings))).collect());
        let jobs = jobs.unwrap_or_else(|| thread::available_parallelism().map_or(1, NonZeroUsize::get));
        Ok(Self { settings, all, host: Arc::default(), jobs: jobs.clamp(1, count), pool: None })
    }

    /// Names of the columns of a row.
    #[staticmethod]
    fn columns() -> Vec<&'static str> {
        COLUMNS.to_vec()
    }

    /// Begins some episodes, and plays them until the first interval of an agent ends. With
    /// actions, plays an interval of all others that run. Returns the observations (`float32`) and
    /// rows (`float64`) of all agents.
    fn advance<'py>(
        &mut self,
        py: Python<'py>,
        starts: Option<Vec<Given>>,
        actions: Option<&[u8]>,
    ) -> PyResult<(Bound<'py, PyByteArray>, Bound<'py, PyByteArray>)> {
        let Settings { flows, history, acts, .. } = &*self.settings;
        let (seats, size) = (flows.len(), flows.len() * acts.size());
        // A refused action leaves the episodes as they are.
        let known = self.all.get_mut().unwrap_or_else(PoisonError::into_inner).len();
        if actions.is_some_and(|actions| actions.len() != known * size) {
            let right = known * size / size_of::<f32>();
            return Err(PyValueError::new_err(format!("actions: {right} numbers are needed")));
        }
        let is_wrong = |number: &[u8; 4]| !f32::from_le_bytes(*number).is_finite();
        if actions.is_some_and(|actions| actions.as_chunks().0.iter().any(is_wrong)) {
            let message = "action: it has a number that is not finite; give numbers from -1 to 1";
            return Err(PyValueError::new_err(message));
        }
        let mut all = mem::take(self.all.get_mut().unwrap_or_else(PoisonError::into_inner));
        let count = all.len();
        let mut observations = vec![0.0_f32; count * seats * history * FEATURES.len()];
        let mut rows = vec![0.0_f64; count * seats * COLUMNS.len()];
        let result = self.play(
            py,
            &mut all,
            (starts.unwrap_or_default(), actions, size),
            &mut observations,
            &mut rows,
        );
        if result.is_err() {
            all.iter_mut().for_each(Episode::clear);
        }
        self.all = Mutex::new(all);
        result?;
        Ok((bytes(py, &observations, f32::to_le_bytes)?, bytes(py, &rows, f64::to_le_bytes)?))
    }

    /// Whether an episode goes on.
    fn is_running(&mut self, number: usize) -> bool {
        let all = self.all.get_mut().unwrap_or_else(PoisonError::into_inner);
        all.get(number).is_some_and(Episode::is_running)
    }

    /// Metrics of an episode whose agents are over. Plays all other flows to their end.
    fn metrics(&mut self, py: Python<'_>, number: usize) -> PyResult<Option<BTreeMap<String, f64>>> {
        let watch = Watch::default();
        let all = self.all.get_mut().unwrap_or_else(PoisonError::into_inner);
        let Some(episode) = all.get_mut(number) else { return Ok(None) };
        self.host.enter();
        while episode.is_left() {
            py.detach(|| episode.play_on(LOOK, &watch));
            if let Some(fault) = self.host.take_fault() {
                episode.clear();
                self.host = Arc::default();
                return Err(fault);
            }
            py.check_signals()?;
        }
        Ok(episode.metrics())
    }
}

impl Episodes {
    fn play(
        &mut self,
        py: Python<'_>,
        all: &mut [Episode],
        (starts, actions, size): (Vec<Given>, Option<&[u8]>, usize),
        observations: &mut [f32],
        rows: &mut [f64],
    ) -> PyResult<()> {
        let mut begins: Vec<Option<Start>> = all.iter().map(|_| None).collect();
        for (number, experiment, case, changes, seed) in starts {
            let begin = begins.get_mut(number);
            let begin = begin.ok_or_else(|| PyValueError::new_err(format!("no episode {number}")))?;
            *begin = Some(Start { file: experiment.get().file.clone(), case, changes, seed });
        }
        let mut parts = Vec::with_capacity(all.len());
        let widths = [observations.len(), rows.len()].map(|length| length / all.len());
        let outputs = observations.chunks_mut(widths[0]).zip(rows.chunks_mut(widths[1]));
        for (number, ((episode, begin), outputs)) in all.iter_mut().zip(begins).zip(outputs).enumerate() {
            match actions.and_then(|actions| actions.get(number * size..(number + 1) * size)) {
                Some(own) if begin.is_none() && episode.is_running() => episode.act(own)?,
                _ if begin.is_none() => continue,
                _ => {}
            }
            let is_new = begin.is_some();
            parts.push(Part { episode, begin, is_new, outputs, done: Ok(false) });
        }
        self.run(py, &mut parts)
    }

    /// Plays an interval of these episodes.
    fn run(&mut self, py: Python<'_>, parts: &mut [Part<'_>]) -> PyResult<()> {
        let watch = Watch::default();
        loop {
            if parts.len() > 1 && self.jobs > 1 {
                let pool = self.pool(py)?;
                py.detach(|| pool.install(|| parts.par_iter_mut().for_each(|part| part.play(&watch))));
            } else {
                self.host.enter();
                py.detach(|| parts.iter_mut().for_each(|part| part.play(&watch)));
            }
            if let Some(fault) = self.host.take_fault() {
                // A fault has stopped all controllers of this host.
                (self.host, self.pool) = (Arc::default(), None);
                return Err(fault);
            }
            for part in &mut *parts {
                mem::replace(&mut part.done, Ok(true)).map(|done| part.done = Ok(done)).map_err(|why| {
                    match why {
                        Refused::Mistake(why) => error::diagnostics(py, &why.into()),
                        Refused::Other(why) => error::mistakes(py, &why, &[]),
                    }
                })?;
            }
            if parts.iter().all(|part| matches!(part.done, Ok(true))) {
                return Ok(());
            }
            py.check_signals()?;
        }
    }

    /// Returns the threads. A child process has none of its parent's.
    fn pool(&mut self, py: Python<'_>) -> PyResult<&ThreadPool> {
        let process = process::id();
        if self.pool.as_ref().is_some_and(|(owner, _)| *owner != process) {
            mem::forget(self.pool.take());
        }
        if self.pool.is_none() {
            let host = Arc::clone(&self.host);
            let pool = rayon::ThreadPoolBuilder::new().num_threads(self.jobs);
            let pool = pool.start_handler(move |_| host.enter()).build();
            self.pool = Some((process, pool.map_err(|why| error::other(py, why))?));
        }
        self.pool.as_ref().map(|(_, pool)| pool).ok_or_else(|| error::other(py, "no threads"))
    }
}

/// An episode that plays an interval.
struct Part<'a> {
    episode: &'a mut Episode,
    begin: Option<Start>,
    /// The episode begins, and goes on until there is an agent.
    is_new: bool,
    /// Observations and rows of the episode.
    outputs: (&'a mut [f32], &'a mut [f64]),
    /// Whether the interval is over.
    done: Result<bool, Refused>,
}

impl Part<'_> {
    /// Goes on with the interval, and observes its end.
    fn play(&mut self, watch: &Watch) {
        if let Some(begin) = self.begin.take()
            && let Err(why) = self.episode.start(begin)
        {
            self.done = Err(why);
        }
        if matches!(self.done, Ok(false)) && self.episode.advance(LOOK, watch) {
            let (observations, rows) = &mut self.outputs;
            self.episode.observe(observations, rows);
            self.done = Ok(!(self.is_new && self.episode.waits()));
        }
    }
}

//! Records the calls of a controller.

use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use congestion::{Ack, Algorithm, Cause, Congestion, Control, Controller, Idle, Lost, Needs, PathInfo, Sent};
use units::Time;

use super::{AckSignal, Call, CongestionSignal, LostSignal, SentSignal, Signal};

/// Calls of the controllers of one flow, in order. All handles share them.
///
/// The sender owns its controller, so that the record of the flow needs a cell to read the calls.
/// No thread ever waits for this lock.
#[derive(Clone, Debug, Default)]
pub struct Journal(Arc<Mutex<Calls>>);

#[derive(Debug, Default)]
struct Calls {
    waiting: Vec<Call>,
    /// Time of the last call that had one.
    latest: Time,
}

impl Journal {
    /// Returns the algorithm with controllers whose calls this journal records.
    pub fn watch(&self, algorithm: &Algorithm) -> Algorithm {
        let journal = self.clone();
        algorithm.wrapped(Arc::new(move |controller, path| {
            journal.put(None, controller.control().cwnd, Signal::Begins(path.into()));
            Box::new(Watched { controller, journal: Some(journal.clone()) })
        }))
    }

    /// Takes the calls since the last time.
    pub(crate) fn take(&self) -> Vec<Call> {
        mem::take(&mut self.lock().waiting)
    }

    /// Adds a call. Without a time it has that of the call before.
    fn put(&self, now: Option<Time>, cwnd: u64, signal: Signal) {
        let mut calls = self.lock();
        calls.latest = now.unwrap_or(calls.latest);
        let at = calls.latest.0;
        calls.waiting.push(Call(at, cwnd, signal));
    }

    fn lock(&self) -> MutexGuard<'_, Calls> {
        // No code panics while the lock is held.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Controller whose calls a journal records.
#[derive(Debug)]
struct Watched {
    controller: Box<dyn Controller>,
    journal: Option<Journal>,
}

/// Clones the controller for another path. The calls of the clone are not recorded.
impl Clone for Watched {
    fn clone(&self) -> Self {
        Self { controller: self.controller.clone(), journal: None }
    }
}

impl Watched {
    fn put(&self, now: Option<Time>, signal: impl FnOnce() -> Signal) {
        if let Some(journal) = &self.journal {
            journal.put(now, self.controller.control().cwnd, signal());
        }
    }
}

impl Controller for Watched {
    fn on_sent(&mut self, sent: &Sent) {
        self.controller.on_sent(sent);
        self.put(Some(sent.now), || Signal::Sent(SentSignal::new(sent)));
    }

    fn on_ack(&mut self, ack: &Ack) -> Option<Cause> {
        let asked = self.controller.on_ack(ack);
        self.put(Some(ack.now), || Signal::Ack(Box::new(AckSignal::new(ack))));
        asked
    }

    fn on_congestion(&mut self, event: &Congestion) {
        self.controller.on_congestion(event);
        self.put(Some(event.now), || Signal::Congestion(CongestionSignal::new(event)));
    }

    fn on_lost(&mut self, lost: &Lost) {
        self.controller.on_lost(lost);
        self.put(Some(lost.now), || Signal::Lost(Box::new(LostSignal::new(lost))));
    }

    fn on_spurious(&mut self) {
        self.controller.on_spurious();
        self.put(None, || Signal::Spurious);
    }

    fn on_idle(&mut self, idle: &Idle) {
        self.controller.on_idle(idle);
        self.put(Some(idle.now), || Signal::Idle(idle.idle.0, idle.rto.0));
    }

    fn on_timer(&mut self, now: Time) {
        self.controller.on_timer(now);
        self.put(Some(now), || Signal::Timer);
    }

    fn on_path_change(&mut self, path: PathInfo) {
        self.controller.on_path_change(path);
        self.put(None, || Signal::Path(path.into()));
    }

    fn needs(&self) -> Needs {
        self.controller.needs()
    }

    fn shapes_recovery(&self) -> bool {
        self.controller.shapes_recovery()
    }

    fn control(&self) -> Control {
        self.controller.control()
    }

    fn failure(&self) -> Option<String> {
        self.controller.failure()
    }

    fn trace(&self, put: &mut dyn FnMut(&'static str, f64)) {
        self.controller.trace(put);
    }
}

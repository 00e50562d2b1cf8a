//! The controller of a flow whose decisions an agent makes.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use congestion::{
    Ack, Cause, CloneController, Congestion, Control, Controller, Idle, Lost, Needs, PathInfo, Sent,
    initial_window,
};
use units::{Duration, Rate, Time};

use crate::controller::report::{Report, Sums, next_report};

/// Time between a report and the action that answers it. The simulation pauses between the two.
const ANSWER: Duration = Duration(1);

/// State that a controller shares with its environment.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    /// Window and pacing rate for the next interval.
    pub(crate) action: Option<(u64, Option<Rate>)>,
    /// The last interval, until the environment takes it.
    pub(crate) report: Option<Report>,
    /// Sums of a flow that keeps its controller, or whose last interval may be shorter.
    pub(crate) unfinished: Sums,
    pub(crate) has_sent: bool,
    /// Size of datagrams at the start, bytes.
    pub(crate) mds: u64,
}

/// State of an agent, behind a lock that nobody waits for.
pub(crate) type Handle = Arc<Mutex<Shared>>;

pub(crate) fn lock(shared: &Mutex<Shared>) -> MutexGuard<'_, Shared> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A controller that reports each interval, and takes window and rate from its environment.
#[derive(Debug)]
pub(crate) struct Agent {
    shared: Handle,
    interval: Duration,
    /// Makes the decisions, and the agent only observes. It asks for no timer, because a sender
    /// may send when one fires.
    inner: Option<Box<dyn Controller>>,
    sums: Sums,
    control: Control,
    has_sent: bool,
    /// The next timer applies the action.
    is_asked: bool,
    /// The last interval may be shorter than the others.
    may_end_early: bool,
}

impl Agent {
    /// Creates the controller of a path.
    pub(crate) fn new(
        shared: Handle,
        interval: Duration,
        inner: Option<Box<dyn Controller>>,
        may_end_early: bool,
        path: PathInfo,
    ) -> Self {
        *lock(&shared) = Shared { mds: path.max_datagram_size, ..Shared::default() };
        let window = Control::window(initial_window(path.max_datagram_size));
        let control = Control { wake: next_report(Time::ZERO, interval), ..window };
        let (sums, has_sent, is_asked) = (Sums::default(), false, false);
        Self { shared, interval, inner, sums, control, has_sent, is_asked, may_end_early }
    }

    /// Ends an interval, and asks for an action. A flow that has not begun has none.
    fn report(&mut self, now: Time) {
        let report = self.sums.take(now);
        self.control.wake = next_report(now, self.interval);
        if self.has_sent {
            let mut shared = lock(&self.shared);
            (shared.report, shared.unfinished) = (Some(report), self.sums);
            self.is_asked = true;
            self.control.wake = self.control.wake.min(now + ANSWER);
        }
    }

    /// Applies the action.
    fn answer(&mut self, now: Time) {
        self.is_asked = false;
        self.control.wake = next_report(now, self.interval);
        if let Some((cwnd, rate)) = lock(&self.shared).action.take() {
            (self.control.cwnd, self.control.pacing_rate) = (cwnd, rate);
        }
    }

    /// Adds to the sums of the interval.
    #[inline]
    fn add(&mut self, add: impl FnOnce(&mut Sums)) {
        if self.inner.is_some() {
            add(&mut lock(&self.shared).unfinished);
            return;
        }
        add(&mut self.sums);
        if self.may_end_early {
            lock(&self.shared).unfinished = self.sums;
        }
    }

    /// Begins the first interval of a flow, which may be shorter.
    fn begin(&mut self, now: Time) {
        self.has_sent = true;
        self.control.wake = next_report(now, self.interval);
        self.add(|sums| {
            sums.take(now);
        });
        lock(&self.shared).has_sent = true;
    }
}

impl CloneController for Agent {
    /// A second path has no agent: it keeps the window.
    fn clone_controller(&self) -> Box<dyn Controller> {
        let copy = Self { inner: self.inner.clone(), shared: Handle::default(), ..*self };
        Box::new(copy)
    }
}

impl Controller for Agent {
    fn on_sent(&mut self, sent: &Sent) {
        if !self.has_sent {
            self.begin(sent.now);
        }
        self.add(|sums| sums.add_sent(sent));
        if let Some(inner) = &mut self.inner {
            inner.on_sent(sent);
        }
    }

    fn on_ack(&mut self, ack: &Ack<'_>) -> Option<Cause> {
        self.add(|sums| sums.add_ack(ack));
        self.inner.as_mut().and_then(|inner| inner.on_ack(ack))
    }

    fn on_congestion(&mut self, event: &Congestion) {
        self.add(|sums| sums.add_event(event));
        if let Some(inner) = &mut self.inner {
            inner.on_congestion(event);
        }
    }

    fn on_lost(&mut self, lost: &Lost<'_>) {
        if let Some(inner) = &mut self.inner {
            inner.on_lost(lost);
        }
    }

    fn on_spurious(&mut self) {
        if let Some(inner) = &mut self.inner {
            inner.on_spurious();
        }
    }

    fn on_idle(&mut self, idle: &Idle) {
        if let Some(inner) = &mut self.inner {
            inner.on_idle(idle);
        }
    }

    fn on_timer(&mut self, now: Time) {
        if let Some(inner) = &mut self.inner {
            inner.on_timer(now);
        } else if self.is_asked {
            self.answer(now);
        } else if now >= self.control.wake {
            self.report(now);
        }
    }

    fn on_path_change(&mut self, path: PathInfo) {
        if let Some(inner) = &mut self.inner {
            inner.on_path_change(path);
        }
    }

    fn needs(&self) -> Needs {
        // Reports have the delivery rate.
        let needs = self.inner.as_ref().map_or_else(Needs::default, |inner| inner.needs());
        Needs { rate_samples: true, ..needs }
    }

    fn shapes_recovery(&self) -> bool {
        self.inner.as_ref().is_some_and(|inner| inner.shapes_recovery())
    }

    fn control(&self) -> Control {
        self.inner.as_ref().map_or(self.control, |inner| inner.control())
    }

    fn failure(&self) -> Option<String> {
        self.inner.as_ref().and_then(|inner| inner.failure())
    }

    fn trace(&self, put: &mut dyn FnMut(&'static str, f64)) {
        if let Some(inner) = &self.inner {
            inner.trace(put);
        }
    }
}

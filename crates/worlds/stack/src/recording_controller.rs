//! Records what another stack reports to one of our controllers, and the controller's reaction.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use congestion::{Ack, Cause, Congestion, Control, Controller, Idle, Lost, Needs, PathInfo, Sent};
use scenario::guest::Snapshot;
use units::Time;

use crate::event_tap::ControllerEvent;

/// A controller whose calls are recorded. All handles share one controller.
#[derive(Debug)]
pub(crate) struct RecordingController(Arc<Mutex<State>>);

#[derive(Clone, Debug)]
struct State {
    controller: Box<dyn Controller>,
    events: Vec<ControllerEvent>,
    seen: Snapshot,
}

impl RecordingController {
    /// Wraps a controller that has not been called yet.
    pub(crate) fn new(controller: Box<dyn Controller>) -> Self {
        let state = State { controller, events: Vec::new(), seen: Snapshot::default() };
        Self(Arc::new(Mutex::new(state)))
    }

    /// Replaces the shared controller by this one and returns another handle.
    pub(crate) fn begin(&self, controller: Box<dyn Controller>) -> Self {
        let state = State { controller, events: Vec::new(), seen: Snapshot::default() };
        *self.lock() = state;
        Self(Arc::clone(&self.0))
    }

    /// Returns another handle.
    pub(crate) fn handle(&self) -> Self {
        Self(Arc::clone(&self.0))
    }

    /// Takes the events recorded since the last call.
    pub(crate) fn take(&self) -> Vec<ControllerEvent> {
        std::mem::take(&mut self.lock().events)
    }

    /// Returns the sender's state as far as the controller knows it.
    pub(crate) fn observe(&self) -> Snapshot {
        let state = self.lock();
        Snapshot { cwnd: Some(state.controller.control().cwnd), ..state.seen }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // No code panics while the lock is held.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Clones the controller for another path. The clone is independent, and its events are not read.
impl Clone for RecordingController {
    fn clone(&self) -> Self {
        Self(Arc::new(Mutex::new(self.lock().clone())))
    }
}

impl Controller for RecordingController {
    fn on_sent(&mut self, sent: &Sent) {
        let mut state = self.lock();
        state.seen.bytes_in_flight = Some(sent.bytes_in_flight);
        state.controller.on_sent(sent);
    }

    fn on_ack(&mut self, ack: &Ack) -> Option<Cause> {
        let mut state = self.lock();
        state.seen.bytes_in_flight = Some(ack.bytes_in_flight);
        if let Some(sample) = ack.latest_rtt {
            state.seen.latest_rtt = Some(sample);
            state.seen.smoothed_rtt = Some(ack.smoothed_rtt);
            state.events.push(ControllerEvent::Rtt(sample));
        }
        let requested = state.controller.on_ack(ack);
        let control = state.controller.control();
        state.events.push(ControllerEvent::AckProcessed(control));
        requested
    }

    fn on_congestion(&mut self, event: &Congestion) {
        let mut state = self.lock();
        state.controller.on_congestion(event);
        let cwnd = state.controller.control().cwnd;
        state.events.push(ControllerEvent::Reduced(event.cause, cwnd));
    }

    fn on_lost(&mut self, lost: &Lost) {
        let mut state = self.lock();
        state.seen.bytes_in_flight = Some(lost.bytes_in_flight);
        state.controller.on_lost(lost);
    }

    fn on_spurious(&mut self) {
        let mut state = self.lock();
        state.controller.on_spurious();
        state.events.push(ControllerEvent::Undone);
    }

    fn on_idle(&mut self, idle: &Idle) {
        self.lock().controller.on_idle(idle);
    }

    fn on_timer(&mut self, now: Time) {
        self.lock().controller.on_timer(now);
    }

    fn on_path_change(&mut self, path: PathInfo) {
        self.lock().controller.on_path_change(path);
    }

    fn needs(&self) -> Needs {
        self.lock().controller.needs()
    }

    fn shapes_recovery(&self) -> bool {
        self.lock().controller.shapes_recovery()
    }

    fn control(&self) -> Control {
        self.lock().controller.control()
    }

    fn trace(&self, put: &mut dyn FnMut(&'static str, f64)) {
        self.lock().controller.trace(put);
    }
}

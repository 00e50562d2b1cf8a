//! Records what another stack reports to its controller, and the controller's reaction.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use congestion::{Ack, Cause, Congestion, Control, Controller, Idle, Lost, Needs, PathInfo, Sent};
use scenario::guest::Snapshot;
use units::{Duration, Time};

use crate::event_tap::{ControllerEvent, TapEvent};

/// A log of one controller: one of ours, or one built into the stack. All handles share it.
///
/// The stack owns its controller and returns no mutable reference to it, so that the endpoint needs
/// a cell to read the log. No thread ever waits for this lock.
#[derive(Debug, Default)]
pub(super) struct ControllerLog(Arc<Mutex<State>>);

#[derive(Clone, Debug, Default)]
struct State {
    /// Our controller, to which all calls are passed on. `None`: the stack's own logs its changes.
    ours: Option<Box<dyn Controller>>,
    events: Vec<ControllerEvent>,
    seen: Snapshot,
}

impl State {
    fn control(&self) -> Control {
        let window = self.seen.cwnd.unwrap_or(0);
        self.ours.as_ref().map_or(Control::window(window), |ours| ours.control())
    }
}

/// The log of a stack's own controller.
impl ControllerLog {
    /// Records an RTT sample and the estimate before it. The sample is that of the newest packet
    /// that an ACK acknowledges (RFC 9002 section 5.1).
    pub(super) fn sample(&self, latest: Duration, smoothed: Duration) {
        let mut state = self.lock();
        state.seen.latest_rtt = Some(latest);
        state.seen.smoothed_rtt = Some(smoothed);
        state.events.push(ControllerEvent::Rtt(latest));
    }

    /// Records a processed ACK and the bytes in flight after it.
    pub(super) fn settled(&self, control: Control, in_flight: u64) {
        let mut state = self.lock();
        state.seen.bytes_in_flight = Some(in_flight);
        state.seen.cwnd = Some(control.cwnd);
        state.events.push(ControllerEvent::AckProcessed(control));
    }

    /// Records the window before and after a congestion event. One that did not shrink the window
    /// belongs to the current recovery period, and is not reported.
    pub(super) fn congestion(&self, cause: Cause, before: u64, after: u64) {
        let mut state = self.lock();
        state.seen.cwnd = Some(after);
        if after < before {
            state.events.push(ControllerEvent::Reduced(cause, after));
        }
    }

    /// Records the window before and after the last reduction was undone.
    #[cfg_attr(not(feature = "noq"), allow(dead_code, reason = "quinn does not undo reductions"))]
    pub(super) fn undone(&self, before: u64, after: u64) {
        let mut state = self.lock();
        state.seen.cwnd = Some(after);
        if after > before {
            state.events.push(ControllerEvent::Undone);
        }
    }

    /// Records the initial window.
    pub(super) fn begin(&self, cwnd: u64) {
        self.lock().seen.cwnd = Some(cwnd);
    }
}

impl ControllerLog {
    /// Starts the shared log again with one of our controllers, and returns another handle.
    pub(super) fn start(&self, controller: Box<dyn Controller>) -> Self {
        *self.lock() = State { ours: Some(controller), ..State::default() };
        self.handle()
    }

    /// Returns another handle.
    pub(super) fn handle(&self) -> Self {
        Self(Arc::clone(&self.0))
    }

    /// Moves the events recorded since the last call to the end of this list.
    pub(super) fn take(&self, events: &mut Vec<TapEvent>) {
        events.extend(self.lock().events.drain(..).map(TapEvent::Controller));
    }

    /// Returns the sender's state as far as the controller knows it.
    pub(super) fn observe(&self) -> Snapshot {
        let State { ours, seen, .. } = &*self.lock();
        Snapshot { cwnd: ours.as_ref().map(|ours| ours.control().cwnd).or(seen.cwnd), ..*seen }
    }

    /// Returns the controller, if it is one of ours.
    pub(super) fn controller(&self) -> Option<&dyn Controller> {
        self.lock().ours.is_some().then_some(self)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // No code panics while the lock is held.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Clones the controller for another path. The clone is independent, and its events are not read.
impl Clone for ControllerLog {
    fn clone(&self) -> Self {
        Self(Arc::new(Mutex::new(self.lock().clone())))
    }
}

impl Controller for ControllerLog {
    fn failure(&self) -> Option<String> {
        self.lock().ours.as_ref()?.failure()
    }

    fn on_sent(&mut self, sent: &Sent) {
        let mut state = self.lock();
        state.seen.bytes_in_flight = Some(sent.bytes_in_flight);
        state.ours.iter_mut().for_each(|ours| ours.on_sent(sent));
    }

    fn on_ack(&mut self, ack: &Ack) -> Option<Cause> {
        let mut state = self.lock();
        state.seen.bytes_in_flight = Some(ack.bytes_in_flight);
        if let Some(sample) = ack.latest_rtt {
            state.seen.latest_rtt = Some(sample);
            state.seen.smoothed_rtt = Some(ack.smoothed_rtt);
            state.events.push(ControllerEvent::Rtt(sample));
        }
        let requested = state.ours.as_mut().and_then(|ours| ours.on_ack(ack));
        let control = state.control();
        state.events.push(ControllerEvent::AckProcessed(control));
        requested
    }

    fn on_congestion(&mut self, event: &Congestion) {
        let mut state = self.lock();
        state.ours.iter_mut().for_each(|ours| ours.on_congestion(event));
        let cwnd = state.control().cwnd;
        state.events.push(ControllerEvent::Reduced(event.cause, cwnd));
    }

    fn on_lost(&mut self, lost: &Lost) {
        let mut state = self.lock();
        state.seen.bytes_in_flight = Some(lost.bytes_in_flight);
        state.ours.iter_mut().for_each(|ours| ours.on_lost(lost));
    }

    fn on_spurious(&mut self) {
        let mut state = self.lock();
        state.ours.iter_mut().for_each(|ours| ours.on_spurious());
        state.events.push(ControllerEvent::Undone);
    }

    fn on_idle(&mut self, idle: &Idle) {
        self.lock().ours.iter_mut().for_each(|ours| ours.on_idle(idle));
    }

    fn on_timer(&mut self, now: Time) {
        self.lock().ours.iter_mut().for_each(|ours| ours.on_timer(now));
    }

    fn on_path_change(&mut self, path: PathInfo) {
        self.lock().ours.iter_mut().for_each(|ours| ours.on_path_change(path));
    }

    fn needs(&self) -> Needs {
        self.lock().ours.as_ref().map_or_else(Needs::default, |ours| ours.needs())
    }

    fn shapes_recovery(&self) -> bool {
        self.lock().ours.as_ref().is_some_and(|ours| ours.shapes_recovery())
    }

    fn control(&self) -> Control {
        self.lock().control()
    }

    fn trace(&self, put: &mut dyn FnMut(&'static str, f64)) {
        self.lock().ours.iter().for_each(|ours| ours.trace(put));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_news() {
        let log = ControllerLog::default();
        log.begin(12_000);
        log.sample(Duration::from_millis(50), Duration::from_millis(60));
        log.settled(Control::window(13_200), 5_000);
        log.congestion(Cause::Loss, 13_200, 6_600);
        log.congestion(Cause::Loss, 6_600, 6_600);
        log.undone(6_600, 13_200);
        let seen = log.handle().observe();
        assert_eq!((seen.cwnd, seen.bytes_in_flight), (Some(13_200), Some(5_000)));
        assert_eq!(seen.smoothed_rtt, Some(Duration::from_millis(60)));
        let mut events = Vec::new();
        log.take(&mut events);
        assert!(
            matches!(
                events[..],
                [
                    TapEvent::Controller(ControllerEvent::Rtt(_)),
                    TapEvent::Controller(ControllerEvent::AckProcessed(_)),
                    TapEvent::Controller(ControllerEvent::Reduced(Cause::Loss, 6_600)),
                    TapEvent::Controller(ControllerEvent::Undone)
                ]
            ),
            "{events:?}"
        );
        log.take(&mut events);
        assert_eq!((events.len(), log.controller().is_none()), (4, true), "none twice");
    }
}

//! Logs the window of a stack's built-in controller and its changes.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use congestion::{Cause, Control};
use scenario::guest::Snapshot;
use units::Duration;

use crate::event_tap::ControllerEvent;

/// A log of one controller. All handles share it.
#[derive(Clone, Debug, Default)]
pub(super) struct ControllerLog(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    events: Vec<ControllerEvent>,
    seen: Snapshot,
}

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

    /// Takes the events recorded since the last call.
    pub(super) fn take(&self) -> Vec<ControllerEvent> {
        std::mem::take(&mut self.lock().events)
    }

    /// Returns the sender's state as far as the controller knows it.
    pub(super) fn observe(&self) -> Snapshot {
        self.lock().seen
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // No code panics while the lock is held.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
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
        let seen = log.clone().observe();
        assert_eq!((seen.cwnd, seen.bytes_in_flight), (Some(13_200), Some(5_000)));
        assert_eq!(seen.smoothed_rtt, Some(Duration::from_millis(60)));
        let events = log.take();
        assert!(
            matches!(
                events[..],
                [
                    ControllerEvent::Rtt(_),
                    ControllerEvent::AckProcessed(_),
                    ControllerEvent::Reduced(Cause::Loss, 6_600),
                    ControllerEvent::Undone
                ]
            ),
            "{events:?}"
        );
        assert!(log.take().is_empty());
    }
}

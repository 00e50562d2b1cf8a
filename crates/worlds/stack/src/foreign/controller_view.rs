//! The view of an endpoint's controller: one of ours, or one built into the stack.

use congestion::Controller;
use scenario::guest::Snapshot;

use super::controller_log::ControllerLog;
use crate::event_tap::ControllerEvent;
use crate::recording_controller::RecordingController;

/// The recorded controller of an endpoint.
pub(super) enum ControllerView {
    /// One of our controllers inside the stack, with its variables.
    Ours(RecordingController),
    /// A built-in controller of the stack: its window and the changes of it.
    Builtin(ControllerLog),
}

impl ControllerView {
    /// Takes the events recorded since the last call.
    pub(super) fn take(&self) -> Vec<ControllerEvent> {
        match self {
            Self::Ours(recording) => recording.take(),
            Self::Builtin(log) => log.take(),
        }
    }

    /// Returns the sender's state.
    pub(super) fn observe(&self) -> Snapshot {
        match self {
            Self::Ours(recording) => recording.observe(),
            Self::Builtin(log) => log.observe(),
        }
    }

    /// Returns the controller, if it is one of ours.
    pub(super) fn controller(&self) -> Option<&dyn Controller> {
        match self {
            Self::Ours(recording) => Some(recording),
            Self::Builtin(_) => None,
        }
    }
}

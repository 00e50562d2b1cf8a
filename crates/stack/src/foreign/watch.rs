//! Who looks at the controller of an end: ours, or the stack's own.

use congestion::Controller;
use sim::guest::Snapshot;

use super::notes::Notes;
use crate::peer::News;
use crate::spy::Spy;

/// Of either kind.
pub(super) enum Watch {
    /// One of ours inside the stack, with variables of its own.
    Ours(Spy),
    /// The stack's own: its window and what happened to it.
    Own(Notes),
}

impl Watch {
    /// News since the last time.
    pub(super) fn take(&self) -> Vec<News> {
        match self {
            Self::Ours(spy) => spy.take(),
            Self::Own(notes) => notes.take(),
        }
    }

    /// How the sender stands.
    pub(super) fn observe(&self) -> Snapshot {
        match self {
            Self::Ours(spy) => spy.observe(),
            Self::Own(notes) => notes.observe(),
        }
    }

    /// The controller, if it is one of ours.
    pub(super) fn controller(&self) -> Option<&dyn Controller> {
        match self {
            Self::Ours(spy) => Some(spy),
            Self::Own(_) => None,
        }
    }
}

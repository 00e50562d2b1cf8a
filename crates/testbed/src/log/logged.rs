//! A flow, by whoever carried it.

use scenario::Record;
use units::Duration;

use super::flow::FlowLog;
use crate::seat::Left;

/// The kernel, or a guest.
#[derive(Debug)]
pub(crate) enum Logged {
    Kernel(FlowLog),
    Guest(Left),
}

impl Logged {
    /// Its record.
    pub(crate) fn into_record(self) -> Record {
        match self {
            Self::Kernel(log) => log.record,
            Self::Guest(left) => left.record,
        }
    }

    /// See [`Left`].
    pub(crate) fn owd_error(&self) -> Option<Duration> {
        match self {
            Self::Kernel(_) => None,
            Self::Guest(left) => left.owd_error,
        }
    }
}

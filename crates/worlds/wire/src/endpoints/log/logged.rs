//! Results of a flow of either kind.

use scenario::Record;
use units::Duration;

use crate::endpoints::guest_socket::GuestResult;
use crate::log::FlowLog;

/// Results of a flow that the kernel or a guest carried.
#[derive(Debug)]
pub(crate) enum Logged {
    Kernel(FlowLog),
    Guest(GuestResult),
}

impl Logged {
    pub(crate) fn into_record(self) -> Record {
        match self {
            Self::Kernel(log) => log.record,
            Self::Guest(result) => result.record,
        }
    }

    /// Returns the median error of a guest's one-way delays.
    pub(crate) fn owd_error(&self) -> Option<Duration> {
        match self {
            Self::Kernel(_) => None,
            Self::Guest(result) => result.owd_error,
        }
    }
}

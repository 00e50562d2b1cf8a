//! Time at which a packet leaves the server, and the queue before it.

use units::{Duration, Time};

/// Departure of a packet from the server.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Departure {
    pub(crate) at: Time,
    /// Extra delay of the segment in which it departs.
    pub(crate) extra_delay: Duration,
    /// Time at which it leaves the queue, if that is not as soon as the packet ahead has departed.
    pub(crate) begins: Option<Time>,
}

impl Departure {
    pub(crate) fn new(at: Time) -> Self {
        Self { at, extra_delay: Duration::ZERO, begins: None }
    }
}

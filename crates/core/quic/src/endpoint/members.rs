//! The connections of an endpoint.

use units::Time;

use crate::connection::Connection;
use crate::endpoint::routing::Handle;
use crate::small_map::SmallMap;

/// A connection and its pending work.
pub(super) struct Member {
    pub(super) connection: Connection,
    /// Whether it is in the endpoint's `touched`.
    pub(super) touched: bool,
    /// Whether it is in `sending`.
    pub(super) sending: bool,
    /// Whether it is in `stale`.
    pub(super) stale: bool,
    /// The time of its entry in `timers`.
    pub(super) due: Option<Time>,
}

impl Member {
    pub(super) const fn new(connection: Connection) -> Self {
        Self { connection, touched: false, sending: false, stale: false, due: None }
    }
}

/// All connections of an endpoint.
pub(super) type Members = SmallMap<Handle, Member>;

//! The connections of an endpoint.

use units::Time;

use crate::by_id::ById;
use crate::connection::Connection;
use crate::endpoint::routing::Handle;

/// A connection, and what of it is to be looked at.
pub(super) struct Member {
    pub(super) connection: Connection,
    /// It stands in the endpoint's `touched`.
    pub(super) touched: bool,
    /// It stands in `sending`.
    pub(super) sending: bool,
    /// It stands in `stale`.
    pub(super) stale: bool,
    /// As it stands in `timers`.
    pub(super) due: Option<Time>,
}

impl Member {
    pub(super) const fn new(connection: Connection) -> Self {
        Self { connection, touched: false, sending: false, stale: false, due: None }
    }
}

/// All of them.
pub(super) type Members = ById<Handle, Member>;

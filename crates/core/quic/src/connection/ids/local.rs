//! Connection IDs issued by this end, which the peer uses as destinations.

use std::collections::BTreeMap;

use crate::config::MAX_CONNECTION_IDS;
use crate::error::{Code, Error};
use crate::wire::connection_id::ConnectionId;
use crate::wire::frame::Frame;
use crate::wire::frame_type::FrameType;

const fn violation(reason: &'static str) -> Error {
    Error::new(Code::PROTOCOL_VIOLATION, reason).in_frame(FrameType::RETIRE_CONNECTION_ID.0)
}

/// IDs that the peer may use, at most 8, and the same number that it was asked to retire.
#[derive(Clone, Debug)]
pub struct LocalIds {
    /// ID and stateless reset token by sequence number. The first ID is not sent in
    /// NEW_CONNECTION_ID.
    issued: BTreeMap<u64, (ConnectionId, [u8; 16])>,
    next: u64,
    retire_prior_to: u64,
    /// Number of IDs that the peer was not asked to retire. Cached, since it is read often and
    /// rarely changes.
    active: u64,
    /// Number of IDs that the peer stores.
    limit: u64,
    /// Whether the ID has zero length, so that there can be no other (section 5.1).
    is_empty: bool,
}

impl LocalIds {
    /// Starts with the ID of the handshake, whose sequence number is 0. A server declares
    /// `reset_token` in its transport parameters.
    pub fn new(first: ConnectionId, reset_token: [u8; 16]) -> Self {
        Self {
            issued: BTreeMap::from([(0, (first, reset_token))]),
            next: 1,
            retire_prior_to: 0,
            active: 1,
            limit: 2,
            is_empty: first.is_empty(),
        }
    }

    /// Sets the peer's `active_connection_id_limit`.
    pub fn set_limit(&mut self, active_connection_id_limit: u64) {
        self.limit = active_connection_id_limit.min(MAX_CONNECTION_IDS);
    }

    /// Returns how many more IDs the peer can store. Call [`issue`](Self::issue) that often.
    pub fn wanted(&self) -> usize {
        if self.is_empty {
            return 0;
        }
        self.limit.saturating_sub(self.active) as usize
    }

    /// Counts active IDs. Those that the peer was asked to retire do not count (section 5.1.1).
    fn count_active(&mut self) {
        self.active = self.issued.range(self.retire_prior_to..).count() as u64;
    }

    /// Adds a new ID of the same length as the others, with its stateless reset token. Returns its
    /// sequence number, for NEW_CONNECTION_ID.
    pub fn issue(&mut self, id: ConnectionId, reset_token: [u8; 16]) -> u64 {
        let sequence = self.next;
        self.next += 1;
        self.issued.insert(sequence, (id, reset_token));
        self.count_active();
        sequence
    }

    /// Asks the peer to retire all IDs that it has. The request is part of the next
    /// NEW_CONNECTION_ID frames that [`wanted`](Self::wanted) calls for.
    ///
    /// Returns `false`, without effect, for a zero-length ID or while an earlier request is
    /// pending.
    pub fn rotate(&mut self) -> bool {
        let settled = self.issued.range(..self.retire_prior_to).next().is_none();
        if self.is_empty || !settled {
            return false;
        }
        self.retire_prior_to = self.next;
        self.count_active();
        true
    }

    /// Returns the NEW_CONNECTION_ID frame of a sequence number. `None` if the peer has retired the
    /// ID.
    pub fn frame(&self, sequence: u64) -> Option<Frame<'static>> {
        let &(id, reset_token) = self.issued.get(&sequence)?;
        // A retransmission carries the current value, but never more than its own sequence number.
        let retire_prior_to = self.retire_prior_to.min(sequence);
        Some(Frame::NewConnectionId { sequence, retire_prior_to, id, reset_token })
    }

    /// Processes RETIRE_CONNECTION_ID, in a packet sent to `destination`. Returns the retired ID,
    /// which must no longer be routed; `None` if it was retired before.
    ///
    /// # Errors
    /// PROTOCOL_VIOLATION for a number that was never sent, for the destination of the packet
    /// itself, or if this end's ID has zero length (section 19.16).
    pub fn on_retire(
        &mut self,
        sequence: u64,
        destination: &ConnectionId,
    ) -> Result<Option<ConnectionId>, Error> {
        if self.is_empty {
            return Err(violation("RETIRE_CONNECTION_ID for a zero-length connection ID"));
        }
        if sequence >= self.next {
            return Err(violation("connection ID was never issued"));
        }
        if self.issued.get(&sequence).is_some_and(|(id, _)| id == destination) {
            return Err(violation("connection ID is the destination of its own packet"));
        }
        let retired = self.issued.remove(&sequence);
        self.count_active();
        Ok(retired.map(|(id, _)| id))
    }

    /// Returns the IDs to which packets may be sent, by sequence number.
    pub fn iter(&self) -> impl Iterator<Item = &ConnectionId> + '_ {
        self.issued.values().map(|(id, _)| id)
    }
}

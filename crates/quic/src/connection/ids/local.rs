//! Connection IDs that this end gives out: the peer puts them into its packets as destinations.

use std::collections::BTreeMap;

use crate::config::MAX_CONNECTION_IDS;
use crate::error::{Code, Error};
use crate::wire::connection_id::ConnectionId;
use crate::wire::frame::Frame;
use crate::wire::frame_type::FrameType;

const fn violation(reason: &'static str) -> Error {
    Error::new(Code::PROTOCOL_VIOLATION, reason).in_frame(FrameType::RETIRE_CONNECTION_ID.0)
}

/// The IDs that the peer may use, at most 8, and as many that it was asked to give up.
#[derive(Clone, Debug)]
pub struct LocalIds {
    /// By sequence number: the ID and its stateless reset token. The first is in nobody's NEW_CONNECTION_ID.
    issued: BTreeMap<u64, (ConnectionId, [u8; 16])>,
    next: u64,
    retire_prior_to: u64,
    /// Those that the peer was not asked to give up: asked for after everything that happens, and seldom another number.
    active: u64,
    /// What the peer keeps.
    limit: u64,
    /// Of zero length: there is no other (section 5.1).
    is_empty: bool,
}

impl LocalIds {
    /// With the ID of the handshake, whose number is 0. `reset_token` a server declares in its transport parameters.
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

    /// What the peer's `active_connection_id_limit` says.
    pub fn set_limit(&mut self, active_connection_id_limit: u64) {
        self.limit = active_connection_id_limit.min(MAX_CONNECTION_IDS);
    }

    /// How many more the peer has room for: so often [`issue`](Self::issue) is called.
    pub fn wanted(&self) -> usize {
        if self.is_empty {
            return 0;
        }
        self.limit.saturating_sub(self.active) as usize
    }

    /// Section 5.1.1: those that the peer is asked to give up do not count.
    fn count_active(&mut self) {
        self.active = self.issued.range(self.retire_prior_to..).count() as u64;
    }

    /// Takes a new ID of the same length as the others, with its stateless reset token. Gives its number, for NEW_CONNECTION_ID.
    pub fn issue(&mut self, id: ConnectionId, reset_token: [u8; 16]) -> u64 {
        let sequence = self.next;
        self.next += 1;
        self.issued.insert(sequence, (id, reset_token));
        self.count_active();
        sequence
    }

    /// The peer is asked to give up all IDs that it has, in the NEW_CONNECTION_ID frames of those that [`wanted`](Self::wanted) calls for
    /// next. Says whether it is: not with an ID of zero length, nor before it has given up those of the last time.
    pub fn rotate(&mut self) -> bool {
        let settled = self.issued.range(..self.retire_prior_to).next().is_none();
        if self.is_empty || !settled {
            return false;
        }
        self.retire_prior_to = self.next;
        self.count_active();
        true
    }

    /// The NEW_CONNECTION_ID of a number; none when the peer has given it up, and nothing is to be sent.
    pub fn frame(&self, sequence: u64) -> Option<Frame<'static>> {
        let &(id, reset_token) = self.issued.get(&sequence)?;
        // Sent again after a change of mind it says so too, but never more than its own number.
        let retire_prior_to = self.retire_prior_to.min(sequence);
        Some(Frame::NewConnectionId { sequence, retire_prior_to, id, reset_token })
    }

    /// RETIRE_CONNECTION_ID, in a packet that came to `destination`. The ID, to which nothing leads from now on; none when it was given
    /// up before.
    ///
    /// # Errors
    /// PROTOCOL_VIOLATION: a number that was never sent; the packet's own destination; this end's ID has zero length (section 19.16).
    pub fn on_retire(
        &mut self,
        sequence: u64,
        destination: &ConnectionId,
    ) -> Result<Option<ConnectionId>, Error> {
        if self.is_empty {
            return Err(violation("there is one connection ID, of zero length"));
        }
        if sequence >= self.next {
            return Err(violation("a connection ID that was never given out"));
        }
        if self.issued.get(&sequence).is_some_and(|(id, _)| id == destination) {
            return Err(violation("the connection ID that the packet itself came to"));
        }
        let retired = self.issued.remove(&sequence);
        self.count_active();
        Ok(retired.map(|(id, _)| id))
    }

    /// The IDs to which packets may come, in order of their numbers.
    pub fn iter(&self) -> impl Iterator<Item = &ConnectionId> + '_ {
        self.issued.values().map(|(id, _)| id)
    }

    /// The number of an ID, when the peer may use it.
    pub fn sequence_of(&self, id: &ConnectionId) -> Option<u64> {
        self.issued.iter().find(|(_, issued)| issued.0 == *id).map(|(sequence, _)| *sequence)
    }
}

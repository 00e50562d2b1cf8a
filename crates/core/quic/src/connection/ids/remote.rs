//! Connection IDs issued by the peer, which are the destinations of this end's packets.

use std::collections::BTreeMap;

use crate::config::MAX_CONNECTION_IDS;
use crate::error::{Code, Error};
use crate::streams::ranges::RangeSet;
use crate::wire::connection_id::ConnectionId;
use crate::wire::frame_type::FrameType;
use crate::wire::transport_parameters::PreferredAddress;

/// Maximum number of unacknowledged RETIRE_CONNECTION_ID frames. Section 5.1.2 asks for twice the
/// limit of IDs.
pub const MAX_RETIRING: usize = 2 * MAX_CONNECTION_IDS as usize;
/// Maximum number of ranges of retired sequence numbers. For a peer that respects the limits, the
/// gaps between them are at most the IDs in transit or in use.
const MAX_GAPS: usize = MAX_RETIRING + 2 * MAX_CONNECTION_IDS as usize;

fn error(code: Code, reason: &'static str) -> Error {
    Error::new(code, reason).in_frame(FrameType::NEW_CONNECTION_ID.0)
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    id: ConnectionId,
    reset_token: Option<[u8; 16]>,
    /// Whether packets were sent to it, or will be. Only then its token is accepted for a reset
    /// (section 10.3.1).
    used: bool,
}

/// Connection IDs of the peer, at most 8.
#[derive(Clone, Debug)]
pub struct RemoteIds {
    known: BTreeMap<u64, Entry>,
    current: u64,
    retire_prior_to: u64,
    limit: u64,
    /// Retired sequence numbers.
    gone: RangeSet,
    /// Retired sequence numbers whose RETIRE_CONNECTION_ID is unacknowledged. The value is true
    /// until [`RemoteIds::next_retire`] has returned the number.
    retiring: BTreeMap<u64, bool>,
}

impl RemoteIds {
    /// Starts with the ID of the handshake, whose sequence number is 0. `limit` is the
    /// `active_connection_id_limit` that this end declared.
    pub fn new(first: ConnectionId, limit: u64) -> Self {
        let entry = Entry { id: first, reset_token: None, used: true };
        Self {
            known: BTreeMap::from([(0, entry)]),
            current: 0,
            retire_prior_to: 0,
            limit: limit.min(MAX_CONNECTION_IDS),
            gone: RangeSet::new(),
            retiring: BTreeMap::new(),
        }
    }

    /// Sets `stateless_reset_token` from the server's transport parameters.
    pub fn set_reset_token(&mut self, token: [u8; 16]) {
        if let Some(first) = self.known.get_mut(&0) {
            first.reset_token = Some(token);
        }
    }

    /// Adds the ID of `preferred_address` from the server's transport parameters. Its sequence
    /// number is 1 (section 5.1.1).
    pub fn on_preferred_address(&mut self, address: &PreferredAddress) {
        let entry = Entry { id: address.id, reset_token: Some(address.reset_token), used: false };
        self.known.insert(1, entry);
    }

    /// Returns the destination of packets.
    pub fn current(&self) -> ConnectionId {
        self.known[&self.current].id
    }

    /// Returns the ID of a reserved sequence number. `None` once the peer has asked to retire it.
    pub fn id(&self, sequence: u64) -> Option<ConnectionId> {
        self.known.get(&sequence).map(|entry| entry.id)
    }

    /// Returns the number of IDs stored.
    pub fn len(&self) -> usize {
        self.known.len()
    }

    /// Returns `false`: there is always an ID.
    pub fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// Processes NEW_CONNECTION_ID, whose fields were already validated by the decoder.
    ///
    /// # Errors
    /// PROTOCOL_VIOLATION if packets go to a zero-length ID, or if number, ID and token contradict
    /// an earlier frame (sections 19.15, 10.3.2). CONNECTION_ID_LIMIT_ERROR for more IDs than this
    /// end stores, or more than 16 to retire at once.
    pub fn on_new(
        &mut self,
        sequence: u64,
        retire_prior_to: u64,
        id: ConnectionId,
        reset_token: [u8; 16],
    ) -> Result<(), Error> {
        if self.current().is_empty() {
            return Err(error(
                Code::PROTOCOL_VIOLATION,
                "NEW_CONNECTION_ID after a zero-length connection ID",
            ));
        }
        if self.conflicts(sequence, &id, &reset_token) {
            return Err(error(Code::PROTOCOL_VIOLATION, "connection ID contradicts an earlier one"));
        }
        self.retire_prior_to = self.retire_prior_to.max(retire_prior_to);
        if !self.known.contains_key(&sequence) && !self.is_gone(sequence) {
            self.known.insert(sequence, Entry { id, reset_token: Some(reset_token), used: false });
        }
        self.apply_retire_prior_to();
        let excess = self.known.len() as u64 > self.limit
            || self.retiring.len() > MAX_RETIRING
            || self.gone.len() > MAX_GAPS;
        if excess { Err(error(Code::CONNECTION_ID_LIMIT_ERROR, "too many connection IDs")) } else { Ok(()) }
    }

    fn is_gone(&self, sequence: u64) -> bool {
        self.gone.missing(sequence..sequence + 1).next().is_none()
    }

    fn conflicts(&self, sequence: u64, id: &ConnectionId, token: &[u8; 16]) -> bool {
        self.known.iter().any(|(number, entry)| {
            let (same, same_id) = (*number == sequence, entry.id == *id);
            // Only clients know the token of the handshake's ID.
            let same_token = entry.reset_token.as_ref().map(|known| known == token);
            same != same_id || same_token.is_some_and(|same_token| same != same_token)
        })
    }

    /// Retires the IDs that the peer wants retired. The active ID stays until there is another,
    /// since packets need a destination. A peer that sends its IDs in order has another one on the
    /// way.
    fn apply_retire_prior_to(&mut self) {
        if self.current < self.retire_prior_to && !self.switch() {
            // A reserved ID of another path is better than one that must be retired.
            if let Some((&reserved, _)) = self.known.range(self.retire_prior_to..).next() {
                self.adopt(reserved);
            }
        }
        let below: Vec<u64> = self.known.range(..self.retire_prior_to).map(|(number, _)| *number).collect();
        below.into_iter().for_each(|sequence| self.release(sequence));
    }

    fn drop(&mut self, sequence: u64) {
        if self.known.remove(&sequence).is_some() {
            self.gone.insert(sequence..sequence + 1);
            self.retiring.insert(sequence, true);
        }
    }

    /// Reserves an unused ID for packets on another path (section 9.5). `None` if there is no
    /// unused ID.
    pub fn reserve(&mut self) -> Option<u64> {
        let from = self.retire_prior_to;
        let (sequence, entry) = self.known.range_mut(from..).find(|(_, entry)| !entry.used)?;
        entry.used = true;
        Some(*sequence)
    }

    /// Switches packets to another ID, and retires the previous one. Returns `false` if there is no
    /// other.
    pub fn switch(&mut self) -> bool {
        let Some(next) = self.reserve() else { return false };
        self.adopt(next);
        true
    }

    /// Switches packets to a reserved ID, and retires the previous one. Has no effect if the peer
    /// wanted it retired.
    pub fn adopt(&mut self, sequence: u64) {
        if self.known.contains_key(&sequence) && sequence != self.current {
            let before = std::mem::replace(&mut self.current, sequence);
            self.drop(before);
        }
    }

    /// Releases a reserved ID, because its path is gone. The active ID stays.
    pub fn release(&mut self, sequence: u64) {
        if sequence != self.current {
            self.drop(sequence);
        }
    }

    /// Returns a sequence number for RETIRE_CONNECTION_ID, each once unless it is lost.
    pub fn next_retire(&mut self) -> Option<u64> {
        let (sequence, new) = self.retiring.iter_mut().find(|(_, new)| **new)?;
        *new = false;
        Some(*sequence)
    }

    /// Reports whether [`next_retire`](Self::next_retire) has a number to return.
    pub fn has_retirement(&self) -> bool {
        self.retiring.values().any(|new| *new)
    }

    /// Processes the loss of RETIRE_CONNECTION_ID, which is sent again if it is unacknowledged.
    pub fn on_retire_lost(&mut self, sequence: u64) {
        self.retiring.entry(sequence).and_modify(|new| *new = true);
    }

    /// Processes the acknowledgement of RETIRE_CONNECTION_ID.
    pub fn on_retire_acked(&mut self, sequence: u64) {
        self.retiring.remove(&sequence);
    }

    /// Reports whether the last 16 bytes of a datagram are a stateless reset token of an ID in use
    /// (section 10.3.1).
    pub fn is_reset(&self, last: &[u8; 16]) -> bool {
        // Compares every byte of every token, so that the time reveals nothing.
        self.reset_tokens().fold(false, |found, token| {
            found | (token.iter().zip(last).fold(0, |all, (a, b)| all | (a ^ b)) == 0)
        })
    }

    /// Returns the tokens that currently mean a stateless reset.
    pub fn reset_tokens(&self) -> impl Iterator<Item = [u8; 16]> + '_ {
        self.known.values().filter(|entry| entry.used).filter_map(|entry| entry.reset_token)
    }

    /// Returns the number of sequence numbers and ranges stored besides the IDs.
    pub fn memory(&self) -> usize {
        self.retiring.len() + self.gone.len()
    }
}

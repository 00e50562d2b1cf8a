//! Connection IDs that the peer gives out: where this end's packets go.

use std::collections::BTreeMap;

use crate::config::MAX_CONNECTION_IDS;
use crate::error::{Code, Error};
use crate::streams::ranges::RangeSet;
use crate::wire::connection_id::ConnectionId;
use crate::wire::frame_type::FrameType;
use crate::wire::transport_parameters::PreferredAddress;

/// How many RETIRE_CONNECTION_ID may wait for their ACK; section 5.1.2 asks for twice the limit of IDs.
pub const MAX_RETIRING: usize = 2 * MAX_CONNECTION_IDS as usize;
/// Numbers that were given up are kept as ranges. A peer that keeps to the limits has at most as many gaps in them as IDs are on their
/// way or in use.
const MAX_GAPS: usize = MAX_RETIRING + 2 * MAX_CONNECTION_IDS as usize;

fn error(code: Code, reason: &'static str) -> Error {
    Error::new(code, reason).in_frame(FrameType::NEW_CONNECTION_ID.0)
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    id: ConnectionId,
    reset_token: Option<[u8; 16]>,
    /// A packet went there, or will: only then its token means a reset (section 10.3.1).
    used: bool,
}

/// The peer's IDs, at most 8.
#[derive(Clone, Debug)]
pub struct RemoteIds {
    known: BTreeMap<u64, Entry>,
    current: u64,
    retire_prior_to: u64,
    limit: u64,
    /// Numbers that were given up.
    gone: RangeSet,
    /// Those of them whose RETIRE_CONNECTION_ID is not acknowledged; true: nobody has asked for it yet.
    retiring: BTreeMap<u64, bool>,
}

impl RemoteIds {
    /// With the ID of the handshake, whose number is 0. `limit` is what this end has declared as `active_connection_id_limit`.
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

    /// `stateless_reset_token` of the server's transport parameters.
    pub fn set_reset_token(&mut self, token: [u8; 16]) {
        if let Some(first) = self.known.get_mut(&0) {
            first.reset_token = Some(token);
        }
    }

    /// `preferred_address` of the server's transport parameters: its ID has number 1 (section 5.1.1).
    pub fn on_preferred_address(&mut self, address: &PreferredAddress) {
        let entry = Entry { id: address.id, reset_token: Some(address.reset_token), used: false };
        self.known.insert(1, entry);
    }

    /// Where packets go.
    pub fn current(&self) -> ConnectionId {
        self.known[&self.current].id
    }

    /// The ID of a number that was reserved; none once the peer wanted it back.
    pub fn id(&self, sequence: u64) -> Option<ConnectionId> {
        self.known.get(&sequence).map(|entry| entry.id)
    }

    /// How many IDs are kept.
    pub fn len(&self) -> usize {
        self.known.len()
    }

    /// Never.
    pub fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// NEW_CONNECTION_ID (the wire's rules about its fields hold).
    ///
    /// # Errors
    /// PROTOCOL_VIOLATION when packets go to an ID of zero length, or when number, ID and token do not agree with what came before
    /// (sections 19.15, 10.3.2); CONNECTION_ID_LIMIT_ERROR for more IDs than this end keeps, or more than 16 to be given up at once.
    pub fn on_new(
        &mut self,
        sequence: u64,
        retire_prior_to: u64,
        id: ConnectionId,
        reset_token: [u8; 16],
    ) -> Result<(), Error> {
        if self.current().is_empty() {
            return Err(error(Code::PROTOCOL_VIOLATION, "there is one connection ID, of zero length"));
        }
        if self.conflicts(sequence, &id, &reset_token) {
            return Err(error(Code::PROTOCOL_VIOLATION, "a connection ID that contradicts an earlier one"));
        }
        self.retire_prior_to = self.retire_prior_to.max(retire_prior_to);
        if !self.known.contains_key(&sequence) && !self.is_gone(sequence) {
            self.known.insert(sequence, Entry { id, reset_token: Some(reset_token), used: false });
        }
        self.obey();
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
            // The token of the handshake's ID is known to clients alone.
            let same_token = entry.reset_token.as_ref().map(|known| known == token);
            same != same_id || same_token.is_some_and(|same_token| same != same_token)
        })
    }

    /// Gives up what the peer wants back. The one in use stays until there is another: packets must go somewhere, and a peer that has
    /// sent its IDs in order has another on its way.
    fn obey(&mut self) {
        if self.current < self.retire_prior_to && !self.switch() {
            // Reserved for another path, but better than one that the peer wants back.
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

    /// Takes an ID that was not used yet, for packets on another path (section 9.5); none when there is none.
    pub fn reserve(&mut self) -> Option<u64> {
        let from = self.retire_prior_to;
        let (sequence, entry) = self.known.range_mut(from..).find(|(_, entry)| !entry.used)?;
        entry.used = true;
        Some(*sequence)
    }

    /// Packets go to another ID from now on, and the one before is given up. Says whether there was another.
    pub fn switch(&mut self) -> bool {
        let Some(next) = self.reserve() else { return false };
        self.adopt(next);
        true
    }

    /// Packets go to a reserved ID from now on, and the one before is given up. Nothing happens when the peer wanted it back.
    pub fn adopt(&mut self, sequence: u64) {
        if self.known.contains_key(&sequence) && sequence != self.current {
            let before = std::mem::replace(&mut self.current, sequence);
            self.drop(before);
        }
    }

    /// A reserved ID is no longer needed: its path is gone. The one in use stays.
    pub fn release(&mut self, sequence: u64) {
        if sequence != self.current {
            self.drop(sequence);
        }
    }

    /// A number for RETIRE_CONNECTION_ID; each once.
    pub fn next_retire(&mut self) -> Option<u64> {
        let (sequence, new) = self.retiring.iter_mut().find(|(_, new)| **new)?;
        *new = false;
        Some(*sequence)
    }

    /// RETIRE_CONNECTION_ID of this number is not acknowledged yet: when it was lost, it is sent again.
    pub fn is_retiring(&self, sequence: u64) -> bool {
        self.retiring.contains_key(&sequence)
    }

    /// RETIRE_CONNECTION_ID was acknowledged.
    pub fn on_retire_acked(&mut self, sequence: u64) {
        self.retiring.remove(&sequence);
    }

    /// Whether the last 16 bytes of a datagram end this connection: the token of an ID that is in use (section 10.3.1).
    pub fn is_reset(&self, last: &[u8; 16]) -> bool {
        // Every byte of every token is compared: the time tells nothing.
        self.reset_tokens().fold(false, |found, token| {
            found | (token.iter().zip(last).fold(0, |all, (a, b)| all | (a ^ b)) == 0)
        })
    }

    /// The tokens that mean a reset now.
    pub fn reset_tokens(&self) -> impl Iterator<Item = [u8; 16]> + '_ {
        self.known.values().filter(|entry| entry.used).filter_map(|entry| entry.reset_token)
    }

    /// How many numbers and ranges are kept besides the IDs.
    pub fn memory(&self) -> usize {
        self.retiring.len() + self.gone.len()
    }
}

//! Stateless reset (RFC 9000 section 10.3): what a peer gets whose connection is forgotten here.

use ring::hmac;

use crate::random::Random;
use crate::wire::connection_id::ConnectionId;

/// Of a token, in bytes.
pub const TOKEN_LEN: usize = 16;
/// No shorter datagram is a reset: two fixed bits, 38 that nobody can guess, the token.
pub const MIN_RESET: usize = 5 + TOKEN_LEN;
/// Up to this length of a datagram its answer is one byte shorter; longer ones are answered with at least 42 bytes, as packets have.
const SHORT: usize = 43;
/// Longer resets say no more.
const MAX_RESET: usize = 128;

/// The secret from which the tokens of all connection IDs follow, so that they survive what they are for (section 10.3.2).
#[derive(Clone, Debug)]
pub struct ResetKey(hmac::Key);

impl ResetKey {
    /// The same key gives the same tokens, after a restart too.
    pub fn new(key: &[u8; 32]) -> Self {
        Self(hmac::Key::new(hmac::HMAC_SHA256, key))
    }

    /// The token of a connection ID of this end.
    pub fn token(&self, id: &ConnectionId) -> [u8; TOKEN_LEN] {
        first_bytes(&hmac::sign(&self.0, id))
    }

    /// A name for a token of a peer, by which it can be searched for: the time that a search takes says nothing of the token
    /// (section 10.3.1).
    pub fn name(&self, token: &[u8; TOKEN_LEN]) -> [u8; TOKEN_LEN] {
        let mut context = hmac::Context::with_key(&self.0);
        // Longer than any connection ID, so never what `token` signs.
        context.update(b"the name of a peer's token");
        context.update(token);
        first_bytes(&context.sign())
    }
}

fn first_bytes(tag: &hmac::Tag) -> [u8; TOKEN_LEN] {
    *tag.as_ref().first_chunk().expect("32 bytes of SHA-256")
}

/// The datagram that answers one of so many bytes; none when that is too short. Always shorter, so that two ends without a connection do
/// not answer each other for ever (section 10.3.3).
pub fn datagram(token: &[u8; TOKEN_LEN], answered: usize, random: &mut Random) -> Option<Vec<u8>> {
    let most = answered.checked_sub(1).filter(|most| *most >= MIN_RESET)?.min(MAX_RESET);
    let len = if answered <= SHORT { most } else { SHORT - 1 + random.below(most + 2 - SHORT) };
    let mut bytes = vec![0; len];
    let (head, tail) = bytes.split_at_mut(len - TOKEN_LEN);
    random.fill(head);
    // Looks like a packet with a short header.
    head[0] = 0x40 | (head[0] & 0x3f);
    tail.copy_from_slice(token);
    Some(bytes)
}

/// What would be the token if the datagram were a reset; none when it is too short for one. Whatever its first bits: another version may
/// have other headers (section 10.3.1).
pub fn suspected(datagram: &[u8]) -> Option<[u8; TOKEN_LEN]> {
    datagram.last_chunk().filter(|_| datagram.len() >= MIN_RESET).copied()
}

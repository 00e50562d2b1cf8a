//! Stateless reset, the answer to a peer whose connection is unknown here (RFC 9000 section 10.3).

use ring::hmac;

use crate::random::Random;
use crate::wire::connection_id::ConnectionId;

/// Length of a stateless reset token, in bytes.
pub const TOKEN_LEN: usize = 16;
/// Minimum length of a stateless reset, in bytes: two fixed bits, 38 unpredictable bits, and the
/// token.
pub const MIN_RESET: usize = 5 + TOKEN_LEN;
/// Longest datagram whose answer is exactly one byte shorter. Longer ones get an answer of at least
/// 42 bytes, like an ordinary packet.
const SHORT: usize = 43;
/// Maximum length of a stateless reset, in bytes. A longer one would carry no more information.
const MAX_RESET: usize = 128;

/// Key from which the tokens of all connection IDs are derived. So tokens survive the loss of
/// connection state (section 10.3.2).
#[derive(Clone, Debug)]
pub struct ResetKey(hmac::Key);

impl ResetKey {
    /// Creates the key. The same bytes give the same tokens, even after a restart.
    pub fn new(key: &[u8; 32]) -> Self {
        Self(hmac::Key::new(hmac::HMAC_SHA256, key))
    }

    /// Returns the token of a connection ID of this end.
    pub fn token(&self, id: &ConnectionId) -> [u8; TOKEN_LEN] {
        first_bytes(&hmac::sign(&self.0, id))
    }

    /// Returns a lookup key for a token of a peer. So the time of a lookup reveals nothing about
    /// the token (section 10.3.1).
    pub fn name(&self, token: &[u8; TOKEN_LEN]) -> [u8; TOKEN_LEN] {
        let mut context = hmac::Context::with_key(&self.0);
        // Longer than any connection ID, so `token` never signs the same input.
        context.update(b"the name of a peer's token");
        context.update(token);
        first_bytes(&context.sign())
    }
}

fn first_bytes(tag: &hmac::Tag) -> [u8; TOKEN_LEN] {
    *tag.as_ref().first_chunk().expect("32 bytes of SHA-256")
}

/// Returns a stateless reset in answer to a datagram of `answered` bytes, or `None` if that is too
/// short.
///
/// The reset is always shorter, so that two ends without a connection do not answer each other
/// forever (section 10.3.3).
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

/// Returns the token that the datagram would hold if it were a stateless reset, or `None` if it is
/// too short.
///
/// The first bits are not checked, since another version may use other headers (section 10.3.1).
pub fn suspected(datagram: &[u8]) -> Option<[u8; TOKEN_LEN]> {
    datagram.last_chunk().filter(|_| datagram.len() >= MIN_RESET).copied()
}

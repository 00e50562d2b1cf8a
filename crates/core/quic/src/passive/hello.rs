//! Reads the unencrypted part of a TLS handshake from the CRYPTO stream of Initial packets: the
//! client's random, and the cipher suite that the server chose (RFC 8446 section 4.1).

use std::collections::BTreeMap;

use super::key_log::Random;
use super::keys::Suite;

/// Handshake message types.
const CLIENT_HELLO: u8 = 1;
const SERVER_HELLO: u8 = 2;
/// Bytes of message type, length and version.
const BEFORE_RANDOM: usize = 1 + 3 + 2;
/// Bytes of a hello that are needed: up to a session ID of 32 bytes and the cipher suite after it.
const NEEDED: usize = BEFORE_RANDOM + 32 + 1 + 32 + 2;
/// Highest stream offset that is kept, in bytes. A ClientHello with post-quantum keys has less than
/// two kilobytes.
const MAX_OFFSET: u64 = 16 << 10;

/// Beginning of the CRYPTO stream of one end. Pieces may arrive in any order and more than once.
#[derive(Clone, Debug, Default)]
pub(crate) struct Hello {
    pieces: BTreeMap<u64, Vec<u8>>,
}

impl Hello {
    /// Adds the data of a CRYPTO frame.
    pub(crate) fn take(&mut self, offset: u64, data: &[u8]) {
        if offset < MAX_OFFSET {
            let longest = self.pieces.entry(offset).or_default();
            if longest.len() < data.len() {
                *longest = data.to_vec();
            }
        }
    }

    /// Returns the stream from its beginning to the first gap.
    fn start(&self) -> Vec<u8> {
        let mut start = Vec::new();
        for (&offset, data) in &self.pieces {
            let Some(known) = (start.len() as u64).checked_sub(offset) else { break };
            start.extend(data.iter().skip(known as usize));
            if start.len() >= NEEDED {
                break;
            }
        }
        start
    }

    /// Returns the random of a ClientHello.
    pub(crate) fn random(&self) -> Option<Random> {
        let start = self.start();
        let random = start.get(BEFORE_RANDOM..BEFORE_RANDOM + 32)?;
        (start[0] == CLIENT_HELLO).then(|| random.try_into().ok()).flatten()
    }

    /// Returns the number of the cipher suite in a ServerHello. A HelloRetryRequest has the same
    /// form, and must name the same suite.
    pub(crate) fn suite(&self) -> Option<u16> {
        let start = self.start();
        let session = usize::from(*start.get(BEFORE_RANDOM + 32)?);
        let at = BEFORE_RANDOM + 32 + 1 + session;
        let number = start.get(at..at + 2)?;
        (start[0] == SERVER_HELLO).then(|| u16::from_be_bytes([number[0], number[1]]))
    }

    /// Returns the cipher suite, if packets can be read with it.
    pub(crate) fn known_suite(&self) -> Option<Suite> {
        self.suite().and_then(Suite::from_number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(kind: u8, session: u8, suite: u16) -> Vec<u8> {
        let mut all = vec![kind, 0, 0, 90, 3, 3];
        all.extend([9; 32]);
        all.push(session);
        all.extend(vec![1; session.into()]);
        all.extend(suite.to_be_bytes());
        all.extend([0; 40]);
        all
    }

    #[test]
    fn pieces_in_any_order() {
        let client = message(CLIENT_HELLO, 0, 0);
        let mut hello = Hello::default();
        hello.take(30, &client[30..]);
        assert_eq!(hello.random(), None);
        hello.take(0, &client[..10]);
        hello.take(5, &client[5..8]);
        assert_eq!(hello.random(), None);
        hello.take(8, &client[8..31]);
        assert_eq!(hello.random(), Some([9; 32]));
        assert_eq!(hello.suite(), None, "a ClientHello has no chosen suite");
    }

    #[test]
    fn the_suite_stands_behind_the_session_id() {
        for session in [0, 32] {
            let mut hello = Hello::default();
            hello.take(0, &message(SERVER_HELLO, session, 0x1303));
            assert_eq!((hello.known_suite(), hello.random()), (Some(Suite::ChaCha20Poly1305), None));
        }
        assert_eq!(Hello::default().suite(), None);
        let mut far = Hello::default();
        far.take(u64::MAX - 1, &[1; 5]);
        assert_eq!(far.random(), None);
    }
}

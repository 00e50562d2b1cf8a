//! Reads the first message of a CRYPTO stream: a hello with the client's random or the cipher suite
//! that the server chose (RFC 8446 section 4.1), or EncryptedExtensions (section 4.3.1).

use std::collections::BTreeMap;

use super::key_log::Random;
use super::keys::Suite;
use crate::Side;
use crate::wire::codec::Truncated;
use crate::wire::{Reader, TransportParameters};

/// Handshake message types.
const CLIENT_HELLO: u8 = 1;
const SERVER_HELLO: u8 = 2;
const ENCRYPTED_EXTENSIONS: u8 = 8;
/// TLS extension with the transport parameters (RFC 9001 section 8.2).
const TRANSPORT_PARAMETERS: u16 = 0x39;
/// Bytes of message type, length and version.
const BEFORE_RANDOM: usize = 1 + 3 + 2;
/// Bytes of a hello that are needed: up to a session ID of 32 bytes and the cipher suite after it.
const NEEDED: usize = BEFORE_RANDOM + 32 + 1 + 32 + 2;
/// Highest stream offset that is kept, and largest number of bytes. A ClientHello with post-quantum
/// keys has less than two kilobytes.
const MAX_OFFSET: u64 = 16 << 10;
/// Largest number of pieces that are kept. Clients that shuffle their hello send some twenty.
const MAX_PIECES: usize = 256;

/// Beginning of the CRYPTO stream of one end. Pieces may arrive in any order and more than once.
#[derive(Clone, Debug, Default)]
pub(crate) struct Hello {
    pieces: BTreeMap<u64, Vec<u8>>,
    /// Number of bytes in the pieces.
    size: usize,
}

impl Hello {
    /// Adds the data of a CRYPTO frame.
    pub(crate) fn take(&mut self, offset: u64, data: &[u8]) {
        let known = self.pieces.get(&offset).map(Vec::len);
        let is_longer = known.is_none_or(|known| known < data.len());
        let fits = self.size + data.len() <= MAX_OFFSET as usize && self.pieces.len() < MAX_PIECES;
        if offset < MAX_OFFSET && is_longer && fits {
            self.size += data.len() - known.unwrap_or(0);
            self.pieces.insert(offset, data.to_vec());
        }
    }

    /// Returns the stream from its beginning to the first gap, or at least `needed` bytes of it.
    fn start(&self, needed: usize) -> Vec<u8> {
        let mut start = Vec::new();
        for (&offset, data) in &self.pieces {
            let Some(known) = (start.len() as u64).checked_sub(offset) else { break };
            start.extend(data.iter().skip(known as usize));
            if start.len() >= needed {
                break;
            }
        }
        start
    }

    /// Returns the random of a ClientHello.
    pub(crate) fn random(&self) -> Option<Random> {
        let start = self.start(NEEDED);
        let random = start.get(BEFORE_RANDOM..BEFORE_RANDOM + 32)?;
        (start[0] == CLIENT_HELLO).then(|| random.try_into().ok()).flatten()
    }

    /// Returns the number of the cipher suite in a ServerHello. A HelloRetryRequest has the same
    /// form, and must name the same suite.
    pub(crate) fn suite(&self) -> Option<u16> {
        let start = self.start(NEEDED);
        let session = usize::from(*start.get(BEFORE_RANDOM + 32)?);
        let at = BEFORE_RANDOM + 32 + 1 + session;
        let number = start.get(at..at + 2)?;
        (start[0] == SERVER_HELLO).then(|| u16::from_be_bytes([number[0], number[1]]))
    }

    /// Returns the first message, without its type and length, once it is complete.
    fn message(&self, kind: u8) -> Option<Vec<u8>> {
        let mut start = self.start(MAX_OFFSET as usize);
        let head = start.first_chunk::<4>()?;
        let length = u32::from_be_bytes([0, head[1], head[2], head[3]]) as usize;
        (head[0] == kind && start.len() >= 4 + length).then(|| {
            start.truncate(4 + length);
            start.split_off(4)
        })
    }

    /// Returns the transport parameters of a ClientHello or of EncryptedExtensions.
    pub(crate) fn parameters(&self, from: Side) -> Option<TransportParameters> {
        let kind = if from == Side::Client { CLIENT_HELLO } else { ENCRYPTED_EXTENSIONS };
        let message = self.message(kind)?;
        let value = extension(&message, from == Side::Client).ok().flatten()?;
        TransportParameters::decode(value, from).ok()
    }

    /// Returns the cipher suite, if packets can be read with it.
    pub(crate) fn known_suite(&self) -> Option<Suite> {
        self.suite().and_then(Suite::from_number)
    }
}

/// Returns the extension with the transport parameters.
fn extension(message: &[u8], is_hello: bool) -> Result<Option<&[u8]>, Truncated> {
    let mut r = Reader::new(message);
    if is_hello {
        r.bytes(BEFORE_RANDOM - 4 + 32)?;
        let session = r.u8()?;
        r.bytes(session.into())?;
        let suites = r.u16()?;
        r.bytes(suites.into())?;
        let compression = r.u8()?;
        r.bytes(compression.into())?;
    }
    r.u16()?;
    while !r.is_empty() {
        let (kind, length) = (r.u16()?, r.u16()?);
        let value = r.bytes(length.into())?;
        if kind == TRANSPORT_PARAMETERS {
            return Ok(Some(value));
        }
    }
    Ok(None)
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
        let mut hello = Hello::default();
        // EncryptedExtensions of nine bytes: extension 0x39 with max_ack_delay of 7 ms.
        hello.take(0, &[8, 0, 0, 9, 0, 7, 0, 0x39, 0, 3, 0x0b, 1]);
        assert_eq!(hello.parameters(Side::Server), None, "incomplete");
        hello.take(12, &[7, 99]);
        assert_eq!(hello.parameters(Side::Server).unwrap().max_ack_delay, 7);
        // Pieces that overlap take no more memory than others.
        let mut many = Hello::default();
        (0..100).for_each(|offset| many.take(offset, &[1; 1000]));
        assert_eq!((many.pieces.len(), many.size), (16, 16_000));
        let mut far = Hello::default();
        far.take(u64::MAX - 1, &[1; 5]);
        assert_eq!(far.random(), None);
    }
}

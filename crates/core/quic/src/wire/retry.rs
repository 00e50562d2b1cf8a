//! Retry packets and their integrity tag (RFC 9000 section 17.2.5, RFC 9001 section 5.8).

use ring::aead::{AES_128_GCM, Aad, LessSafeKey, Nonce, UnboundKey};

use super::codec::{Full, Writer};
use super::connection_id::ConnectionId;
use super::header::{Retry, VERSION_1, retry_first};

const KEY: [u8; 16] =
    [0xbe, 0x0c, 0x69, 0x0b, 0x9f, 0x66, 0x57, 0x5a, 0x1d, 0x76, 0x6b, 0x54, 0xe3, 0x68, 0xc8, 0x4e];
const NONCE: [u8; 12] = [0x46, 0x15, 0x99, 0xd3, 0x5d, 0x63, 0x2b, 0xf2, 0x23, 0x98, 0x25, 0xbb];
/// Length of the integrity tag, in bytes.
pub const TAG_LEN: usize = 16;

/// Computes the integrity tag of a Retry. `original` is the Destination Connection ID of the
/// client's first Initial.
///
/// Key and nonce are public. The tag protects against corruption and off-path guesses, but not
/// against attackers on the path.
pub fn tag(original: &ConnectionId, before_tag: &[u8]) -> [u8; TAG_LEN] {
    let mut pseudo = Vec::with_capacity(1 + original.len() + before_tag.len());
    pseudo.push(original.len() as u8);
    pseudo.extend_from_slice(original);
    pseudo.extend_from_slice(before_tag);
    let key = LessSafeKey::new(UnboundKey::new(&AES_128_GCM, &KEY).expect("a key of 16 bytes"));
    let nonce = Nonce::assume_unique_for_key(NONCE);
    let tag = key.seal_in_place_separate_tag(nonce, Aad::from(pseudo), &mut []).expect("nothing to seal");
    tag.as_ref().try_into().expect("a tag of 16 bytes")
}

/// Reports whether a Retry answers the client's Initial with this Destination Connection ID. A
/// client drops other Retry packets (section 17.2.5.2).
pub fn is_genuine(packet: &Retry<'_>, original: &ConnectionId) -> bool {
    tag(original, packet.before_tag) == packet.tag
}

/// Returns the number of bytes that [`encode`] writes.
pub const fn size(destination_len: usize, source_len: usize, token: &[u8]) -> usize {
    7 + destination_len + source_len + token.len() + TAG_LEN
}

/// Encodes a Retry. `destination` is the client's source connection ID, `source` a new one of the
/// server. The low four bits of `unused` fill the unused bits.
///
/// # Errors
/// Fails if the packet does not fit. Nothing is written then.
pub fn encode(
    w: &mut Writer<'_>,
    unused: u8,
    destination: &ConnectionId,
    source: &ConnectionId,
    token: &[u8],
    original: &ConnectionId,
) -> Result<(), Full> {
    w.room(size(destination.len(), source.len(), token))?;
    let start = w.position();
    w.u8(retry_first(unused));
    w.bytes(&VERSION_1.to_be_bytes());
    for id in [destination, source] {
        w.u8(id.len() as u8);
        w.bytes(id);
    }
    w.bytes(token);
    let tag = tag(original, &w.written()[start..]);
    w.bytes(&tag);
    Ok(())
}

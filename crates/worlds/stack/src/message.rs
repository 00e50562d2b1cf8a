//! Encodes part of a media stream as a message (RFC 9221): its offset, and the pattern's bytes from
//! there on.
//!
//! ```text
//! message = offset (8 bytes, network order), bytes
//! ```
//!
//! The offset plays the role of RTP's sequence numbers and timestamps. It tells the receiver which
//! frame the bytes belong to.

use quic::streams::pattern;

use crate::stream_chunks::is_pattern;

/// Bytes of a message besides stream data.
pub(crate) const HEADER: usize = 8;

/// Encodes `len` bytes of the pattern from `offset` on.
pub(crate) fn encode(offset: u64, len: usize) -> Vec<u8> {
    let mut message = vec![0; HEADER + len];
    let (header, bytes) = message.split_at_mut(HEADER);
    header.copy_from_slice(&offset.to_be_bytes());
    pattern::fill(offset, bytes);
    message
}

/// Decodes a message into offset and length. Returns `None` if its bytes differ from the pattern.
pub(crate) fn decode(message: &[u8]) -> Option<(u64, u64)> {
    let (header, bytes) = message.split_first_chunk::<HEADER>()?;
    let offset = u64::from_be_bytes(*header);
    is_pattern(offset, bytes).then_some((offset, bytes.len() as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_and_back() {
        for (offset, len) in [(0, 0), (7, 1), (1 << 40, 1200)] {
            assert_eq!(decode(&encode(offset, len)), Some((offset, len as u64)));
        }
        let mut other = encode(9, 100);
        other[50] ^= 1;
        assert_eq!(decode(&other), None);
        assert_eq!(decode(&[0; 7]), None);
        assert_eq!(decode(&[0xff; 20]), None);
    }
}

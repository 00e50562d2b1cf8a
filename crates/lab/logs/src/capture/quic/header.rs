//! Parts of a QUIC header that are the same in all versions (RFC 8999), and the types of long
//! headers.

use quic::Level;
use quic::wire::{ConnectionId, Reader};

const LONG: u8 = 0x80;
const FIXED: u8 = 0x40;
pub(super) const SPIN: u8 = 0x20;
const VERSION_1: u32 = 1;
/// Version 2 (RFC 9369).
const VERSION_2: u32 = 0x6b33_43cf;
/// Drafts of version 1 have this with their number.
const DRAFTS: u32 = 0xff00_0000;
/// Size of the smallest 1-RTT packet: header, packet number, sample (RFC 9001 section 5.4.2).
const SMALLEST: usize = 21;

/// A long header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Long {
    /// Packet type. `None` for Retry and Version Negotiation.
    pub(super) level: Option<Level>,
    pub(super) destination: ConnectionId,
    pub(super) source: ConnectionId,
    /// True for Version Negotiation, which begins no connection.
    pub(super) is_negotiation: bool,
}

/// First packet of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Header {
    Long(Long),
    Short,
}

impl Header {
    /// Reads a header. Returns `None` if this is no packet of QUIC.
    pub(super) fn parse(payload: &[u8]) -> Option<Self> {
        let first = *payload.first()?;
        if first & LONG == 0 {
            return Some(Self::Short);
        }
        let mut reader = Reader::new(payload.get(1..)?);
        let version = reader.u32().ok()?;
        let mut id = || {
            let length = reader.u8().ok()?;
            ConnectionId::new(reader.bytes(length.into()).ok()?)
        };
        let (destination, source) = (id()?, id()?);
        let kind = first >> 4 & 3;
        let is_negotiation = version == 0;
        let level = match version {
            0 => None,
            VERSION_1 => level(kind),
            VERSION_2 => level(kind.wrapping_sub(1) & 3),
            _ if version & 0xffff_ff00 == DRAFTS => level(kind),
            _ => return None,
        };
        Some(Self::Long(Long { level, destination, source, is_negotiation }))
    }

    pub(super) const fn level(&self) -> Option<Level> {
        match self {
            Self::Long(long) => long.level,
            Self::Short => Some(Level::OneRtt),
        }
    }
}

/// Reports whether a datagram may be a 1-RTT packet, although nothing but its form tells.
pub(super) fn may_be_short(payload: &[u8], length: u32) -> bool {
    payload.first().is_some_and(|first| first & (LONG | FIXED) == FIXED) && length as usize >= SMALLEST
}

const fn level(kind: u8) -> Option<Level> {
    match kind {
        0 => Some(Level::Initial),
        1 => Some(Level::ZeroRtt),
        2 => Some(Level::Handshake),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn long(first: u8, version: u32) -> Option<Long> {
        let mut packet = vec![first];
        packet.extend(version.to_be_bytes());
        packet.extend([2, 7, 8, 1, 9]);
        (0..packet.len()).for_each(|length| assert_eq!(Header::parse(&packet[..length]), None));
        match Header::parse(&packet)? {
            Header::Long(long) => Some(long),
            Header::Short => None,
        }
    }

    /// RFC 9000 section 17.2, RFC 9369 section 3.2.
    #[test]
    fn types() {
        let level = |first, version| long(first, version).unwrap().level;
        let all = [Some(Level::Initial), Some(Level::ZeroRtt), Some(Level::Handshake), None];
        assert_eq!([0xc0, 0xd0, 0xe0, 0xf0].map(|first| level(first, 1)), all);
        assert_eq!([0xd0, 0xe0, 0xf0, 0xc0].map(|first| level(first, VERSION_2)), all);
        assert_eq!(level(0xc0, 0xff00_001d), Some(Level::Initial));
        assert_eq!(long(0xc0, 0x0a0a_0a0a), None);
        let negotiation = long(0xc0, 0).unwrap();
        assert!(negotiation.is_negotiation && negotiation.level.is_none());
        assert_eq!(negotiation.destination, ConnectionId::new(&[7, 8]).unwrap());
        assert_eq!(negotiation.source, ConnectionId::new(&[9]).unwrap());
    }

    #[test]
    fn short_headers() {
        assert_eq!(Header::parse(&[0x40]), Some(Header::Short));
        assert!(may_be_short(&[0x40], 21) && !may_be_short(&[0x40], 20) && !may_be_short(&[0x20], 30));
    }
}

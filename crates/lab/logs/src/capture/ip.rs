//! Headers of IP (RFC 791, RFC 8200), of which the capture may have cut the end.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use units::Ecn;

/// Extension headers of IPv6 that have their length in units of eight bytes.
const HOP_BY_HOP: u8 = 0;
const ROUTING: u8 = 43;
const FRAGMENT: u8 = 44;
const AUTHENTICATION: u8 = 51;
const DESTINATION: u8 = 60;
const MOBILITY: u8 = 135;
/// Largest number of extension headers that are skipped.
const MOST_EXTENSIONS: usize = 16;

/// An IP packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Packet<'a> {
    pub(super) source: IpAddr,
    pub(super) destination: IpAddr,
    pub(super) protocol: u8,
    pub(super) ecn: Ecn,
    /// Size of the packet, in bytes.
    pub(super) wire: u32,
    /// Size of its payload, in bytes.
    pub(super) length: u32,
    /// Bytes of the payload that were captured.
    pub(super) payload: &'a [u8],
    /// Place in a larger packet that was fragmented.
    pub(super) fragment: Fragment,
}

/// Place of a fragment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fragment {
    /// The packet is whole.
    None,
    /// First fragment, which has the ports.
    First,
    /// Later fragment.
    Later,
}

impl Fragment {
    const fn new(offset: bool, more: bool) -> Self {
        match (offset, more) {
            (true, _) => Self::Later,
            (false, true) => Self::First,
            (false, false) => Self::None,
        }
    }
}

/// Parses the headers of a packet. `length` is its size on the link, which counts if the header has
/// none: offload leaves it to the device.
pub(super) fn parse(bytes: &[u8], length: u32) -> Option<Packet<'_>> {
    match bytes.first()? >> 4 {
        4 => v4(bytes, length),
        6 => v6(bytes, length),
        _ => None,
    }
}

fn number(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..)?.first_chunk().map(|two| u16::from_be_bytes(*two))
}

/// Reads the two lowest bits of the traffic class (RFC 3168 section 5).
const fn ecn(class: u8) -> Ecn {
    match class & 3 {
        0 => Ecn::NotEct,
        1 => Ecn::Ect1,
        2 => Ecn::Ect0,
        _ => Ecn::Ce,
    }
}

fn v4(bytes: &[u8], length: u32) -> Option<Packet<'_>> {
    let header = usize::from(*bytes.first()? & 0x0f) * 4;
    let wire = match u32::from(number(bytes, 2)?) {
        0 => length,
        total => total,
    };
    let flags = number(bytes, 6)?;
    let address = |at: usize| -> Option<IpAddr> {
        bytes.get(at..)?.first_chunk::<4>().map(|four| Ipv4Addr::from(*four).into())
    };
    if header < 20 {
        return None;
    }
    Some(Packet {
        source: address(12)?,
        destination: address(16)?,
        protocol: *bytes.get(9)?,
        ecn: ecn(*bytes.get(1)?),
        wire,
        length: wire.checked_sub(header as u32)?,
        payload: payload(bytes, header, wire)?,
        fragment: Fragment::new(flags & 0x1fff != 0, flags & 0x2000 != 0),
    })
}

fn v6(bytes: &[u8], length: u32) -> Option<Packet<'_>> {
    let wire = match u32::from(number(bytes, 4)?) {
        0 => length,
        payload => payload + 40,
    };
    let address = |at: usize| -> Option<IpAddr> {
        bytes.get(at..)?.first_chunk::<16>().map(|all| Ipv6Addr::from(*all).into())
    };
    let (mut protocol, mut header, mut fragment) = (*bytes.get(6)?, 40, Fragment::None);
    for _ in 0..MOST_EXTENSIONS {
        let size = match protocol {
            HOP_BY_HOP | ROUTING | DESTINATION | MOBILITY => usize::from(*bytes.get(header + 1)?) * 8 + 8,
            AUTHENTICATION => usize::from(*bytes.get(header + 1)?) * 4 + 8,
            FRAGMENT => {
                let place = number(bytes, header + 2)?;
                fragment = Fragment::new(place & 0xfff8 != 0, place & 1 != 0);
                8
            }
            _ => break,
        };
        protocol = *bytes.get(header)?;
        header += size;
        if fragment == Fragment::Later {
            break;
        }
    }
    Some(Packet {
        source: address(8)?,
        destination: address(24)?,
        protocol,
        ecn: ecn((number(bytes, 0)? >> 4) as u8),
        wire,
        length: wire.checked_sub(header as u32)?,
        payload: payload(bytes, header, wire)?,
        fragment,
    })
}

/// Returns the captured payload, without the padding that a link adds to short packets.
fn payload(bytes: &[u8], header: usize, wire: u32) -> Option<&[u8]> {
    bytes.get(header..bytes.len().min(wire as usize))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn v4_packet(options: usize, total: u16, flags: u16, payload: &[u8]) -> Vec<u8> {
        let mut packet = vec![0x45 + options as u8, 0x03];
        packet.extend(total.to_be_bytes());
        packet.extend([0, 0]);
        packet.extend(flags.to_be_bytes());
        packet.extend([64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
        packet.extend(vec![1; options * 4]);
        packet.extend(payload);
        packet
    }

    #[test]
    fn ipv4() {
        let bytes = v4_packet(2, 32, 0x4000, &[1, 2, 3, 4, 0, 0]);
        let packet = parse(&bytes, 34).unwrap();
        assert_eq!((packet.wire, packet.length, packet.payload), (32, 4, &[1, 2, 3, 4][..]), "padding");
        assert_eq!((packet.ecn, packet.protocol, packet.fragment), (Ecn::Ce, 6, Fragment::None));
        assert_eq!((packet.source, packet.destination), ([10, 0, 0, 1].into(), [10, 0, 0, 2].into()));
        let offload = v4_packet(0, 0, 0, &[9; 30]);
        let packet = parse(&offload, 65_000).unwrap();
        assert_eq!((packet.wire, packet.length, packet.payload.len()), (65_000, 64_980, 30));
        let fragment = |flags| parse(&v4_packet(0, 24, flags, &[0; 4]), 24).unwrap().fragment;
        assert_eq!(
            [0x2000, 0x2005, 0x0005].map(fragment),
            [Fragment::First, Fragment::Later, Fragment::Later]
        );
        for length in 0..20 {
            assert_eq!(parse(&bytes[..length], 34), None);
        }
    }

    #[test]
    fn ipv6_with_extensions() {
        let mut bytes = vec![0x60, 0x20, 0, 0, 0, 28, HOP_BY_HOP, 64];
        bytes.extend([0xfd; 16]);
        bytes.extend([0xfe; 16]);
        bytes.extend([FRAGMENT, 0, 1, 4, 0, 0, 0, 0]);
        bytes.extend([DESTINATION, 0, 0, 1, 0, 0, 0, 7]);
        bytes.extend([17, 0, 1, 4, 0, 0, 0, 0]);
        bytes.extend([1, 2, 3, 4]);
        let packet = parse(&bytes, 68).unwrap();
        assert_eq!((packet.protocol, packet.length, packet.payload), (17, 4, &[1, 2, 3, 4][..]));
        assert_eq!((packet.ecn, packet.fragment, packet.wire), (Ecn::Ect0, Fragment::First, 68));
        for length in 0..64 {
            assert_eq!(parse(&bytes[..length], 68), None);
        }
    }
}

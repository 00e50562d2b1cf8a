//! Header of UDP (RFC 768).

use std::net::SocketAddr;

use units::Ecn;

use crate::capture::{ip, origin};

const UDP_HEADER: usize = 8;

/// Datagram of UDP.
#[derive(Clone, Copy, Debug)]
pub(super) struct Datagram<'a> {
    pub(super) source: SocketAddr,
    pub(super) destination: SocketAddr,
    pub(super) payload: &'a [u8],
    /// Size of the payload, in bytes.
    pub(super) length: u32,
    /// Size of the IP packet.
    pub(super) wire: u32,
    pub(super) ecn: Ecn,
    pub(super) is_cut: bool,
    pub(super) is_fragment: bool,
}

impl<'a> Datagram<'a> {
    /// Parses a header of UDP.
    pub(super) fn parse(packet: &ip::Packet<'a>) -> Option<Self> {
        let (source, destination) = origin::ends(packet)?;
        let stated = u32::from(u16::from_be_bytes(*packet.payload.get(4..)?.first_chunk::<2>()?));
        // Offload leaves the length at 0 in packets above 64 KB.
        let stated = if stated == 0 { packet.length } else { stated };
        let payload = packet.payload.get(UDP_HEADER..)?;
        let length = stated.checked_sub(UDP_HEADER as u32)?;
        let is_fragment = packet.fragment != ip::Fragment::None;
        Some(Self {
            source,
            destination,
            payload: payload.get(..length as usize).unwrap_or(payload),
            length,
            wire: packet.wire,
            ecn: packet.ecn,
            is_cut: payload.len() < length as usize,
            is_fragment,
        })
    }
}

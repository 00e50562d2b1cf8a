//! The emulator's capture, read again: datagrams of UDP over IPv4 with where and when they were seen.

use std::fs::File;
use std::io::BufReader;

use pcap_file::pcapng::{Block, PcapNgReader};
use units::{Duration, Ecn, Time};

use crate::error::Error;

/// UDP in IPv4's protocol field.
const UDP: u8 = 17;
/// Bytes of an IPv4 header without options, and of UDP's.
const IPV4_HEADER: usize = 20;
const UDP_HEADER: usize = 8;

/// A datagram at an interface of the emulator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sighting {
    /// When, since the emulator began; in the order of the capture.
    pub(crate) at: Time,
    /// At whose interface: 0 is the client's.
    pub(crate) seen_by: usize,
    /// Who sent it: 0 is the client.
    pub(crate) from: usize,
    /// Ports of sender and receiver.
    pub(crate) ports: [u16; 2],
    pub(crate) ecn: Ecn,
    pub(crate) payload: Vec<u8>,
}

/// Calls `each` with every datagram of a capture, an open file. `begin`: when the capture's first packet was seen, since the emulator began; the
/// capture has the time of day.
///
/// # Errors
/// That it cannot be read.
pub(crate) fn read(file: File, begin: Time, mut each: impl FnMut(Sighting)) -> Result<(), Error> {
    let unreadable = |e: &dyn std::fmt::Display| Error::system("read the capture of the run", e);
    let mut reader = PcapNgReader::new(BufReader::new(file)).map_err(|e| unreadable(&e))?;
    let mut first = None;
    while let Some(block) = reader.next_block() {
        let Block::EnhancedPacket(packet) = block.map_err(|e| unreadable(&e))? else { continue };
        let first = *first.get_or_insert(packet.timestamp);
        let since = packet.timestamp.saturating_sub(first).as_nanos();
        let at = begin + Duration(u64::try_from(since).unwrap_or(u64::MAX));
        if let Some(sighting) = sighting(at, packet.interface_id as usize, &packet.data) {
            each(sighting);
        }
    }
    Ok(())
}

/// Of an IP packet; `None` of all that is no whole datagram of UDP over IPv4.
fn sighting(at: Time, seen_by: usize, packet: &[u8]) -> Option<Sighting> {
    let first = *packet.first()?;
    let header = usize::from(first & 0x0f) * 4;
    if first >> 4 != 4 || header < IPV4_HEADER || *packet.get(9)? != UDP {
        return None;
    }
    let udp = packet.get(header..)?;
    let port = |at: usize| Some(u16::from_be_bytes([*udp.get(at)?, *udp.get(at + 1)?]));
    // Sender's address: the client's ends with 1, see `emu::Side`.
    let from = usize::from(packet.get(12..16)? != emu::Side::Client.ipv4().octets());
    Some(Sighting {
        at,
        seen_by,
        from,
        ports: [port(0)?, port(2)?],
        ecn: ecn(*packet.get(1)?),
        payload: udp.get(UDP_HEADER..)?.to_vec(),
    })
}

/// The lowest two bits of the field beside the version (RFC 3168 section 5).
const fn ecn(field: u8) -> Ecn {
    match field & 3 {
        0 => Ecn::NotEct,
        1 => Ecn::Ect1,
        2 => Ecn::Ect0,
        _ => Ecn::Ce,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(source: [u8; 4], protocol: u8, payload: &[u8]) -> Vec<u8> {
        let mut packet = vec![0x45, 0x03, 0, 0, 0, 0, 0, 0, 64, protocol, 0, 0];
        packet.extend(source);
        packet.extend([10, 64, 0, 9]);
        packet.extend([0x1b, 0x58, 0x1b, 0x59, 0, 0, 0, 0]);
        packet.extend(payload);
        packet
    }

    #[test]
    fn datagrams_alone() {
        let sender = emu::Side::Server.ipv4().octets();
        let seen = sighting(Time(5), 1, &packet(sender, UDP, b"abc")).unwrap();
        let expected = Sighting {
            at: Time(5),
            seen_by: 1,
            from: 1,
            ports: [7000, 7001],
            ecn: Ecn::Ce,
            payload: b"abc".to_vec(),
        };
        assert_eq!(seen, expected);
        assert_eq!(
            sighting(Time(5), 0, &packet(emu::Side::Client.ipv4().octets(), UDP, b"")).unwrap().from,
            0
        );
        assert_eq!(sighting(Time(5), 1, &packet(sender, 6, b"abc")), None);
        for length in 0..28 {
            assert_eq!(sighting(Time(5), 1, &packet(sender, UDP, b"abc")[..length]), None);
        }
    }
}

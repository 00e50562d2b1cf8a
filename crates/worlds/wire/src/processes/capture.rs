//! Reads the emulator's capture back: UDP datagrams over IPv4, with the time and place of capture.

use std::fs::File;
use std::io::BufReader;

use pcap_file::pcapng::{Block, PcapNgReader};
use units::{Duration, Ecn, Time};

use crate::processes::error::Error;

/// UDP in the protocol field of IPv4.
const UDP: u8 = 17;
/// Sizes of an IPv4 header without options and of a UDP header, in bytes.
const IPV4_HEADER: usize = 20;
const UDP_HEADER: usize = 8;

/// A datagram at an interface of the emulator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Captured {
    /// Time since the emulator started. A capture is in order of time.
    pub(crate) at: Time,
    /// End whose interface saw it: 0 is the client's.
    pub(crate) seen_by: usize,
    /// Sender: 0 is the client.
    pub(crate) from: usize,
    /// Ports of sender and receiver.
    pub(crate) ports: [u16; 2],
    pub(crate) ecn: Ecn,
    pub(crate) payload: Vec<u8>,
}

/// Calls `each` with every datagram of a capture file. `begin` is the time of the first captured
/// packet since the emulator started; the capture itself holds the time of day.
///
/// # Errors
/// A capture that cannot be read.
pub(crate) fn read(file: File, begin: Time, mut each: impl FnMut(Captured)) -> Result<(), Error> {
    let unreadable = |e: &dyn std::fmt::Display| Error::system("read the capture of the run", e);
    let mut reader = PcapNgReader::new(BufReader::new(file)).map_err(|e| unreadable(&e))?;
    let mut first = None;
    while let Some(block) = reader.next_block() {
        let Block::EnhancedPacket(packet) = block.map_err(|e| unreadable(&e))? else { continue };
        let first = *first.get_or_insert(packet.timestamp);
        let since = packet.timestamp.saturating_sub(first).as_nanos();
        let at = begin + Duration(u64::try_from(since).unwrap_or(u64::MAX));
        if let Some(captured) = parse(at, packet.interface_id as usize, &packet.data) {
            each(captured);
        }
    }
    Ok(())
}

/// Parses an IP packet. Returns `None` unless it holds a complete UDP datagram over IPv4.
fn parse(at: Time, seen_by: usize, packet: &[u8]) -> Option<Captured> {
    let first = *packet.first()?;
    let header = usize::from(first & 0x0f) * 4;
    if first >> 4 != 4 || header < IPV4_HEADER || *packet.get(9)? != UDP {
        return None;
    }
    let udp = packet.get(header..)?;
    let port = |at: usize| Some(u16::from_be_bytes([*udp.get(at)?, *udp.get(at + 1)?]));
    // The client's address ends with 1, see `crate::emu::Side`.
    let from = usize::from(packet.get(12..16)? != crate::emu::Side::Client.ipv4().octets());
    Some(Captured {
        at,
        seen_by,
        from,
        ports: [port(0)?, port(2)?],
        ecn: ecn(*packet.get(1)?),
        payload: udp.get(UDP_HEADER..)?.to_vec(),
    })
}

/// Reads the two lowest bits of the byte after the version (RFC 3168 section 5).
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
        let sender = crate::emu::Side::Server.ipv4().octets();
        let seen = parse(Time(5), 1, &packet(sender, UDP, b"abc")).unwrap();
        let expected = Captured {
            at: Time(5),
            seen_by: 1,
            from: 1,
            ports: [7000, 7001],
            ecn: Ecn::Ce,
            payload: b"abc".to_vec(),
        };
        assert_eq!(seen, expected);
        assert_eq!(
            parse(Time(5), 0, &packet(crate::emu::Side::Client.ipv4().octets(), UDP, b"")).unwrap().from,
            0
        );
        assert_eq!(parse(Time(5), 1, &packet(sender, 6, b"abc")), None);
        for length in 0..28 {
            assert_eq!(parse(Time(5), 1, &packet(sender, UDP, b"abc")[..length]), None);
        }
    }
}

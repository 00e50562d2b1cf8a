//! A raw IP packet as the elements of `path` see it: size, ECN field, flow.

use link::Packet;
use units::{Ecn, Time};

/// An IPv4 or IPv6 packet on its way through the emulator.
#[derive(Clone, Debug)]
pub struct WirePacket {
    bytes: Vec<u8>,
    overhead: u32,
    flow: u32,
    /// Time at which the emulator read it.
    pub arrival: Time,
    /// Time at which its last bit left the queue, once that is known.
    pub departure: Option<Time>,
    /// True if the link set CE.
    pub marked: bool,
    /// True if the link has damaged it.
    pub damaged: bool,
    /// True if the link has made it as a copy of another packet.
    pub copy: bool,
}

/// Bytes of an IPv6 header, and of an IPv4 header without options.
const IPV6_HEADER: usize = 40;
const IPV4_HEADER: usize = 20;
/// Protocols whose header starts with two ports.
const TCP_UDP: [u8; 2] = [TCP, UDP];

impl WirePacket {
    /// Parses a packet from the TUN device. `overhead` is the bytes of lower layers that count on
    /// the wire.
    ///
    /// # Errors
    /// The fault of its header.
    pub fn new(bytes: Vec<u8>, overhead: u32, arrival: Time) -> Result<Self, &'static str> {
        let flow = flow(&bytes, transport(&bytes)?);
        Ok(Self {
            bytes,
            overhead,
            flow,
            arrival,
            departure: None,
            marked: false,
            damaged: false,
            copy: false,
        })
    }

    /// The packet itself.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the transport header if it is TCP or UDP.
    pub fn segment(&self) -> Option<Segment> {
        Segment::read(&self.bytes)
    }
}

/// Header of TCP or UDP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Segment {
    /// 6 for TCP, 17 for UDP.
    pub protocol: u8,
    /// The sender's port.
    pub source: u16,
    /// The receiver's port.
    pub destination: u16,
    /// Bytes after the header.
    pub payload: u32,
    /// TCP's sequence number; 0 for UDP.
    pub sequence: u32,
    /// TCP's acknowledgement number; 0 for UDP.
    pub acknowledgement: u32,
    /// TCP's flags; 0 for UDP.
    pub flags: u8,
}

/// TCP's flag SYN.
pub const SYN: u8 = 2;
const TCP: u8 = 6;
const UDP: u8 = 17;
const UDP_HEADER: usize = 8;

impl Segment {
    /// Parses an IP packet. Returns `None` for fragments and other protocols.
    fn read(bytes: &[u8]) -> Option<Self> {
        let (header, protocol) = transport(bytes).ok()?;
        if !TCP_UDP.contains(&protocol) || is_fragment(bytes) {
            return None;
        }
        let word =
            |at: usize| Some(u16::from_be_bytes([*bytes.get(header + at)?, *bytes.get(header + at + 1)?]));
        let double = |at: usize| Some((u32::from(word(at)?) << 16) | u32::from(word(at + 2)?));
        let (source, destination) = (word(0)?, word(2)?);
        let behind = |length: usize| bytes.len().checked_sub(header + length).map(|n| n as u32);
        let udp = Self { protocol, source, destination, ..Self::default() };
        if protocol == UDP {
            return Some(Self { payload: behind(UDP_HEADER)?, ..udp });
        }
        let length = usize::from(bytes.get(header + 12)? >> 4) * 4;
        Some(Self {
            payload: behind(length)?,
            sequence: double(4)?,
            acknowledgement: double(8)?,
            flags: *bytes.get(header + 13)?,
            ..udp
        })
    }
}

/// Returns offset and protocol of the transport header, if the packet has one.
fn transport(bytes: &[u8]) -> Result<(usize, u8), &'static str> {
    match bytes.first().ok_or("an empty packet")? >> 4 {
        4 if bytes.len() < IPV4_HEADER => Err("an IPv4 packet shorter than its header"),
        4 => {
            let header = usize::from(bytes[0] & 0x0f) * 4;
            if header < IPV4_HEADER || header > bytes.len() {
                return Err("an IPv4 packet with a wrong header length");
            }
            if usize::from(u16::from_be_bytes([bytes[2], bytes[3]])) != bytes.len() {
                return Err("an IPv4 packet with a wrong total length");
            }
            Ok((header, bytes[9]))
        }
        6 if bytes.len() < IPV6_HEADER => Err("an IPv6 packet shorter than its header"),
        6 if usize::from(u16::from_be_bytes([bytes[4], bytes[5]])) + IPV6_HEADER != bytes.len() => {
            Err("an IPv6 packet with a wrong payload length")
        }
        6 => Ok((IPV6_HEADER, bytes[6])),
        _ => Err("neither IPv4 nor IPv6"),
    }
}

/// Hashes addresses, protocol and ports: FNV-1a, folded. Fragments and packets without ports are
/// hashed by their addresses.
fn flow(bytes: &[u8], (header, protocol): (usize, u8)) -> u32 {
    let addresses = if bytes[0] >> 4 == 4 { &bytes[12..20] } else { &bytes[8..40] };
    let ports = match bytes.get(header..header + 4) {
        Some(ports) if TCP_UDP.contains(&protocol) && !is_fragment(bytes) => ports,
        _ => &[],
    };
    let all = addresses.iter().chain(ports).chain(std::iter::once(&protocol));
    let hash = all.fold(0xcbf2_9ce4_8422_2325_u64, |h, &b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3));
    (hash ^ (hash >> 32)) as u32
}

/// Reports whether the packet is a fragment of an IPv4 datagram.
fn is_fragment(bytes: &[u8]) -> bool {
    bytes[0] >> 4 == 4 && u16::from_be_bytes([bytes[6], bytes[7]]) & 0x3fff != 0
}

fn ecn_of(bits: u8) -> Ecn {
    match bits & 3 {
        0 => Ecn::NotEct,
        1 => Ecn::Ect1,
        2 => Ecn::Ect0,
        _ => Ecn::Ce,
    }
}

fn bits_of(ecn: Ecn) -> u8 {
    match ecn {
        Ecn::NotEct => 0,
        Ecn::Ect1 => 1,
        Ecn::Ect0 => 2,
        Ecn::Ce => 3,
    }
}

/// RFC 1624 equation 3: `HC' = ~(~HC + ~m + m')`, in ones' complement.
fn checksum_after(checksum: u16, before: u16, after: u16) -> u16 {
    let sum = u32::from(!checksum) + u32::from(!before) + u32::from(after);
    let folded = (sum & 0xffff) + (sum >> 16);
    !((folded + (folded >> 16)) as u16)
}

fn set_ipv4_ecn(bytes: &mut [u8], bits: u8) {
    let word = |b: &[u8], at: usize| u16::from_be_bytes([b[at], b[at + 1]]);
    let before = word(bytes, 0);
    bytes[1] = (bytes[1] & !3) | bits;
    let checksum = checksum_after(word(bytes, 10), before, word(bytes, 0));
    bytes[10..12].copy_from_slice(&checksum.to_be_bytes());
}

impl Packet for WirePacket {
    fn size(&self) -> u32 {
        self.bytes.len() as u32 + self.overhead
    }

    fn ecn(&self) -> Ecn {
        // The traffic class of IPv6 lies across two bytes: its ECN bits are bits 4 and 5 of the
        // second.
        if self.bytes[0] >> 4 == 4 { ecn_of(self.bytes[1]) } else { ecn_of(self.bytes[1] >> 4) }
    }

    fn set_ecn(&mut self, ecn: Ecn) {
        self.marked |= ecn == Ecn::Ce && self.ecn() != Ecn::Ce;
        let bits = bits_of(ecn);
        if self.bytes[0] >> 4 == 4 {
            set_ipv4_ecn(&mut self.bytes, bits);
        } else {
            self.bytes[1] = (self.bytes[1] & !0x30) | (bits << 4);
        }
    }

    /// Flips a bit after the IP header, so that the checksum of TCP or UDP is wrong.
    fn damage(&mut self, random: u64) {
        let header = transport(&self.bytes).map_or(IPV4_HEADER, |transport| transport.0);
        let bits = 8 * self.bytes.len().saturating_sub(header) as u64;
        if let Some(bit) = random.checked_rem(bits) {
            self.bytes[header + (bit / 8) as usize] ^= 1 << (bit % 8);
            self.damaged = true;
        }
    }

    fn copy(&mut self) -> Self {
        Self { copy: true, ..self.clone() }
    }

    fn flow(&self) -> u32 {
        self.flow
    }

    fn set_departure(&mut self, at: Time) {
        self.departure = Some(at);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The classic worked example of an IPv4 header: checksum 0xb861.
    const IPV4: [u8; 20] = [
        0x45, 0x00, 0x00, 0x14, 0x00, 0x00, 0x40, 0x00, 0x40, 0x11, 0x00, 0x00, 0xc0, 0xa8, 0x00, 0x01, 0xc0,
        0xa8, 0x00, 0xc7,
    ];

    /// RFC 1071: the ones' complement of the ones' complement sum.
    fn full_checksum(header: &[u8]) -> u16 {
        let words = header.chunks(2).map(|w| u32::from(u16::from_be_bytes([w[0], w[1]])));
        let mut sum: u32 = words.sum();
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        !(sum as u16)
    }

    fn ipv4(tos: u8, id: u16) -> Vec<u8> {
        let mut bytes = IPV4.to_vec();
        bytes[1] = tos;
        bytes[4..6].copy_from_slice(&id.to_be_bytes());
        let checksum = full_checksum(&bytes);
        bytes[10..12].copy_from_slice(&checksum.to_be_bytes());
        bytes
    }

    fn ipv6(class: u8) -> Vec<u8> {
        let mut bytes = vec![0; 48];
        bytes[0] = 0x60 | (class >> 4);
        bytes[1] = (class << 4) | 0x0a;
        bytes[5] = 8;
        bytes[6] = 17;
        bytes
    }

    fn packet(bytes: Vec<u8>) -> WirePacket {
        WirePacket::new(bytes, 0, Time::ZERO).unwrap()
    }

    /// RFC 1624 section 4: HC = 0xDD2F, m = 0x5555, m' = 0x3285 gives 0x0000.
    #[test]
    fn the_example_of_rfc_1624() {
        assert_eq!(checksum_after(0xdd2f, 0x5555, 0x3285), 0x0000);
    }

    #[test]
    fn a_header_keeps_a_right_checksum_whatever_the_mark() {
        for id in 0..=u16::MAX {
            let mut p = packet(ipv4(0xb8 | (id % 4) as u8, id));
            p.set_ecn(Ecn::Ce);
            // A sum over a header that includes its checksum is zero.
            assert_eq!((full_checksum(p.bytes()), p.ecn()), (0, Ecn::Ce), "id {id}");
            assert_eq!(p.bytes()[1] & 0xfc, 0xb8, "the DSCP stays");
        }
    }

    #[test]
    fn ipv6_marks_change_nothing_else() {
        for class in 0..=255_u8 {
            let mut p = packet(ipv6(class));
            assert_eq!(p.ecn(), ecn_of(class));
            for ecn in [Ecn::Ce, Ecn::Ect0, Ecn::Ect1, Ecn::NotEct] {
                p.set_ecn(ecn);
                assert_eq!(p.bytes(), ipv6((class & !3) | bits_of(ecn)));
            }
        }
    }

    #[test]
    fn only_capable_packets_are_marked_and_only_new_marks_count() {
        let mut plain = packet(ipv4(0, 1));
        assert!(!plain.set_ce() && !plain.marked);
        let mut capable = packet(ipv4(2, 1));
        assert!(capable.set_ce() && capable.marked);
        let mut already = packet(ipv4(3, 1));
        assert!(already.set_ce() && !already.marked);
    }

    #[test]
    fn reads_the_headers_of_tcp_and_udp() {
        let mut bytes = ipv4(0, 1);
        bytes[9] = TCP;
        // Ports, sequence, acknowledgement, 32 bytes of header, ACK and SYN, then the rest of it
        // and 5 bytes of payload.
        bytes.extend([0x1b, 0x58, 0x00, 0x50, 0, 0, 1, 2, 0, 0, 3, 4, 0x80, 0x12]);
        bytes.extend([0; 18 + 5]);
        let length = (bytes.len() as u16).to_be_bytes();
        bytes[2..4].copy_from_slice(&length);
        let tcp = Segment {
            protocol: TCP,
            source: 7000,
            destination: 80,
            payload: 5,
            sequence: 0x102,
            acknowledgement: 0x304,
            flags: 0x10 | SYN,
        };
        assert_eq!(packet(bytes.clone()).segment(), Some(tcp));
        bytes[9] = UDP;
        let udp = Segment { protocol: UDP, payload: 29, sequence: 0, acknowledgement: 0, flags: 0, ..tcp };
        assert_eq!(packet(bytes.clone()).segment(), Some(udp));
        bytes[7] = 1;
        assert_eq!(packet(bytes).segment(), None, "a fragment");
        assert_eq!(packet(ipv4(0, 1)).segment(), None, "no header");
    }

    #[test]
    fn says_what_is_wrong() {
        let wrong = |bytes: &[u8]| WirePacket::new(bytes.to_vec(), 0, Time::ZERO).unwrap_err();
        assert_eq!(wrong(&[]), "an empty packet");
        assert_eq!(wrong(&[0x45; 19]), "an IPv4 packet shorter than its header");
        assert_eq!(wrong(&[0x60; 39]), "an IPv6 packet shorter than its header");
        assert_eq!(wrong(&[0x12; 60]), "neither IPv4 nor IPv6");
        let mut short = ipv4(0, 1);
        short.push(0);
        assert_eq!(wrong(&short), "an IPv4 packet with a wrong total length");
        short[0] = 0x44;
        assert_eq!(wrong(&short), "an IPv4 packet with a wrong header length");
    }

    #[test]
    fn flows_go_by_ports_and_overhead_counts() {
        let mut a = ipv6(0);
        let b = a.clone();
        a[41] = 1;
        assert_ne!(packet(a).flow(), packet(b.clone()).flow());
        assert_eq!(packet(b.clone()).flow(), packet(b.clone()).flow());
        assert_eq!(WirePacket::new(b, 14, Time::ZERO).unwrap().size(), 62);
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..120)) {
            let version = bytes.first().map_or(0, |b| b >> 4);
            if let Ok(mut p) = WirePacket::new(bytes.clone(), 0, Time::ZERO) {
                prop_assert!(version == 4 || version == 6);
                p.set_ce();
                p.segment();
                p.set_ecn(Ecn::Ect1);
                prop_assert_eq!(p.ecn(), Ecn::Ect1);
                prop_assert_eq!(p.size() as usize, bytes.len());
            }
        }

        /// Random bytes rarely have a right length: here they do.
        #[test]
        fn nor_those_with_a_right_length(mut bytes in prop::collection::vec(any::<u8>(), 40..120), six: bool) {
            let len = bytes.len() as u16;
            if six {
                bytes[0] = 0x60 | (bytes[0] & 15);
                bytes[4..6].copy_from_slice(&(len - 40).to_be_bytes());
            } else {
                bytes[0] = 0x40 | (5 + bytes[0] % 6);
                bytes[2..4].copy_from_slice(&len.to_be_bytes());
            }
            let p = WirePacket::new(bytes, 0, Time::ZERO);
            prop_assert!(p.is_ok());
            let mut p = p.unwrap();
            p.segment();
            p.set_ecn(Ecn::Ce);
        }
    }
}

//! Writes capture files and packets by hand.

use std::net::Ipv4Addr;

/// Raw IP and Ethernet (<https://www.tcpdump.org/linktypes.html>).
pub(crate) const RAW: u32 = 101;
pub(crate) const ETHERNET: u32 = 1;

pub(crate) const CLIENT: ([u8; 4], u16) = ([10, 0, 0, 1], 40_000);
pub(crate) const SERVER: ([u8; 4], u16) = ([10, 0, 0, 2], 443);

pub(crate) const SYN: u8 = 0x02;
pub(crate) const ACK: u8 = 0x10;
pub(crate) const FIN: u8 = 0x01;
pub(crate) const RST: u8 = 0x04;

/// An IPv4 packet. `length` is the size of the payload that the header states.
pub(crate) fn ip(protocol: u8, from: [u8; 4], to: [u8; 4], payload: &[u8], length: usize) -> Vec<u8> {
    let mut packet = vec![0x45, 0x02];
    packet.extend((20 + length as u16).to_be_bytes());
    packet.extend([0, 0, 0x40, 0, 64, protocol, 0, 0]);
    packet.extend(Ipv4Addr::from(from).octets());
    packet.extend(Ipv4Addr::from(to).octets());
    packet.extend(payload);
    packet
}

/// A TCP segment, by default an ACK without data.
#[derive(Clone, Debug)]
pub(crate) struct Segment {
    pub(crate) from_client: bool,
    pub(crate) flags: u8,
    pub(crate) seq: u32,
    pub(crate) ack: u32,
    pub(crate) window: u16,
    pub(crate) options: Vec<u8>,
    pub(crate) len: usize,
}

impl Segment {
    pub(crate) fn new(from_client: bool, flags: u8, seq: u32, ack: u32) -> Self {
        Self { from_client, flags, seq, ack, window: 1000, options: Vec::new(), len: 0 }
    }

    pub(crate) fn data(from_client: bool, seq: u32, ack: u32, len: usize) -> Self {
        Self { len, ..Self::new(from_client, ACK, seq, ack) }
    }

    pub(crate) fn options(mut self, options: &[u8]) -> Self {
        self.options = options.to_vec();
        self
    }

    pub(crate) fn stamps(self, value: u32, echo: u32) -> Self {
        let mut options = vec![1, 1, 8, 10];
        options.extend(value.to_be_bytes());
        options.extend(echo.to_be_bytes());
        self.options(&options)
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        let (from, to) = if self.from_client { (CLIENT, SERVER) } else { (SERVER, CLIENT) };
        let mut segment = Vec::new();
        segment.extend(from.1.to_be_bytes());
        segment.extend(to.1.to_be_bytes());
        segment.extend(self.seq.to_be_bytes());
        segment.extend(self.ack.to_be_bytes());
        segment.extend([(5 + self.options.len() as u8 / 4) << 4, self.flags]);
        segment.extend(self.window.to_be_bytes());
        segment.extend([0; 4]);
        segment.extend(&self.options);
        segment.extend(vec![7; self.len]);
        let length = segment.len();
        ip(6, from.0, to.0, &segment, length)
    }
}

/// An IPv4 packet with a UDP datagram.
pub(crate) fn udp(from: ([u8; 4], u16), to: ([u8; 4], u16), payload: &[u8]) -> Vec<u8> {
    let mut datagram = Vec::new();
    datagram.extend(from.1.to_be_bytes());
    datagram.extend(to.1.to_be_bytes());
    datagram.extend((8 + payload.len() as u16).to_be_bytes());
    datagram.extend([0, 0]);
    datagram.extend(payload);
    let length = datagram.len();
    ip(17, from.0, to.0, &datagram, length)
}

/// Writer of numbers in one of two byte orders.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bytes {
    pub(crate) all: Vec<u8>,
    pub(crate) big: bool,
}

impl Bytes {
    pub(crate) fn new(big: bool) -> Self {
        Self { all: Vec::new(), big }
    }

    pub(crate) fn u16(&mut self, number: u16) -> &mut Self {
        self.all.extend(if self.big { number.to_be_bytes() } else { number.to_le_bytes() });
        self
    }

    pub(crate) fn u32(&mut self, number: u32) -> &mut Self {
        self.all.extend(if self.big { number.to_be_bytes() } else { number.to_le_bytes() });
        self
    }

    pub(crate) fn block(&mut self, kind: u32, body: &[u8]) -> &mut Self {
        let padding = body.len().next_multiple_of(4) - body.len();
        let length = (12 + body.len() + padding) as u32;
        self.u32(kind).u32(length);
        self.all.extend(body);
        self.all.extend(vec![0; padding]);
        self.u32(length)
    }

    pub(crate) fn section(&mut self, big: bool) -> &mut Self {
        self.big = big;
        let mut body = Self::new(big);
        body.u32(0x1a2b_3c4d).u16(1).u16(0).u32(u32::MAX).u32(u32::MAX);
        self.block(0x0a0d_0d0a, &body.all)
    }

    /// An interface. Options are code and value.
    pub(crate) fn interface(&mut self, link: u32, options: &[(u16, &[u8])]) -> &mut Self {
        let mut body = Self::new(self.big);
        body.u16(link as u16).u16(0).u32(0);
        for (code, value) in options {
            body.u16(*code).u16(value.len() as u16);
            body.all.extend(*value);
            body.all.resize(body.all.len().next_multiple_of(4), 0);
        }
        self.block(1, &body.all)
    }

    pub(crate) fn packet(&mut self, interface: u32, ticks: u64, data: &[u8], length: usize) -> &mut Self {
        let mut body = Self::new(self.big);
        body.u32(interface).u32((ticks >> 32) as u32).u32(ticks as u32);
        body.u32(data.len() as u32).u32(length as u32);
        body.all.extend(data);
        self.block(6, &body.all)
    }

    pub(crate) fn secrets(&mut self, text: &str) -> &mut Self {
        let mut body = Self::new(self.big);
        body.u32(0x544c_534b).u32(text.len() as u32);
        body.all.extend(text.as_bytes());
        self.block(10, &body.all)
    }
}

/// A pcap file in nanoseconds: time in nanoseconds, data, and size on the link.
pub(crate) fn pcap(link: u32, packets: &[(u64, Vec<u8>, usize)]) -> Vec<u8> {
    let mut file = Bytes::new(false);
    file.u32(0xa1b2_3c4d).u16(2).u16(4).u32(0).u32(0).u32(262_144).u32(link);
    for (at, data, length) in packets {
        let (seconds, rest) = (at / 1_000_000_000, at % 1_000_000_000);
        file.u32(seconds as u32).u32(rest as u32).u32(data.len() as u32).u32(*length as u32);
        file.all.extend(data);
    }
    file.all
}

/// A pcap file of whole segments at these times in milliseconds.
pub(crate) fn segments(all: &[(u64, Segment)]) -> Vec<u8> {
    let packets = all.iter().map(|(ms, segment)| {
        let bytes = segment.bytes();
        let length = bytes.len();
        (1_000_000_000 + ms * 1_000_000, bytes, length)
    });
    pcap(RAW, &packets.collect::<Vec<_>>())
}

/// Packets of a pcap file in little endian: time in ticks, data.
pub(crate) fn packets(file: &[u8]) -> Vec<(u64, Vec<u8>)> {
    let mut all = Vec::new();
    let mut rest = &file[24..];
    while !rest.is_empty() {
        let number = |at: usize| u32::from_le_bytes(rest[at..at + 4].try_into().unwrap());
        let (seconds, fraction, size) = (number(0), number(4), number(8) as usize);
        all.push((u64::from(seconds) * 1_000_000 + u64::from(fraction), rest[16..16 + size].to_vec()));
        rest = &rest[16 + size..];
    }
    all
}

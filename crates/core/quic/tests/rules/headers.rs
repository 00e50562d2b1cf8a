//! Headers: encoding and decoding are inverse, coalesced packets are separated, and random bytes do
//! no harm.

use ackclock_quic::Level;
use ackclock_quic::wire::codec::{Full, Writer};
use ackclock_quic::wire::header::{Dropped, Outgoing, Parsed, Protected, VersionNegotiation, parse};
use ackclock_quic::wire::{ConnectionId, retry};
use proptest::prelude::*;

fn id(len: usize) -> ConnectionId {
    ConnectionId::new(&[0x5a; 20][..len]).unwrap()
}

/// Creates a packet without protection, whose frames are `payload`.
fn packet(header: &Outgoing<'_>, payload: &[u8]) -> Vec<u8> {
    let mut packet = vec![0; header.size() + payload.len()];
    let mut w = Writer::new(&mut packet);
    let placed = header.encode(&mut w).unwrap();
    assert_eq!(w.position(), header.size());
    w.bytes(payload);
    let len = packet.len();
    placed.set_length(&mut packet, len).unwrap();
    let mut small = vec![0; header.size() - 1];
    assert_eq!(header.encode(&mut Writer::new(&mut small)), Err(Full));
    packet
}

fn level() -> impl Strategy<Value = Level> {
    prop_oneof![Just(Level::Initial), Just(Level::ZeroRtt), Just(Level::Handshake), Just(Level::OneRtt)]
}

prop_compose! {
    fn any_header(token: &'static [u8])(
        level in level(), destination in 0_usize..=20, source in 0_usize..=20, number in 0..1_u64 << 62, number_len in 1_usize..=4,
        key_phase: bool, spin: bool,
    ) -> Outgoing<'static> {
        Outgoing { level, destination: id(destination), source: id(source), token, number, number_len, key_phase, spin }
    }
}

fn read(datagram: &[u8], id_len: usize) -> Protected {
    match parse(datagram, id_len) {
        Ok(Parsed::Protected(packet)) => packet,
        other => panic!("{other:?}"),
    }
}

proptest! {
    #[test]
    fn coalesced_packets_come_apart(
        headers in prop::collection::vec(any_header(b"a token"), 1..5), payload in prop::collection::vec(any::<u8>(), 0..50),
    ) {
        // Short headers contain neither their length nor that of their ID, so one at most, and at
        // the end.
        let mut headers: Vec<_> = headers;
        headers.sort_by_key(|header| header.level == Level::OneRtt);
        let short = headers.iter().position(|header| header.level == Level::OneRtt);
        headers.truncate(short.map_or(headers.len(), |at| at + 1));
        let id_len = headers.last().unwrap().destination.len();
        let datagram: Vec<u8> = headers.iter().flat_map(|header| packet(header, &payload)).collect();
        let mut rest = &datagram[..];
        for header in &headers {
            let at = read(rest, id_len);
            prop_assert_eq!((at.level, at.destination), (header.level, header.destination));
            let long = header.level != Level::OneRtt;
            prop_assert_eq!(at.source, if long { header.source } else { ConnectionId::EMPTY });
            let token = if header.level == Level::Initial { &b"a token"[..] } else { b"" };
            prop_assert_eq!(&rest[at.token.clone()], token);
            let number = &rest[at.pn_offset..at.pn_offset + header.number_len];
            prop_assert_eq!(number, &header.number.to_be_bytes()[8 - header.number_len..]);
            prop_assert_eq!(&rest[at.pn_offset + header.number_len..at.end], &payload[..]);
            prop_assert_eq!(usize::from(rest[0] & 3) + 1, header.number_len);
            rest = &rest[at.end..];
        }
        prop_assert!(rest.is_empty());
    }

    #[test]
    fn random_bytes(mut bytes in prop::collection::vec(any::<u8>(), 0..120), version_one: bool, id_len in 0_usize..=20) {
        if version_one && bytes.len() > 5 {
            bytes[1..5].copy_from_slice(&[0, 0, 0, 1]);
        }
        if let Ok(Parsed::Protected(packet)) = parse(&bytes, id_len) {
            prop_assert!(packet.pn_offset <= packet.end && packet.end <= bytes.len());
            prop_assert!(packet.end > 0, "a loop over a datagram ends");
            prop_assert!(bytes.get(packet.token).is_some());
        }
    }

    #[test]
    fn retry_comes_back(token in prop::collection::vec(any::<u8>(), 0..100), a in 0_usize..=20, b in 0_usize..=20) {
        let mut bytes = vec![0; retry::size(a, b, &token)];
        let mut w = Writer::new(&mut bytes);
        retry::encode(&mut w, 3, &id(a), &id(b), &token, &id(8)).unwrap();
        prop_assert_eq!(w.remaining(), 0);
        let Ok(Parsed::Retry(parsed)) = parse(&bytes, 0) else { panic!("a Retry") };
        prop_assert_eq!((parsed.destination, parsed.source, parsed.token), (id(a), id(b), &token[..]));
        prop_assert!(retry::is_genuine(&parsed, &id(8)) && !retry::is_genuine(&parsed, &id(9)));
    }

    #[test]
    fn version_negotiation_comes_back(versions in prop::collection::vec(any::<u32>(), 1..9), a in 0_usize..=255, b in 0_usize..=255) {
        let (destination, source) = (vec![1; a], vec![2; b]);
        let mut bytes = vec![0; VersionNegotiation::size(&destination, &source, &versions)];
        let mut w = Writer::new(&mut bytes);
        VersionNegotiation::encode(&mut w, 0x15, &destination, &source, &versions).unwrap();
        prop_assert_eq!(w.remaining(), 0);
        let Ok(Parsed::VersionNegotiation(parsed)) = parse(&bytes, 0) else { panic!("Version Negotiation") };
        prop_assert_eq!((parsed.destination, parsed.source), (&destination[..], &source[..]));
        prop_assert!(parsed.versions().eq(versions.iter().copied()));
        bytes.pop();
        prop_assert_eq!(parse(&bytes, 0), Err(Dropped::Versions));
    }
}

#[test]
fn what_is_dropped() {
    let header = Outgoing {
        level: Level::Handshake,
        destination: id(8),
        source: id(8),
        token: &[],
        number: 1,
        number_len: 1,
        key_phase: false,
        spin: false,
    };
    let good = packet(&header, &[0; 30]);
    let with = |at: usize, value| {
        let mut bytes = good.clone();
        bytes[at] = value;
        bytes
    };
    assert_eq!(parse(&with(0, good[0] & !0x40), 8), Err(Dropped::FixedBit));
    assert_eq!(parse(&[0; 40], 8), Err(Dropped::FixedBit));
    assert_eq!(parse(&with(5, 21), 8), Err(Dropped::ConnectionId));
    assert_eq!(parse(&good[..good.len() - 1], 8), Err(Dropped::Truncated));
    assert_eq!(parse(&[0x40, 1, 2], 8), Err(Dropped::Truncated));
    assert_eq!(parse(&[], 0), Err(Dropped::Truncated));
    // Another version: IDs of any length, whatever the fixed bit is (RFC 8999).
    let mut other = vec![0x80, 0xfa, 0xce, 0xb0, 0x0c, 200];
    other.extend([3; 200]);
    other.extend([1, 4, 99]);
    let Ok(Parsed::OtherVersion(parsed)) = parse(&other, 8) else { panic!("another version") };
    assert_eq!((parsed.version, parsed.destination.len(), parsed.source), (0xface_b00c, 200, &[4][..]));
    assert_eq!(parse(&[0x80, 0, 0, 0, 0, 0, 0], 0), Err(Dropped::Versions));
}

//! Packet protection compared with appendix A of RFC 9001, and under corruption.

use ackclock_quic::crypto::keys::{self, DirectionalKeys, Keys, PacketKeySet};
use ackclock_quic::crypto::{NextKeys, OneRtt, Refused, plain};
use ackclock_quic::units::{Duration, Time};
use ackclock_quic::wire::codec::Writer;
use ackclock_quic::wire::header::{Outgoing, Parsed, Protected, parse};
use ackclock_quic::wire::{ConnectionId, Extensions, Frame, Frames, retry};
use ackclock_quic::{Code, Level, Side};
use proptest::prelude::*;
use rustls::crypto::cipher::{AeadKey, Iv};
use rustls::crypto::ring::cipher_suite::TLS13_CHACHA20_POLY1305_SHA256;

use crate::appendix_a::{
    CLIENT_CRYPTO, CLIENT_HEADER, CLIENT_PACKET, RETRY, SERVER_HEADER, SERVER_PACKET, SERVER_PAYLOAD, bytes,
};

/// Destination Connection ID of all samples.
fn destination() -> ConnectionId {
    ConnectionId::new(&bytes("8394c8f03e515708")).unwrap()
}

fn protected(packet: &[u8], id_len: usize) -> Protected {
    match parse(packet, id_len) {
        Ok(Parsed::Protected(at)) => at,
        other => panic!("{other:?}"),
    }
}

fn sealed(keys: &DirectionalKeys, header: &Outgoing<'_>, payload: &[u8]) -> Vec<u8> {
    let mut packet = vec![0; header.size() + payload.len() + keys.packet.tag_len()];
    let mut w = Writer::new(&mut packet);
    let placed = header.encode(&mut w).unwrap();
    w.bytes(payload);
    keys::seal(&*keys.header, &*keys.packet, &mut packet, &placed).unwrap();
    packet
}

#[test]
fn a_2_client_initial() {
    let client = keys::initial(&destination(), Side::Client);
    let header = Outgoing {
        level: Level::Initial,
        destination: destination(),
        source: ConnectionId::EMPTY,
        token: &[],
        number: 2,
        number_len: 4,
        key_phase: false,
        spin: false,
    };
    let mut payload = bytes(CLIENT_CRYPTO);
    payload.resize(1162, 0);
    assert_eq!(sealed(&client.local, &header, &payload), bytes(CLIENT_PACKET));

    let server = keys::initial(&destination(), Side::Server);
    let mut packet = bytes(CLIENT_PACKET);
    let at = protected(&packet, 0);
    let opened = keys::open(&server.remote, &mut packet, &at, None).unwrap();
    assert_eq!((opened.number, opened.payload), (2, &payload[..]));
    let frames: Vec<_> = Frames::new(opened.payload, Level::Initial, Extensions::default())
        .unwrap()
        .map(Result::unwrap)
        .collect();
    assert!(
        matches!(frames[..], [Frame::Crypto { offset: 0, data }, Frame::Padding(917)] if data.len() == 241)
    );
    assert_eq!(packet[..22], bytes(CLIENT_HEADER));
}

#[test]
fn a_3_server_initial() {
    let server = keys::initial(&destination(), Side::Server);
    let header = Outgoing {
        level: Level::Initial,
        destination: ConnectionId::EMPTY,
        source: ConnectionId::new(&bytes("f067a5502a4262b5")).unwrap(),
        token: &[],
        number: 1,
        number_len: 2,
        key_phase: false,
        spin: false,
    };
    assert_eq!(sealed(&server.local, &header, &bytes(SERVER_PAYLOAD)), bytes(SERVER_PACKET));
    let client = keys::initial(&destination(), Side::Client);
    let mut packet = bytes(SERVER_PACKET);
    let at = protected(&packet, 0);
    let opened = keys::open(&client.remote, &mut packet, &at, None).unwrap();
    assert_eq!((opened.number, opened.payload), (1, &bytes(SERVER_PAYLOAD)[..]));
    assert_eq!(packet[..20], bytes(SERVER_HEADER));
}

#[test]
fn a_4_retry() {
    let packet = bytes(RETRY);
    let Ok(Parsed::Retry(parsed)) = parse(&packet, 0) else { panic!("a Retry") };
    assert_eq!((parsed.token, &*parsed.source), (&b"token"[..], &bytes("f067a5502a4262b5")[..]));
    assert!(retry::is_genuine(&parsed, &destination()));
    assert!(!retry::is_genuine(&parsed, &ConnectionId::EMPTY));
    let mut again = vec![0; retry::size(0, 8, b"token")];
    let mut w = Writer::new(&mut again);
    retry::encode(&mut w, 0xf, &parsed.destination, &parsed.source, b"token", &destination()).unwrap();
    assert_eq!(again, packet);
}

/// A.5 gives the keys. Their derivation from the secret is HKDF-Expand-Label, which TLS does for
/// this crate.
#[test]
fn a_5_chacha20_short_header() {
    let array = |hex: &str| <[u8; 32]>::try_from(bytes(hex)).unwrap();
    let key = array("c6d98ff3441c3fe1b2182094f69caa2ed4b716b65488960a7a984979fb23e1c8");
    let header_key = array("25a282b9e82f06f21f488917a4fc8f1b73573685608597d0efcb076b0ab7a7a4");
    let iv = <[u8; 12]>::try_from(bytes("e0459b3474bdd0e44a41c144")).unwrap();
    let suite =
        TLS13_CHACHA20_POLY1305_SHA256.tls13().and_then(rustls::Tls13CipherSuite::quic_suite).unwrap();
    let keys = || DirectionalKeys {
        header: suite.quic.header_protection_key(AeadKey::from(header_key)),
        packet: suite.quic.packet_key(AeadKey::from(key), Iv::from(iv)),
    };
    let header = Outgoing {
        level: Level::OneRtt,
        destination: ConnectionId::EMPTY,
        source: ConnectionId::EMPTY,
        token: &[],
        number: 654_360_564,
        number_len: 3,
        key_phase: false,
        spin: false,
    };
    let packet = sealed(&keys(), &header, &[1]);
    assert_eq!(packet, bytes("4cfe4189655e5cd55c41f69080575d7999c25a5bfb"));
    assert_eq!(keys::min_payload(&keys(), 3), 1, "the smallest possible packet");

    let mut packet = packet;
    let at = protected(&packet, 0);
    let opened = keys::open(&keys(), &mut packet, &at, Some(654_360_563)).unwrap();
    assert_eq!((opened.number, opened.payload), (654_360_564, &[1][..]));
}

/// HKDF-Expand-Label of TLS 1.3 with ring, to check A.1 and A.5 without rustls.
fn expand(secret: &[u8], label: &str, out: &mut [u8]) {
    struct Len(usize);
    impl ring::hkdf::KeyType for Len {
        fn len(&self) -> usize {
            self.0
        }
    }
    let full = format!("tls13 {label}");
    let info = [&(out.len() as u16).to_be_bytes()[..], &[full.len() as u8], full.as_bytes(), &[0]].concat();
    let secret = ring::hkdf::Prk::new_less_safe(ring::hkdf::HKDF_SHA256, secret);
    secret.expand(&[&info], Len(out.len())).unwrap().fill(out).unwrap();
}

#[test]
fn a_1_and_a_5_keys_from_secrets() {
    let rows = [
        (
            "c00cf151ca5be075ed0ebfb5c80323c42d6b7db67881289af4008f1f6c357aea",
            "quic key",
            "1f369613dd76d5467730efcbe3b1a22d",
        ),
        (
            "c00cf151ca5be075ed0ebfb5c80323c42d6b7db67881289af4008f1f6c357aea",
            "quic iv",
            "fa044b2f42a3fd3b46fb255c",
        ),
        (
            "c00cf151ca5be075ed0ebfb5c80323c42d6b7db67881289af4008f1f6c357aea",
            "quic hp",
            "9f50449e04a0e810283a1e9933adedd2",
        ),
        (
            "3c199828fd139efd216c155ad844cc81fb82fa8d7446fa7d78be803acdda951b",
            "quic key",
            "cf3a5331653c364c88f0f379b6067e37",
        ),
        (
            "7db5df06e7a69e432496adedb00851923595221596ae2ae9fb8115c1e9ed0a44",
            "client in",
            "c00cf151ca5be075ed0ebfb5c80323c42d6b7db67881289af4008f1f6c357aea",
        ),
        (
            "7db5df06e7a69e432496adedb00851923595221596ae2ae9fb8115c1e9ed0a44",
            "server in",
            "3c199828fd139efd216c155ad844cc81fb82fa8d7446fa7d78be803acdda951b",
        ),
        (
            "9ac312a7f877468ebe69422748ad00a15443f18203a07d6060f688f30f21632b",
            "quic key",
            "c6d98ff3441c3fe1b2182094f69caa2ed4b716b65488960a7a984979fb23e1c8",
        ),
        (
            "9ac312a7f877468ebe69422748ad00a15443f18203a07d6060f688f30f21632b",
            "quic ku",
            "1223504755036d556342ee9361d253421a826c9ecdf3c7148684b36b714881f9",
        ),
    ];
    for (secret, label, expected) in rows {
        let expected = bytes(expected);
        let mut out = vec![0; expected.len()];
        expand(&bytes(secret), label, &mut out);
        assert_eq!(out, expected, "{label}");
    }
}

#[test]
fn reserved_bits_end_the_connection_but_only_when_authenticated() {
    let client = keys::initial(&destination(), Side::Client);
    let server = keys::initial(&destination(), Side::Server);
    let mut packet = bytes(CLIENT_HEADER);
    packet.resize(packet.len() + 1162 + 16, 0);
    packet[0] |= 0x04;
    let placed = ackclock_quic::wire::Placed {
        level: Level::Initial,
        start: 0,
        length_at: Some(16),
        pn_offset: 18,
        number_len: 4,
        number: 2,
    };
    keys::seal(&*client.local.header, &*client.local.packet, &mut packet, &placed).unwrap();
    let at = protected(&packet, 0);
    let mut forged = packet.clone();
    forged[1000] ^= 1;
    assert_eq!(keys::open(&server.remote, &mut forged, &at, None), Err(Refused::Forged));
    let Err(Refused::Fatal(error)) = keys::open(&server.remote, &mut packet, &at, None) else {
        panic!("taken")
    };
    assert_eq!(error.code, Code::PROTOCOL_VIOLATION);
}

proptest! {
    /// No corruption goes unnoticed, and none panics.
    #[test]
    fn damage_is_refused(at in 0_usize..1200, bit in 0_u32..8, cut in 0_usize..1200) {
        let server = keys::initial(&destination(), Side::Server);
        let mut packet = bytes(CLIENT_PACKET);
        packet[at] ^= 1 << bit;
        if let Ok(Parsed::Protected(at)) = parse(&packet, 0) {
            let opened = keys::open(&server.remote, &mut packet[..at.end], &at, None);
            prop_assert!(opened.is_err());
        }
        // As if Length were shorter than a sample.
        let mut packet = bytes(CLIENT_PACKET);
        let mut at = protected(&packet, 0);
        at.end = at.pn_offset + cut.min(1182 - 1);
        let refused = keys::open(&server.remote, &mut packet[..at.end], &at, None).is_err();
        prop_assert!(refused);
    }

    /// Also short packets, every packet number length, and a null cipher.
    #[test]
    fn what_is_sealed_is_opened(
        number in 0..1_u64 << 50, number_len in 1_usize..=4, id_len in 0_usize..=20, extra in 0_usize..40, tag in 0_usize..=1,
    ) {
        let nothing = |side| plain::keys(side, Level::OneRtt, 16 * tag);
        let real = |side| keys::initial(b"anything", side);
        for (local, remote) in [(nothing(Side::Client), nothing(Side::Server)), (real(Side::Client), real(Side::Server))] {
            let destination = ConnectionId::new(&[7; 20][..id_len]).unwrap();
            let header = Outgoing {
                level: Level::OneRtt, destination, source: ConnectionId::EMPTY, token: &[], number, number_len,
                key_phase: false, spin: true,
            };
            let payload = vec![1; keys::min_payload(&local.local, number_len) + extra];
            let mut packet = sealed(&local.local, &header, &payload);
            let at = protected(&packet, id_len);
            prop_assert_eq!(at.destination, destination);
            let opened = keys::open(&remote.remote, &mut packet, &at, number.checked_sub(1)).unwrap();
            prop_assert!(opened.spin && opened.number == number && opened.payload == payload);
        }
    }
}

proptest! {
    /// Random datagrams, through all processing of a connection: dropped or an error, and never a
    /// panic. The cipher without a tag opens everything.
    #[test]
    fn datagrams_from_nowhere(
        mut datagram in prop::collection::vec(any::<u8>(), 0..300), version_one: bool, id_len in 0_usize..=20, generation: bool,
    ) {
        if version_one && datagram.len() > 5 {
            datagram[1..5].copy_from_slice(&[0, 0, 0, 1]);
        }
        let open = |level| plain::keys(Side::Server, level, 0);
        let mut one_rtt = OneRtt::new(open(Level::OneRtt), Box::new(Same));
        one_rtt.on_confirmed();
        if generation {
            one_rtt.request_update();
        }
        let mut rest = &mut datagram[..];
        while let Ok(Parsed::Protected(at)) = parse(rest, id_len) {
            let (packet, after) = rest.split_at_mut(at.end);
            let initial = keys::initial(&at.destination, Side::Server);
            let forged = keys::open(&initial.remote, &mut packet.to_vec(), &at, None).is_err();
            prop_assert!(forged);
            let opened = match at.level {
                Level::OneRtt => one_rtt.open(Time::ZERO, Duration::ZERO, packet, &at, Some(1 << 61)),
                level => keys::open(&open(level).remote, packet, &at, None),
            };
            if let Ok(opened) = opened {
                prop_assert!(opened.number < 1 << 62);
                if let Ok(frames) = Frames::new(opened.payload, at.level, Extensions::default()) {
                    prop_assert!(frames.count() <= opened.payload.len());
                }
            }
            rest = after;
        }
    }
}

/// Keys that never change.
struct Same;

impl NextKeys for Same {
    fn next_keys(&mut self) -> PacketKeySet {
        let Keys { local, remote } = plain::keys(Side::Server, Level::OneRtt, 0);
        PacketKeySet { local: local.packet, remote: remote.packet }
    }
}

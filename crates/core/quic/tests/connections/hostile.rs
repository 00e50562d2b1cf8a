//! Peers that break the rules, and attackers on the path that write arbitrary packets.

use ackclock_quic::Code;
use ackclock_quic::config::{EndpointConfig, RetryPolicy};
use ackclock_quic::connection::{Arrival, Close, Connection, Ended, State};
use ackclock_quic::crypto::tls::Ciphers;
use ackclock_quic::endpoint::{Endpoint, EndpointSettings};
use ackclock_quic::recovery::SpaceId;
use ackclock_quic::streams::{Read, StreamId, WindowConfig};
use ackclock_quic::units::{Duration, Ecn, Rng, Time};
use ackclock_quic::wire::retry;
use ackclock_quic::wire::{ConnectionId, EcnCounts, Frame, Writer};
use proptest::prelude::*;

use crate::forge::*;
use crate::world::*;

/// A connection between honest ends.
fn begun() -> World {
    let mut world = World::new(Plan::default());
    world.connect(&[1000]);
    assert!(world.finish(ms(1000)));
    world.run(ms(500), |_| false);
    world.checks = false;
    world
}

/// Returns the error code with which the server closed the connection.
fn verdict(world: &mut World) -> Option<Code> {
    let end = world.now + Duration::from_millis(1);
    world.run(end, |_| false);
    match world.ended()[1] {
        Some(Ended::Local(Close::Transport { code, .. })) => Some(*code),
        _ => None,
    }
}

#[test]
fn what_closes_a_connection() {
    let id = ConnectionId::new(&[1; 8]).unwrap();
    let new_id = |sequence, retire_prior_to| {
        encoded(&Frame::NewConnectionId { sequence, retire_prior_to, id, reset_token: [1; 16] })
    };
    let cases: Vec<(&str, Vec<u8>, Code)> = vec![
        ("an ACK of what was not sent", ack(&[(1_000_000, 1_000_001)], None), Code::PROTOCOL_VIOLATION),
        ("an ACK of everything", ack(&[(0, (1 << 62) - 1)], None), Code::PROTOCOL_VIOLATION),
        ("nothing", vec![], Code::PROTOCOL_VIOLATION),
        ("an unknown frame", vec![0x40, 0x7f], Code::FRAME_ENCODING_ERROR),
        ("HANDSHAKE_DONE", encoded(&Frame::HandshakeDone), Code::PROTOCOL_VIOLATION),
        ("a token", encoded(&Frame::NewToken(b"token")), Code::PROTOCOL_VIOLATION),
        ("a stream above the limit", stream(4 * 1_000, 0, b"x", false), Code::STREAM_LIMIT_ERROR),
        ("a stream that is the server's", stream(1, 0, b"x", false), Code::STREAM_STATE_ERROR),
        ("beyond the stream's window", stream(8, 1 << 40, b"x", false), Code::FLOW_CONTROL_ERROR),
        ("two ends", [stream(8, 9, b"", true), stream(8, 8, b"", true)].concat(), Code::FINAL_SIZE_ERROR),
        (
            "data beyond the end",
            [stream(8, 9, b"", true), stream(8, 9, b"x", false)].concat(),
            Code::FINAL_SIZE_ERROR,
        ),
        ("an ID that was never given", encoded(&Frame::RetireConnectionId(99)), Code::PROTOCOL_VIOLATION),
        ("the ID that is used", encoded(&Frame::RetireConnectionId(0)), Code::PROTOCOL_VIOLATION),
        ("another ID of a known number", new_id(1, 0), Code::PROTOCOL_VIOLATION),
        (
            "CRYPTO far ahead",
            encoded(&Frame::Crypto { offset: 1 << 20, data: b"x" }),
            Code::CRYPTO_BUFFER_EXCEEDED,
        ),
        ("2^61 streams", [&[0x12][..], &[0xe0, 0, 0, 0, 0, 0, 0, 0]].concat(), Code::FRAME_ENCODING_ERROR),
        ("a message", encoded(&Frame::Datagram { data: b"x", length: true }), Code::PROTOCOL_VIOLATION),
        ("ACK_FREQUENCY", encoded(&Frame::ImmediateAck), Code::FRAME_ENCODING_ERROR),
    ];
    for (what, payload, code) in cases {
        let mut world = begun();
        say(&mut world, 10_000, &payload);
        assert_eq!(verdict(&mut world), Some(code), "{what}");
        assert!(world.run(ms(20_000), |world| world.client.is_empty() && world.server.is_empty()), "{what}");
    }
}

/// RFC 9000 section 21.4: acknowledging everything also acknowledges packet numbers that were
/// skipped.
#[test]
fn optimistic_acks() {
    let mut world = begun();
    world.requests.clear();
    world.wanted = vec![12_000_000];
    assert!(world.finish(ms(30_000)));
    let next = world.server_connection().sender().next_number(SpaceId::Application);
    let sent = world.server_connection().sender().stats();
    assert!(next > sent.sent - sent.discarded, "numbers were left out");
    say(&mut world, 2 * next, &ack(&[(0, next - 1)], None));
    assert_eq!(verdict(&mut world), Some(Code::PROTOCOL_VIOLATION));
}

/// Each stream stays within its window, but together they exceed that of the connection. The
/// connection ends, and received data can still be read safely.
#[test]
fn more_than_the_connection_granted() {
    let mut plan = Plan::default();
    plan.server.connection.data_window = WindowConfig { initial: 3000, max: 3000 };
    let mut world = World::new(plan);
    world.connect(&[]);
    assert!(world.run(ms(500), |world| world.client_connection().is_confirmed()));
    world.run(ms(600), |_| false);
    let (data, now) = ([7; 1000], world.now);
    for n in 0..4 {
        say(&mut world, 10_000 + n, &stream(4 * n, 0, &data, false));
    }
    for n in 0..4 {
        let read = world.server_connection().read(now, StreamId(4 * n), &mut [0; 2000]);
        assert_eq!(read, Ok(Read::Data(1000)));
    }
    assert_eq!(verdict(&mut world), Some(Code::FLOW_CONTROL_ERROR));
}

/// More connection IDs than are stored, and a peer that makes the server retire and reissue all of
/// them.
#[test]
fn floods_of_connection_ids() {
    for retire in [false, true] {
        let mut world = begun();
        for sequence in 10..2000_u64 {
            let id = ConnectionId::new(&sequence.to_be_bytes()).unwrap();
            let retire_prior_to = if retire { sequence } else { 0 };
            let mut reset_token = [0; 16];
            reset_token[..8].copy_from_slice(&sequence.to_be_bytes());
            let frame = Frame::NewConnectionId { sequence, retire_prior_to, id, reset_token };
            say(&mut world, 10_000 + sequence, &encoded(&frame));
            assert!(world.server_connection().memory() < 1000);
            if !world.server_connection().state().eq(&ackclock_quic::connection::State::Open) {
                break;
            }
        }
        assert_eq!(verdict(&mut world), Some(Code::CONNECTION_ID_LIMIT_ERROR));
    }
}

/// Challenges are answered, four per packet, within the amplification limit.
#[test]
fn floods_of_challenges() {
    let mut world = begun();
    let payload: Vec<u8> =
        (0..100_u64).flat_map(|n| encoded(&Frame::PathChallenge(n.to_be_bytes()))).collect();
    let before = world.server_connection().counts().bytes_sent;
    for number in 0..500 {
        say(&mut world, 10_000 + number, &payload);
        world.flush();
    }
    let sent = world.server_connection().counts().bytes_sent - before;
    assert!(sent <= 500 * 1300, "{sent}");
    assert_eq!(verdict(&mut world), None);
}

/// Spoofed addresses: at most four paths, three times the received bytes to each, and a return to
/// the old path. An attacker on the path forwards the client's packets from other addresses.
#[test]
fn address_flapping() {
    let mut world = begun();
    for number in 0..300_u64 {
        world.client_connection().ping();
        let next = world.now + Duration::from_millis(1);
        world.run(next, |_| false);
        let of_client = |(_, it): &(_, &Flying)| it.from == CLIENT.parse().unwrap();
        let key = *world.flying.iter().find(of_client).unwrap().0;
        let bytes = world.flying.remove(&key).unwrap().bytes;
        let from = format!("192.0.2.{}:{}", number % 50, 1000 + number);
        let before = world.sent[1];
        inject(&mut world, &from, bytes);
        world.flush();
        assert!(world.sent[1] - before <= 8, "{}", world.sent[1] - before);
    }
    // Nobody answers there: back to the client.
    world.run(ms(5_000), |_| false);
    assert_eq!(world.server_connection().addresses().1, CLIENT.parse().unwrap());
}

/// Single bytes, backwards and overlapping, every other packet number, old numbers again: memory is
/// bounded, and nothing closes the connection.
#[test]
fn crumbs_and_replays() {
    let mut world = begun();
    let packets: Vec<Vec<u8>> = (0..3000_u64)
        .map(|n| {
            forged(&world, 10_000 + 2 * n, &stream(8, 2 * (3000 - n), &[7, 7][..1 + (n % 2) as usize], false))
        })
        .collect();
    for bytes in packets.iter().chain(&packets) {
        inject(&mut world, CLIENT, bytes.clone());
        world.flush();
    }
    assert!(world.server_connection().memory() < 50_000, "{}", world.server_connection().memory());
    assert!(world.server_connection().counts().duplicates >= 3000);
    assert_eq!(verdict(&mut world), None);
}

/// Invalid ECN counts end the marking, not the connection (RFC 9000 section 13.4.2.1). They
/// decrease, count marks that were not sent, or exceed the number of sent packets.
#[test]
fn ecn_counts_that_lie() {
    let lies = [(0, 0, 0), (1 << 30, 0, 0), (1000, 5, 0), (0, 0, 1 << 40)];
    for (ect0, ect1, ce) in lies {
        let mut plan = Plan::default();
        let mut recovery = (*plan.settings[1].recovery).clone();
        recovery.ecn = Ecn::Ect0;
        plan.settings[1].recovery = recovery.into();
        let mut world = World::new(plan);
        world.connect(&[1_000_000]);
        assert!(!world.run(ms(600), |_| false));
        world.checks = false;
        assert_eq!(world.server_connection().sender().bare_mark(), Ecn::Ect0, "the path carries marks");
        let last = world.server_connection().sender().next_number(SpaceId::Application) - 1;
        say(&mut world, 10_000, &ack(&[(last, last)], Some(EcnCounts { ect0, ect1, ce })));
        assert_eq!(world.server_connection().sender().bare_mark(), Ecn::NotEct, "{ect0} {ect1} {ce}");
        assert_eq!(verdict(&mut world), None);
    }
}

/// Ten thousand datagrams of noise: no state, few answers, and an honest client can connect.
#[test]
fn garbage() {
    let mut world = World::new(Plan { crypto: tls(Ciphers::All), ..Plan::default() });
    let mut rng = Rng::stream(5, "garbage");
    for n in 0..10_000_u64 {
        let len = 1 + rng.below(1500) as usize;
        let mut bytes: Vec<u8> = (0..len).map(|_| rng.next_u64() as u8).collect();
        if n % 3 == 0 && len > 6 {
            // Looks like an Initial of version 1.
            bytes[..6].copy_from_slice(&[0xc0 | (n as u8 & 0x3f), 0, 0, 0, 1, 8]);
        }
        world.now = Time(n * 100_000);
        inject(&mut world, "198.51.100.7:9", bytes);
        world.flush();
    }
    assert!(world.server.is_empty());
    assert!(world.sent[1] <= 200, "{}", world.sent[1]);
    world.connect(&[1000]);
    let end = world.now + Duration::from_secs(2);
    assert!(world.finish(end));
}

/// RFC 9000 section 17.2.5.2: a Retry for another connection, and a second one, are dropped.
#[test]
fn spoofed_retries() {
    for genuine in [false, true] {
        let mut world = World::new(Plan::default());
        world.connect(&[1000]);
        let mut buf = [0; 1500];
        let sent = world.client.poll_transmit(ms(0), &mut buf).unwrap();
        let id = |bytes: &[u8]| ConnectionId::new(bytes).unwrap();
        let (original, source) = (id(&buf[6..14]), id(&buf[15..23]));
        let made_for = if genuine { original } else { id(&[3; 8]) };
        let mut spoof = vec![0; retry::size(8, 8, b"token")];
        let mut w = Writer::new(&mut spoof);
        retry::encode(&mut w, 0, &source, &id(&[9; 8]), b"token", &made_for).unwrap();
        for _ in 0..2 {
            let mut bytes = spoof.clone();
            let (from, to, now) = (sent.to, sent.from, world.now);
            world.client.handle(now, Arrival { from, to, ecn: Ecn::NotEct, arrived: now, bytes: &mut bytes });
        }
        let again = world.client.poll_transmit(ms(0), &mut buf);
        assert_eq!(again.is_some(), genuine, "only a genuine one is followed");
        assert!(world.client.poll_transmit(ms(0), &mut buf).is_none(), "and only once");
        if !genuine {
            assert!(world.finish(ms(3000)));
        }
    }
}

/// Clients that are never accepted: limited in number, and in bytes each.
#[test]
fn strangers() {
    let server = EndpointConfig { accepts: true, unaccepted: 10, ..EndpointConfig::default() };
    let mut world = World::new(Plan { server, ..Plan::default() });
    for n in 0..50_u64 {
        let settings = EndpointSettings {
            config: EndpointConfig::default(),
            connection: ackclock_quic::connection::Settings::default(),
            crypto: None,
        };
        let mut client = Endpoint::new(settings, n).unwrap();
        let address = format!("198.51.100.{n}:9");
        let ends = (address.parse().unwrap(), SERVER.parse().unwrap());
        client.connect(world.now, &plain().0, "server", ends, b"").unwrap();
        let mut buf = [0; 1500];
        let sent = client.poll_transmit(world.now, &mut buf).unwrap();
        assert_eq!(sent.len, 1200);
        for _ in 0..200 {
            inject(&mut world, &address, buf[..sent.len].to_vec());
        }
    }
    assert_eq!(world.server.len(), 10);
    assert!(world.server.dropped().dropped >= 10 * 100 && world.server.dropped().answered >= 30);
    // The idle timeout frees their slots.
    assert!(world.run(ms(60_000), |world| world.server.is_empty()));
}

/// Returns the first datagram of a client in the name of this address.
fn first_datagram(address: &str, seed: u64) -> (Endpoint, Vec<u8>) {
    let connection = ackclock_quic::connection::Settings::default();
    let settings = EndpointSettings { config: EndpointConfig::default(), connection, crypto: None };
    let mut client = Endpoint::new(settings, seed).unwrap();
    let ends = (address.parse().unwrap(), SERVER.parse().unwrap());
    client.connect(ms(0), &plain().0, "server", ends, b"").unwrap();
    let mut buf = [0; 1500];
    let sent = client.poll_transmit(ms(0), &mut buf).unwrap();
    (client, buf[..sent.len].to_vec())
}

/// Returns a server whose hosts have so many places, a quarter of them without a Retry.
fn with_places(all: usize, of_host: usize) -> World {
    with_retry(all, of_host, RetryPolicy::From { all: all / 4, of_host: of_host / 4 })
}

fn with_retry(all: usize, of_host: usize, retry: RetryPolicy) -> World {
    let server = EndpointConfig {
        accepts: true,
        connections: Some(all),
        connections_per_host: Some(of_host),
        retry,
        ..EndpointConfig::default()
    };
    World::new(Plan { server, ..Plan::default() })
}

/// First packets in the name of a host take a quarter of its places. The host itself is served.
#[test]
fn spoofed_first_packets_lock_no_host_out() {
    for of_host in [1, 3, 4, 9, 50] {
        let mut world = with_places(100, of_host);
        for n in 0..200 {
            let (_, bytes) = first_datagram(&format!("10.0.0.1:{}", 5000 + n), n);
            inject(&mut world, "10.0.0.1:6", bytes);
            // A second hand in the name of the whole network does not help.
            let (_, bytes) = first_datagram(&format!("10.0.0.1:{}", 6000 + n), 1000 + n);
            inject(&mut world, &format!("[::ffff:10.0.0.1]:{}", 6000 + n), bytes);
        }
        assert_eq!(world.server.len(), of_host / 4);
        world.connect(&[1000]);
        assert!(world.finish(ms(2000)), "{of_host}: {:?}", world.client_events);
    }
}

/// First packets in the names of many hosts take a quarter of all places.
#[test]
fn spoofed_hosts_lock_nobody_out() {
    let mut world = with_places(20, 8);
    for n in 0..200_u64 {
        let address = format!("198.51.100.{n}:9");
        inject(&mut world, &address, first_datagram(&address, n).1);
        let address = format!("[2001:db8:0:{n:x}::1]:9");
        inject(&mut world, &address, first_datagram(&address, 1000 + n).1);
    }
    assert_eq!(world.server.len(), 5);
    world.connect(&[1000]);
    assert!(world.finish(ms(2000)), "{:?}", world.client_events);
}

/// A Retry token is of no use at another address or port, and of none a second time.
#[test]
fn retry_tokens_of_others() {
    let (mut world, mut buf) = (with_places(8, 3), [0; 1500]);
    let (mut client, bytes) = first_datagram("10.0.0.1:4000", 1);
    inject(&mut world, "10.0.0.1:4000", bytes);
    let sent = world.server.poll_transmit(ms(0), &mut buf).unwrap();
    let arrival = Arrival {
        from: sent.from,
        to: sent.to,
        ecn: Ecn::NotEct,
        arrived: ms(0),
        bytes: &mut buf[..sent.len],
    };
    client.handle(ms(0), arrival);
    let sent = client.poll_transmit(ms(0), &mut buf).unwrap();
    for (from, places) in [("10.0.0.2:4000", 0), ("10.0.0.1:4001", 0), ("10.0.0.1:4000", 1)] {
        inject(&mut world, from, buf[..sent.len].to_vec());
        assert_eq!(world.server.len(), places, "{from}");
    }
    for port in 4001..4100 {
        inject(&mut world, &format!("10.0.0.1:{port}"), buf[..sent.len].to_vec());
    }
    assert_eq!(world.server.len(), 1);
}

/// A closing connection gives up its place to a client, and not before it has sent its close. Its
/// late packets then get a stateless reset.
#[test]
fn a_place_after_a_close() {
    for (all, of_host) in [(1, 1), (1, 9), (9, 1)] {
        for by_client in [true, false] {
            let mut world = with_places(all, of_host);
            world.connect(&[1000]);
            assert!(world.finish(ms(1000)), "{:?}", world.client_events);
            let (now, late) = (world.now, world.last.clone());
            let first = world.server.handles().next().unwrap();
            world.requests.clear();
            world.client_events.clear();
            let ends = (world.handle.unwrap(), world.accepted.unwrap());
            match by_client {
                true => world.client.connection_mut(ends.0).unwrap().close(now, 0, b""),
                false => world.server.connection_mut(ends.1).unwrap().close(now, 0, b""),
            }
            world.run(now + Duration::from_millis(50), |_| false);
            assert!(world.server.connection(first).unwrap().state() >= State::Closing);
            world.connect(&[1000]);
            assert!(world.finish(now + Duration::from_millis(500)), "{:?}", world.client_events);
            assert_eq!((world.server.len(), world.server.connection(first).is_none()), (1, true));
            let before = world.server.dropped().answered;
            inject(&mut world, CLIENT, late);
            assert_eq!(world.server.dropped().answered, before + 1);
        }
    }
}

/// A connection keeps its place while it is open or its close waits to be sent.
#[test]
fn a_place_before_the_close_is_sent() {
    let mut world = with_retry(1, 1, RetryPolicy::Never);
    world.connect(&[1000]);
    assert!(world.finish(ms(1000)));
    let (now, handle) = (world.now, world.accepted.unwrap());
    world.server.connection_mut(handle).unwrap().close(now, 7, b"");
    while world.server.poll_event().is_some() {}
    inject(&mut world, "10.0.0.9:1", first_datagram("10.0.0.9:1", 9).1);
    assert!(world.server.connection(handle).is_some());
}

/// Garbage and corrupted replays on an established connection with TLS are dropped.
#[test]
fn damaged_repeats() {
    let mut world = World::new(Plan { crypto: tls(Ciphers::All), ..Plan::default() });
    world.connect(&[300_000]);
    let mut rng = Rng::stream(6, "damage");
    while !world.is_done() {
        let end = world.now + Duration::from_millis(5);
        world.run(end, |_| false);
        let mut bytes = world.last.clone();
        let at = rng.below(bytes.len() as u64) as usize;
        bytes[at] ^= 1 << rng.below(8);
        inject(&mut world, CLIENT, bytes);
        assert!(world.now < ms(5000));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// Any corruption of any datagram, where no cipher protects the frames: nothing panics, hangs
    /// or grows.
    #[test]
    fn any_damage(seed in 0_u64..1_000_000, corrupt in 0.01_f64..0.5, from in 0_u64..2) {
        let link = Link { corrupt: if from == 0 { corrupt } else { 0.0 }, duplicate: 0.05, ..Link::default() };
        let mut world = World::new(Plan { link, seed, ..Plan::default() });
        world.checks = false;
        world.connect(&[100_000, 5, 20_000]);
        world.run(ms(120), |_| false);
        world.link.corrupt = corrupt;
        world.run(ms(20_000), |world| world.client.is_empty() && world.server.is_empty());
        let memory = |end: &ackclock_quic::endpoint::Endpoint| -> usize {
            end.handles().filter_map(|handle| end.connection(handle)).map(Connection::memory).sum()
        };
        prop_assert!(memory(&world.client) + memory(&world.server) < 3 << 20);
    }

    /// Arbitrary bytes as frames, sent as if by the client.
    #[test]
    fn any_frames(payloads in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..60), 1..20)) {
        let mut world = begun();
        for (number, payload) in payloads.iter().enumerate() {
            say(&mut world, 10_000 + number as u64, payload);
            world.flush();
            if world.server.is_empty() {
                return Ok(());
            }
        }
        world.run(ms(3_000), |_| false);
    }
}

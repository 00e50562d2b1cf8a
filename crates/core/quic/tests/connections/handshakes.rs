//! Handshakes: plain and with TLS, with Retry and tokens, over links that lose and corrupt
//! datagrams.

use std::net::SocketAddr;

use ackclock_quic::config::{EndpointConfig, RetryPolicy};
use ackclock_quic::connection::{Arrival, Close, Ended, Event};
use ackclock_quic::crypto::tls::Ciphers;
use ackclock_quic::units::{Duration, Ecn};
use ackclock_quic::wire::header::{Parsed, parse};
use ackclock_quic::{Code, Level};

use crate::world::*;

#[test]
fn handshake() {
    let mut world = World::new(Plan::default());
    world.connect(&[1000]);
    assert!(world.finish(ms(1000)), "{:?} {:?}", world.client_events, world.server_events);
    assert!(world.client_events.contains(&Event::Confirmed));
    assert!(world.server_events.contains(&Event::Confirmed));
    // A round trip for the handshake, and one for the request.
    assert!(world.now < ms(70), "{:?}", world.now);
}

#[test]
fn handshake_with_tls_and_chacha20() {
    for ciphers in [Ciphers::All, Ciphers::ChaCha20Poly1305] {
        let mut world = World::new(Plan { crypto: tls(ciphers), ..Plan::default() });
        world.connect(&[1000]);
        assert!(world.finish(ms(1000)), "{:?} {:?}", world.client_events, world.server_events);
    }
}

/// Both ends export the same secrets if they log them, and none otherwise.
#[test]
fn secrets_on_request() {
    let secrets = |key_log| {
        let mut plan = Plan { crypto: tls(Ciphers::All), ..Plan::default() };
        (plan.client.key_log, plan.server.key_log) = (key_log, key_log);
        let mut world = World::new(plan);
        world.connect(&[1000]);
        assert!(world.finish(ms(1000)));
        [world.client_events, world.server_events].map(|events| {
            let mut lines: Vec<String> = events
                .into_iter()
                .filter_map(|event| if let Event::Secret(line) = event { Some(line) } else { None })
                .collect();
            lines.sort();
            lines
        })
    };
    let [client, server] = secrets(true);
    assert!(client == server && client.iter().any(|line| line.starts_with("CLIENT_TRAFFIC_SECRET_0 ")));
    assert!(secrets(false).iter().all(Vec::is_empty));
}

/// The same seed gives the same datagrams.
#[test]
fn deterministic() {
    let run = |seed| {
        let link = Link { loss: 0.05, duplicate: 0.02, reorder: 0.05, ..Link::default() };
        let mut world = World::new(Plan { seed, link, ..Plan::default() });
        world.connect(&[200_000, 100_000]);
        assert!(world.finish(ms(60_000)));
        (world.trace, world.now, world.sent)
    };
    assert_eq!(run(7), run(7));
    assert_ne!(run(7).0, run(8).0);
}

#[test]
fn with_retry_and_with_a_token_after_it() {
    let retrying = |crypto| {
        let server =
            EndpointConfig { accepts: true, retry: RetryPolicy::Always, ..EndpointConfig::default() };
        World::new(Plan { server, crypto, ..Plan::default() })
    };
    for crypto in [plain(), tls(Ciphers::All)] {
        let mut world = retrying(crypto);
        world.connect(&[1000]);
        assert!(world.finish(ms(2000)), "{:?}", world.client_events);
        assert_eq!(world.server.dropped().answered, 1);
        // The token of NEW_TOKEN spares the next connection the Retry.
        assert!(world.run(ms(3000), |world| !world.tokens.is_empty()));
        world.requests.clear();
        world.connect(&[1000]);
        assert!(world.finish(ms(4000)), "{:?}", world.client_events);
        assert_eq!(world.server.dropped().answered, 1);
    }
}

/// Each of the first datagrams is lost once, in either direction.
#[test]
fn one_loss_anywhere() {
    for crypto in [plain(), tls(Ciphers::All)] {
        for side in [true, false] {
            for number in 0..8 {
                let link = Link { drops: vec![(side, number)], ..Link::default() };
                let mut world = World::new(Plan { link, crypto: crypto.clone(), ..Plan::default() });
                world.connect(&[10_000]);
                assert!(world.finish(ms(5000)), "{side} {number}: {:?}", world.client_events);
            }
        }
    }
}

/// Interop runner, handshakeloss: 30 %, with separate connections.
#[test]
fn handshake_loss() {
    for seed in 0..50 {
        let link = Link { loss: 0.3, ..Link::default() };
        let mut world = World::new(Plan { seed, link, ..Plan::default() });
        world.connect(&[1000]);
        assert!(world.finish(ms(60_000)), "{seed}: {:?} {:?}", world.client_events, world.server_events);
    }
}

/// Interop runner, handshakecorruption: 30 %.
#[test]
fn handshake_corruption() {
    for seed in 0..50 {
        let link = Link { corrupt: 0.3, ..Link::default() };
        let mut world = World::new(Plan { seed, link, crypto: tls(Ciphers::All), ..Plan::default() });
        world.connect(&[1000]);
        assert!(world.finish(ms(60_000)), "{seed}: {:?} {:?}", world.client_events, world.server_events);
    }
}

/// RFC 9000 section 8.1: at most three times the received bytes until the client's address is
/// validated. Section 14.1: clients pad datagrams with Initials.
#[test]
fn amplification() {
    for blocked in 1..40 {
        let drops = (1..=blocked).map(|number| (true, number)).collect();
        let link = Link { drops, ..Link::default() };
        let mut world = World::new(Plan { link, crypto: tls(Ciphers::All), ..Plan::default() });
        world.connect(&[1000]);
        let (mut sent, mut most) = (0, 0.0_f64);
        world.run(ms(1500), |world| {
            sent = world.client_connection().counts().datagrams_sent;
            let [to_server, _] = world.crossed;
            let server = world.accepted.and_then(|handle| world.server.connection(handle));
            if let Some(server) = server.filter(|server| !server.is_connected()) {
                most = most.max(server.counts().bytes_sent as f64 / to_server as f64);
            }
            world.is_done()
        });
        assert!(most > 0.5 && most <= 3.0, "{most}");
        assert!(sent >= 2);
    }
}

/// Section 14.1: every datagram with an Initial of a client, or an ACK-eliciting Initial of a
/// server, has 1200 bytes. Section 12.2: packets that can be sent at once share a datagram.
#[test]
fn datagrams_of_a_handshake() {
    let mut world = World::new(Plan { crypto: tls(Ciphers::All), ..Plan::default() });
    world.connect(&[]);
    let mut buf = [0; 1500];
    let first = world.client.poll_transmit(ms(0), &mut buf).unwrap();
    assert_eq!((first.len, buf[0] & 0xf0), (1200, 0xc0));
    assert!(world.client.poll_transmit(ms(0), &mut [0; 1500]).is_none());
    let (from, to) = (first.from, first.to);
    let arrival = Arrival { from, to, ecn: Ecn::NotEct, arrived: ms(10), bytes: &mut buf[..first.len] };
    world.server.handle(ms(10), arrival);
    let mut answer = [0; 1500];
    let sent = world.server.poll_transmit(ms(10), &mut answer).unwrap();
    assert_eq!((sent.len, answer[0] & 0xf0), (1200, 0xc0));
    // An Initial, followed by a Handshake packet.
    let initial = parse(&answer[..sent.len], 8);
    let Ok(Parsed::Protected(initial)) = initial else { panic!("{initial:?}") };
    let Ok(Parsed::Protected(next)) = parse(&answer[initial.end..sent.len], 8) else { panic!() };
    assert_eq!((initial.level, next.level), (Level::Initial, Level::Handshake));
    assert!(next.source == initial.source && initial.source.len() == 8);
}

#[test]
fn nobody_answers() {
    let mut world = World::new(Plan { link: Link { loss: 1.0, ..Link::default() }, ..Plan::default() });
    world.connect(&[1000]);
    assert!(!world.finish(ms(60_000)));
    assert_eq!(world.ended()[0], Some(&Ended::Idle));
    assert!(world.client.is_empty());
    // Backoff: 1, 2, 4, 8, 16 s.
    assert!((6..=12).contains(&world.sent[0]), "{}", world.sent[0]);
}

/// Without cryptography. TLS has its own protocol names, and its own test in `rules`.
#[test]
fn no_protocol_in_common() {
    let client = EndpointConfig { alpn: vec![b"h3".to_vec()], ..EndpointConfig::default() };
    let mut world = World::new(Plan { client, ..Plan::default() });
    world.connect(&[1]);
    assert!(!world.finish(ms(5000)));
    let refused = |ended: Option<&Ended>| match ended {
        Some(Ended::Peer(Close::Transport { code, .. }) | Ended::Local(Close::Transport { code, .. })) => {
            *code == Code::crypto(120)
        }
        _ => false,
    };
    assert!(world.ended().into_iter().all(refused), "{:?}", world.ended());
    assert!(world.client.is_empty() && world.server.is_empty(), "closing and draining are over");
}

/// A server that accepts no clients sends nothing, and keeps no state of them. For a full server
/// see `hostile::strangers`.
#[test]
fn a_server_that_takes_nobody() {
    let server = EndpointConfig { accepts: false, ..EndpointConfig::default() };
    let mut world = World::new(Plan { server, ..Plan::default() });
    world.connect(&[1]);
    assert!(!world.finish(ms(40_000)));
    assert_eq!(world.ended()[0], Some(&Ended::Idle));
    assert!(world.server.is_empty());
}

/// Section 6: an unknown version is answered with ours. The answer ends a client's attempt unless
/// it lists version 1.
#[test]
fn version_negotiation() {
    let mut world = World::new(Plan::default());
    let (client, server): (SocketAddr, SocketAddr) = (CLIENT.parse().unwrap(), SERVER.parse().unwrap());
    let mut bytes = vec![0; 1200];
    bytes[..7].copy_from_slice(&[0xc0, 0x1a, 0x2a, 0x3a, 0x4a, 8, 7]);
    bytes[14] = 5; // source: five bytes
    let arrival =
        Arrival { from: client, to: server, ecn: Ecn::NotEct, arrived: world.now, bytes: &mut bytes };
    world.server.handle(ms(0), arrival);
    let mut buf = [0; 1500];
    let answer = world.server.poll_transmit(ms(0), &mut buf).unwrap();
    assert_eq!((answer.to, &buf[1..5]), (client, &[0, 0, 0, 0][..]));
    assert!(buf[..answer.len].windows(4).any(|version| version == [0, 0, 0, 1]));

    for (versions, ends) in [(vec![0x0a1a_2a3a_u32], true), (vec![0x0a1a_2a3a, 1], false)] {
        let mut world = World::new(Plan::default());
        world.connect(&[]);
        let mut buf = [0; 1500];
        let first = world.client.poll_transmit(ms(0), &mut buf).unwrap();
        let datagram = &buf[..first.len];
        let (destination, rest) = datagram[6..].split_at(usize::from(datagram[5]));
        let source = &rest[1..=usize::from(rest[0])];
        let mut answer = vec![0x80, 0, 0, 0, 0, source.len() as u8];
        answer.extend_from_slice(source);
        answer.push(destination.len() as u8);
        answer.extend_from_slice(destination);
        versions.iter().for_each(|version| answer.extend_from_slice(&version.to_be_bytes()));
        let arrival =
            Arrival { from: server, to: client, ecn: Ecn::NotEct, arrived: world.now, bytes: &mut answer };
        world.client.handle(ms(1), arrival);
        world.run(ms(2), |_| false);
        assert_eq!(world.ended()[0] == Some(&Ended::Version), ends);
    }
}

/// A delay of 750 ms each way: the RTT is longer than the first PTO.
#[test]
fn long_rtt() {
    let link = Link { delay: Duration::from_millis(750), ..Link::default() };
    let mut world = World::new(Plan { link, crypto: tls(Ciphers::All), ..Plan::default() });
    world.connect(&[1_000_000]);
    assert!(world.finish(ms(30_000)), "{:?}", world.client_events);
}

/// Zero-length IDs at the client: its address identifies the connection.
#[test]
fn ids_of_zero_length() {
    let mut client = EndpointConfig::default();
    client.connection.connection_id_len = 0;
    let mut world = World::new(Plan { client, ..Plan::default() });
    world.connect(&[100_000]);
    assert!(world.finish(ms(5000)));
}

/// The server reaches its maximum number of connections. The next client is refused, and accepted
/// once another is gone.
#[test]
fn a_full_server() {
    let server = EndpointConfig { accepts: true, connections: Some(1), ..EndpointConfig::default() };
    let mut world = World::new(Plan { server, ..Plan::default() });
    world.connect(&[1000]);
    assert!(world.finish(ms(1000)));
    world.client_events.clear();
    world.connect(&[1000]);
    world.run(ms(2000), |world| world.ended()[0].is_some());
    let refused = Close::Transport { code: Code::CONNECTION_REFUSED, frame: 0, reason: Vec::new() };
    assert_eq!(world.ended()[0], Some(&Ended::Peer(refused)));
    assert!(world.run(ms(60_000), |world| world.server.is_empty()), "idle");
    world.requests.clear();
    world.connect(&[1000]);
    assert!(world.finish(ms(70_000)));
}

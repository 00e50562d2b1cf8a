//! Peers that grant no credit or send nothing, and unknown senders that flood a transfer.

use ackclock_quic::connection::{Connection, Ended};
use ackclock_quic::crypto::tls::Ciphers;
use ackclock_quic::streams::WindowConfig;
use ackclock_quic::units::{Duration, Rng};
use ackclock_quic::wire::header::{VERSION_1, VersionNegotiation};
use ackclock_quic::wire::{ConnectionId, Writer};

use crate::forge::*;
use crate::world::*;

/// A client that grants no credit gets no data, and hardly any packets.
#[test]
fn zero_windows() {
    for (connection, stream) in [(0, 10_000), (10_000, 0), (0, 0)] {
        let mut plan = Plan::default();
        let window = |bytes| WindowConfig { initial: bytes, max: bytes };
        plan.client.connection.data_window = window(connection);
        plan.client.connection.stream_window = window(stream);
        let mut world = World::new(plan);
        world.connect(&[1_000_000]);
        world.run(ms(500), |_| false);
        let before = world.sent;
        world.run(ms(20_000), |_| false);
        assert!(world.sent[1] - before[1] < 10, "{} of the server", world.sent[1] - before[1]);
        assert!(world.server_connection().memory() < 10_000);
        assert!(world.run(ms(90_000), |world| world.server.is_empty()), "idle at last");
    }
}

/// A client requests a lot of data and disappears: probes become rarer, and then the connection
/// ends.
#[test]
fn a_silent_peer() {
    let mut world = World::new(Plan::default());
    world.connect(&[5_000_000]);
    world.run(ms(500), |_| false);
    world.link.loss = 1.0;
    let (before, since) = (world.sent[1], world.now);
    assert!(world.run(ms(90_000), |world| world.server.is_empty()));
    assert!(world.now - since < Duration::from_secs(32), "{:?}", world.now);
    // The data in the window, and two probes for each timeout.
    assert!(world.sent[1] - before < 200, "{}", world.sent[1] - before);
    assert!(matches!(world.ended()[1], Some(Ended::Idle)), "{:?}", world.ended()[1]);
}

/// Ten thousand datagrams of noise per second, to the connection's ID and to unknown IDs, from its
/// own address and from others. The transfer is as fast as without them.
#[test]
fn garbage_beside_a_transfer() {
    let time = |noisy: bool| {
        let mut world = World::new(Plan { crypto: tls(Ciphers::All), ..Plan::default() });
        let mut rng = Rng::stream(7, "noise");
        world.connect(&[2_000_000]);
        while !world.is_done() {
            let end = world.now + Duration::from_micros(500);
            world.run(end, |world| world.is_done());
            for n in 0..if noisy { 5 } else { 0 } {
                let mut bytes: Vec<u8> = (0..25 + rng.below(1200)).map(|_| rng.next_u64() as u8).collect();
                if n % 2 == 0 && world.last.len() > 9 {
                    // A short header with the connection's ID.
                    bytes[..9].copy_from_slice(&world.last[..9]);
                }
                inject(&mut world, if n < 3 { CLIENT } else { "198.51.100.7:9" }, bytes);
            }
            assert!(world.now < ms(10_000));
        }
        let held = world.server.handles().filter_map(|handle| world.server.connection(handle));
        assert!(held.map(Connection::memory).sum::<usize>() < 10_000);
        world.now.0 as f64
    };
    let (quiet, noisy) = (time(false), time(true));
    assert!((noisy / quiet - 1.0).abs() < 0.01, "{quiet} {noisy}");
}

/// RFC 9000 section 6.2: once any packet of the server was processed, a Version Negotiation is
/// dropped, whoever sent it.
#[test]
fn a_late_version_negotiation() {
    let mut world = World::new(Plan::default());
    world.connect(&[100_000]);
    world.run(ms(40), |_| false);
    let (nobody, source) = (ConnectionId::EMPTY, ConnectionId::new(&world.last[1..9]).unwrap());
    for destination in [nobody, ConnectionId::new(&world.last_of_server[1..9]).unwrap()] {
        let mut bytes = vec![0; 100];
        let mut w = Writer::new(&mut bytes);
        VersionNegotiation::encode(&mut w, 0, &destination, &source, &[VERSION_1 + 1]).unwrap();
        let len = w.position();
        inject_at_client(&mut world, bytes[..len].to_vec());
    }
    assert!(world.finish(ms(3_000)), "{:?}", world.client_events);
}

//! Datagrams below 1200 bytes: only those of the handshake and of path validation are larger.

use std::sync::{Arc, Mutex};

use ackclock_quic::Level;
use ackclock_quic::connection::{Connection, Observation, SentFrame, Tap};
use ackclock_quic::crypto::tls::Ciphers;
use ackclock_quic::units::{Bytes, Duration, Time};
use proptest::prelude::*;

use crate::world::*;

/// Size of 1-RTT packets, and whether they have path frames.
#[derive(Clone, Default)]
struct Packets(Arc<Mutex<Vec<(u64, bool)>>>);

impl Tap for Packets {
    fn on(&mut self, _: Time, what: &Observation<'_>) {
        if let Observation::Sent { level: Level::OneRtt, bytes, items, .. } = what {
            let of_path =
                |item: &SentFrame| matches!(item, SentFrame::PathChallenge | SentFrame::PathResponse);
            self.0.lock().unwrap().push((*bytes, items.iter().any(of_path)));
        }
    }
}

impl Packets {
    fn tap(connection: &mut Connection) -> Self {
        let packets = Self::default();
        connection.set_tap(Box::new(packets.clone()));
        packets
    }

    /// Returns the sizes of packets with path frames.
    fn check(&self, size: u64) -> Vec<u64> {
        let packets = self.0.lock().unwrap();
        let plain = packets.iter().filter(|packet| !packet.1).map(|packet| packet.0);
        assert!(plain.max() <= Some(size), "{packets:?}");
        packets.iter().filter(|packet| packet.1).map(|packet| packet.0).collect()
    }
}

fn small(size: u64, link: Link, seed: u64) -> World {
    let mut plan = Plan { link, seed, crypto: tls(Ciphers::All), ..Plan::default() };
    plan.client.connection.initial_datagram_size = Bytes(size);
    plan.server.connection.initial_datagram_size = Bytes(size);
    World::new(plan)
}

#[test]
fn initials_are_padded_and_nothing_else() {
    for size in [97, 300, 1064] {
        let mut world = small(size, Link::default(), 1);
        world.connect(&[1_000_000]);
        assert!(world.finish(ms(10_000)), "{size}: {:?}", world.client_events);
        let initials = || world.datagrams.iter().filter(|it| it.1 & 0xf0 == 0xc0);
        assert!(initials().any(|it| it.0 == 0) && initials().any(|it| it.0 == 1));
        assert!(initials().all(|it| it.2 == 1200), "{:?}", &world.datagrams[..10]);
        let most = world.datagrams.iter().filter(|it| it.1 < 0x80).map(|it| it.2).max();
        assert_eq!(most, Some(size as usize));
    }
}

#[test]
fn loss_and_corruption() {
    for (seed, size) in [(1, 97), (2, 300), (3, 300), (4, 1064)] {
        let link = Link { loss: 0.02, corrupt: 0.01, reorder: 0.01, ..Link::default() };
        let mut world = small(size, link, seed);
        world.connect(&[1_000_000]);
        assert!(world.run(ms(10_000), |world| world.accepted.is_some()));
        let packets = Packets::tap(world.server_connection());
        assert!(world.finish(ms(120_000)), "{size}: {:?}", world.client_events);
        assert!(packets.check(size).is_empty());
    }
}

/// A client that comes from another port or address. Path validation shows that the path carries
/// 1200 bytes (RFC 9000 section 8.2.1), unless the amplification limit forbids such a datagram.
#[test]
fn migration() {
    for to in ["10.0.0.1:4001", "10.0.0.77:4000"] {
        for (loss, seed) in [(0.0, 1), (0.02, 2), (0.02, 3)] {
            let mut world = small(300, Link { loss, ..Link::default() }, seed);
            world.connect(&[1_000_000]);
            let started = |world: &mut World| world.requests.values().any(|request| request.received > 0);
            assert!(world.run(ms(10_000), started));
            let packets = [Packets::tap(world.client_connection()), Packets::tap(world.server_connection())];
            world.nat = Some(to.parse().unwrap());
            world.client_connection().ping();
            let end = world.now + Duration::from_secs(60);
            assert!(world.finish(end), "{to}: {:?}", world.server_events);
            let [responses, challenges] = packets.map(|packets| packets.check(300));
            assert!(challenges.contains(&1200) && responses.contains(&1200), "{challenges:?} {responses:?}");
            assert!(responses.iter().all(|size| *size == 1200), "a client has no limit: {responses:?}");
            assert_eq!(world.server_connection().addresses().1, to.parse().unwrap());
        }
    }
}

/// A reason that is longer than a packet is shortened.
#[test]
fn a_long_reason() {
    let mut world = small(97, Link::default(), 1);
    world.connect(&[1_000_000]);
    assert!(world.run(ms(10_000), |world| world.client_connection().is_confirmed()));
    let now = world.now;
    world.client_connection().close(now, 7, &[b'x'; 1000]);
    world.run(ms(10_000), |_| false);
    let reason = format!("{:?}", world.ended()[1].unwrap());
    assert!(reason.contains("error: 7"), "{reason}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Any size, any loss: all data arrives, and only datagrams with a long header or a path frame
    /// are larger. A client from another port is validated.
    #[test]
    fn any_size(size in 97_u64..1200, seed in 0_u64..1000, loss in 0.0..0.05_f64, moves: bool) {
        let mut world = small(size, Link { loss, ..Link::default() }, seed);
        world.connect(&[100_000]);
        prop_assert!(world.run(ms(30_000), |world| world.requests.values().any(|it| it.received > 0)));
        let packets = [Packets::tap(world.client_connection()), Packets::tap(world.server_connection())];
        if moves {
            world.nat = Some("10.0.0.1:4001".parse().unwrap());
        }
        let mut is_finished = false;
        for _ in 0..100 {
            // A client that only receives must keep its new address alive. The server may send
            // three times a small datagram; once that is spent and lost, both wait.
            if moves && !is_finished {
                world.client_connection().ping();
            }
            is_finished = is_finished || world.finish(world.now + Duration::from_secs(1));
        }
        prop_assert!(is_finished, "{:?}", world.client_events);
        packets.iter().for_each(|packets| drop(packets.check(size)));
    }
}

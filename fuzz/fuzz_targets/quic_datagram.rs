//! Sends datagrams to an endpoint, server or client, during or after its handshake. Datagrams are
//! raw bytes, or packets with arbitrary frames and no cipher. Nothing panics or hangs, memory is
//! bounded, and the endpoint is empty in the end.
#![no_main]

#[path = "../../crates/core/quic/tests/connections/forge.rs"]
#[allow(dead_code)]
mod forge;
#[path = "../../crates/core/quic/tests/connections/link.rs"]
#[allow(dead_code)]
mod link;
#[path = "../../crates/core/quic/tests/connections/world.rs"]
#[allow(dead_code)]
mod world;

use ackclock_quic::units::Duration;
use ackclock_quic::{Level, Side};
use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;

use self::world::{CLIENT, Plan, World, ms};

/// Limit of a connection's memory: its initial receive window plus 8 MiB.
const BOUND: usize = (1 << 20) + (8 << 20);

#[derive(Arbitrary, Debug)]
enum Op {
    /// Sends these bytes, from the other end's address or another one.
    Raw(bool, Vec<u8>),
    /// Sends the other end's last datagram with one byte changed.
    Again(u16, u8),
    /// Sends a forged packet of the other end.
    Packet {
        level: u8,
        number: u16,
        payload: Vec<u8>,
    },
    Wait(u8),
}

#[derive(Arbitrary, Debug)]
struct Case {
    server: bool,
    /// Time before the first operation, in steps of 5 ms. The handshake takes 30 ms.
    at: u8,
    ops: Vec<Op>,
}

fn arrive(world: &mut World, server: bool, at_home: bool, bytes: Vec<u8>) {
    match server {
        true => forge::inject(world, if at_home { CLIENT } else { "198.51.100.7:9" }, bytes),
        false => forge::inject_at_client(world, bytes),
    }
}

fn step(world: &mut World, server: bool, op: &Op) {
    let by = if server { Side::Client } else { Side::Server };
    match op {
        Op::Raw(at_home, bytes) => arrive(world, server, *at_home, bytes.clone()),
        Op::Again(at, flip) => {
            let mut bytes = if server { world.last.clone() } else { world.last_of_server.clone() };
            if let Some(byte) = bytes.get_mut(usize::from(*at)) {
                *byte ^= flip;
            }
            arrive(world, server, true, bytes);
        }
        Op::Packet { level, number, payload } => {
            let level = match level % 8 {
                0 => Level::Initial,
                1 => Level::Handshake,
                _ => Level::OneRtt,
            };
            let bytes = forge::packet(world, by, level, u64::from(*number), payload);
            arrive(world, server, true, bytes);
        }
        Op::Wait(by) => {
            let end = world.now + Duration::from_millis(u64::from(*by));
            world.run(end, |_| false);
        }
    }
    world.flush();
}

fuzz_target!(|case: Case| {
    let mut world = World::new(Plan::default());
    world.checks = false;
    world.connect(&[3_000, 10]);
    world.run(ms(5 * u64::from(case.at % 40)), |_| false);
    for op in case.ops.iter().take(200) {
        step(&mut world, case.server, op);
        for end in [&world.client, &world.server] {
            let held = end.handles().filter_map(|handle| end.connection(handle)).map(|c| c.memory());
            assert!(held.sum::<usize>() < BOUND);
        }
    }
    let end = world.now + Duration::from_secs(400);
    assert!(world.run(end, |world| world.client.is_empty() && world.server.is_empty()), "it never ends");
});

//! Two endpoints and a link that the input controls. It drops, delays, duplicates and damages
//! datagrams in flight, and moves the client to another address. Nothing panics or hangs. Without
//! damage, all data arrives as it was sent once the link works again.
#![no_main]

#[path = "../../crates/core/quic/tests/connections/link.rs"]
#[allow(dead_code)]
mod link;
#[path = "../../crates/core/quic/tests/connections/world.rs"]
#[allow(dead_code)]
mod world;

use ackclock_quic::connection::Event;
use ackclock_quic::units::Duration;
use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;

use self::world::{Plan, World};

#[derive(Arbitrary, Debug)]
enum Op {
    /// Drops the datagram in flight with this index.
    Drop(u8),
    /// Delays a datagram by this many milliseconds.
    Delay(u8, u8),
    /// Delivers a copy of a datagram, this many milliseconds later.
    Double(u8, u8),
    /// Changes a byte of a datagram.
    Damage(u8, u16, u8),
    /// Sets the CE mark of a datagram.
    Mark(u8),
    /// Gives the client another port or another address, as a NAT does.
    Move(u8, bool),
    /// Waits this many milliseconds.
    Wait(u8),
}

#[derive(Arbitrary, Debug)]
struct Case {
    seed: u8,
    wanted: [u16; 3],
    honest: bool,
    ops: Vec<Op>,
}

fn step(world: &mut World, op: &Op, honest: bool) {
    let key = |which: u8| {
        let len = world.flying.len().max(1);
        world.flying.keys().nth(usize::from(which) % len).copied()
    };
    let later = |ms: u8| Duration::from_millis(u64::from(ms));
    match *op {
        Op::Drop(which) => drop(key(which).and_then(|key| world.flying.remove(&key))),
        Op::Delay(which, ms) => {
            if let Some(key) = key(which)
                && let Some(it) = world.flying.remove(&key)
            {
                world.flying.insert((key.0 + later(ms), key.1), it);
            }
        }
        Op::Double(which, ms) => {
            if let Some(key) = key(which)
                && let Some(it) = world.flying.get(&key)
            {
                let copy = it.clone();
                world.serial += 1;
                let serial = world.serial;
                world.flying.insert((key.0 + later(ms), serial + (1 << 40)), copy);
            }
        }
        Op::Damage(which, at, flip) if !honest => {
            if let Some(key) = key(which)
                && let Some(it) = world.flying.get_mut(&key)
            {
                let len = it.bytes.len();
                it.bytes[usize::from(at) % len] ^= flip;
            }
        }
        Op::Mark(which) => {
            if let Some(key) = key(which)
                && let Some(it) = world.flying.get_mut(&key)
            {
                it.ecn = ackclock_quic::units::Ecn::Ce;
            }
        }
        // "The design of QUIC relies on endpoints retaining a stable address for the duration of
        // the handshake" (RFC 9000 section 9).
        Op::Move(..) if honest && !world.client_events.contains(&Event::Confirmed) => {}
        Op::Move(to, address) => {
            let host = if address { 100 + to % 4 } else { 1 };
            world.nat = format!("10.0.0.{host}:{}", 5000 + u16::from(to)).parse().ok();
        }
        Op::Wait(ms) => {
            let end = world.now + later(ms);
            world.run(end, |_| false);
        }
        Op::Damage(..) => {}
    }
}

fuzz_target!(|case: Case| {
    let mut world = World::new(Plan { seed: u64::from(case.seed), ..Plan::default() });
    world.checks = case.honest;
    world.connect(&case.wanted.map(u64::from));
    world.flush();
    // Total time stays below the idle timeout of 30 s.
    for op in case.ops.iter().take(100) {
        step(&mut world, op, case.honest);
    }
    let end = world.now + Duration::from_secs(400);
    if case.honest {
        // Nothing arrives at the client's old address any more. A client that only waits for data
        // never reveals the new one.
        if let Some(client) = world.handle.and_then(|handle| world.client.connection_mut(handle)) {
            client.ping();
        }
        assert!(world.finish(end), "{:?} {:?}", world.client_events, world.server_events);
    } else {
        assert!(world.run(end, |world| world.is_done() || world.client.is_empty()), "it never ends");
    }
});

//! Attacks by peers. Only the end under attack answers, and its packets are discarded. It never
//! gets an ACK unless the attack sends one.

use ackclock_quic::config::DatagramConfig;
use ackclock_quic::connection::{Arrival, Event, State};
use ackclock_quic::endpoint::Endpoint;
use ackclock_quic::recovery::SpaceId;
use ackclock_quic::streams::{Read, StreamEvent};
use ackclock_quic::units::{Duration, Ecn, Time};
use ackclock_quic::wire::{
    AckToSend, ConnectionId, Direction, Frame, Stamp, StampFormat, StampsToSend, Writer,
};
use ackclock_quic::{Level, Side};

use crate::forge::*;
use crate::world::*;
use crate::{MEMORY, alone};

/// Limit of memory above the receive window, in bytes.
const BAR: usize = 8 << 20;
/// Receive window of a connection. It does not grow, since nobody reads.
const WINDOW: usize = 1 << 20;
/// Number of packets of most attacks.
const LONG: u64 = 20_000;
/// First packet number of an attacker, above all numbers used before.
const FIRST: u64 = 10_000;

/// Writes the frames of the packet with this number, counted from 0.
type Frames = fn(&mut World, u64) -> Vec<u8>;

/// Name, number of packets, whether the application reads, and frames.
type Attack = (&'static str, u64, bool, Frames);

fn plan() -> Plan {
    let mut plan = Plan::default();
    plan.server.connection.datagrams = Some(DatagramConfig::default());
    plan.server.connection.ack_frequency.min_ack_delay = Some(Duration::from_millis(1));
    plan.server.connection.timestamps.wanted = Some(StampFormat { max: 64, exponent: 0 });
    plan.client.connection.timestamps.offered = true;
    plan
}

/// Runs an application that accepts streams, and either reads everything or nothing.
fn drain(end: &mut Endpoint, now: Time, reads: bool, buffer: &mut [u8]) {
    while let Some((handle, event)) = end.poll_event() {
        let Some(connection) = end.connection_mut(handle) else { continue };
        match event {
            Event::Stream(StreamEvent::Opened(direction)) => {
                while connection.accept_stream(direction).is_some() {}
            }
            Event::Stream(StreamEvent::Readable(id)) if reads => {
                while let Ok(Read::Data(_)) = connection.read(now, id, buffer) {}
            }
            _ => {}
        }
    }
    while end.poll_transmit(now, buffer).is_some() {}
}

/// Returns the largest increase of memory, and whether the connection survived.
fn under(by: Side, &(_, packets, reads, attack): &Attack) -> (usize, bool) {
    let mut world = World::new(plan());
    // The server has data in flight, which it may have to retransmit.
    world.connect(&[200_000]);
    world.run(ms(120), |_| false);
    world.checks = false;
    let (mut buffer, before) = (vec![0; 65_535], MEMORY.current_usage());
    MEMORY.reset_peak_usage();
    for n in 0..packets {
        world.now += Duration::from_micros(50);
        let payload = attack(&mut world, n);
        // Every other number, so that no two ranges merge.
        let mut bytes = packet(&world, by, Level::OneRtt, FIRST + 2 * n, &payload);
        let (client, server) = (CLIENT.parse().unwrap(), SERVER.parse().unwrap());
        let (to_server, now, bytes) = (by == Side::Client, world.now, &mut bytes[..]);
        let (from, to) = if to_server { (client, server) } else { (server, client) };
        let end = if to_server { &mut world.server } else { &mut world.client };
        end.handle(now, Arrival { from, to, ecn: Ecn::Ect0, arrived: now, bytes });
        end.handle_timeout(now);
        drain(end, now, reads, &mut buffer);
        if end.is_empty() {
            break;
        }
    }
    let end = if by == Side::Client { &world.server } else { &world.client };
    let mut connections = end.handles().filter_map(|handle| end.connection(handle));
    let stands = connections.any(|connection| connection.state() == State::Open);
    (MEMORY.peak_usage() - before, stands)
}

/// Checks that each attack stays within the limit, and whether the connection survives.
fn hold(by: Side, attacks: &[(Attack, bool)]) {
    for (attack, survives) in attacks {
        let (grown, stands) = under(by, attack);
        println!("{}: {} kB, {}", attack.0, grown / 1000, if stands { "stands" } else { "ended" });
        assert!(grown < WINDOW + BAR, "{}: {grown}", attack.0);
        assert_eq!(stands, *survives, "{}", attack.0);
    }
}

fn many(frames: impl Iterator<Item = Vec<u8>>) -> Vec<u8> {
    frames.flatten().collect()
}

fn id_of(n: u64) -> ConnectionId {
    ConnectionId::new(&n.to_be_bytes()).unwrap()
}

/// Returns the next unused stream of the client.
fn unidirectional(n: u64) -> u64 {
    2 + 4 * n
}

fn new_id(n: u64, retire_prior_to: u64) -> Vec<u8> {
    let mut reset_token = [7; 16];
    reset_token[..8].copy_from_slice(&n.to_be_bytes());
    encoded(&Frame::NewConnectionId { sequence: n, retire_prior_to, id: id_of(n), reset_token })
}

/// Creates an ACK with as many receive timestamps as allowed, with absurd values.
fn absurd_stamps(largest: u64, n: u64) -> Vec<u8> {
    let most = (1 << 62) - 1;
    let micros =
        |k: u64| if n.is_multiple_of(2) { most - k } else { (most >> (n % 62)).saturating_sub(k << 20) };
    let all = (0..64.min(largest)).map(|k| Stamp { micros: micros(k), number: largest - k });
    let mut stamps = StampsToSend::default();
    stamps.fill(all, largest, StampFormat { max: 64, exponent: 0 }, 1000);
    let ack = AckToSend { ranges: &[(largest, largest)], delay: 0, ecn: None, stamps: Some(&stamps) };
    let mut bytes = vec![0; ack.size()];
    ack.encode(&mut Writer::new(&mut bytes)).unwrap();
    bytes
}

/// Creates fifty pieces of a stream, this far apart.
fn pieces(n: u64, apart: u64) -> Vec<u8> {
    many((0..50).map(|k| stream(8, (50 * n + k) * apart % (500 << 10), b"xx", false)))
}

#[test]
fn nothing_grows_at_a_server() {
    let _turn = alone();
    let attacks: [(Attack, bool); 22] = [
        (("every third byte of a stream, overlapping", 4_000, false, |_, n| pieces(n, 3)), true),
        (("a byte of each page", 1_000, false, |_, n| pieces(n, 4093)), true),
        (
            ("crumbs on all streams", 3_000, false, |_, n| {
                many(
                    (0..60).map(|k| {
                        stream(4 + 4 * ((n + k) % 99), 2 * ((60 * n + k) / 100 % 4000), b"x", false)
                    }),
                )
            }),
            true,
        ),
        (("PING, and no ACK ever", LONG, false, |_, _| vec![1]), true),
        (
            ("CRYPTO in crumbs", 1_000, false, |_, n| {
                let frame = |k: u64| Frame::Crypto { offset: 1 + (2 * (100 * n + k)) % 60_000, data: b"x" };
                many((0..100).map(|k| encoded(&frame(k))))
            }),
            true,
        ),
        (
            ("CRYPTO in order", LONG, false, |_, n| {
                encoded(&Frame::Crypto { offset: 1000 * n, data: &[7; 1000] })
            }),
            false,
        ),
        (("NEW_CONNECTION_ID that retire the one before", LONG, false, |_, n| new_id(10 + n, 10 + n)), false),
        (("NEW_CONNECTION_ID", LONG, false, |_, n| new_id(10 + n, 0)), false),
        (("RETIRE_CONNECTION_ID", LONG, false, |_, n| encoded(&Frame::RetireConnectionId(1 + n % 3))), true),
        (("PATH_CHALLENGE", 5 * LONG, false, |_, n| encoded(&Frame::PathChallenge(n.to_be_bytes()))), true),
        (
            ("RESET_STREAM of ever new streams", LONG, true, |world, n| {
                world.now += Duration::from_millis(1);
                encoded(&Frame::ResetStream { id: unidirectional(n), error: n, final_size: 0 })
            }),
            true,
        ),
        (
            ("ever new streams with a byte and an end", LONG, true, |_, n| {
                stream(unidirectional(n), 0, b"x", true)
            }),
            true,
        ),
        (
            ("streams that nobody reads", LONG, false, |_, n| stream(unidirectional(n % 100), 0, b"x", true)),
            true,
        ),
        (
            ("RESET_STREAM and STOP_SENDING", LONG, false, |_, n| {
                let (id, error) = (4 + 4 * (n % 99), 7);
                let reset = encoded(&Frame::ResetStream { id, error, final_size: 10_000 });
                [reset, encoded(&Frame::StopSending { id, error })].concat()
            }),
            true,
        ),
        (
            ("credit for everything", LONG, false, |_, n| {
                let frames = [
                    Frame::MaxData(n << 20),
                    Frame::MaxStreamData { id: 4 * (n % 100), max: n << 20 },
                    Frame::MaxStreams(Direction::Bidirectional, n),
                    Frame::DataBlocked(n),
                    Frame::StreamDataBlocked { id: 4 * (n % 100), limit: n },
                    Frame::StreamsBlocked(Direction::Unidirectional, n),
                ];
                many(frames.iter().map(encoded))
            }),
            true,
        ),
        (
            ("messages of no byte", 500, false, |_, _| {
                many((0..500).map(|_| encoded(&Frame::Datagram { data: b"", length: true })))
            }),
            true,
        ),
        (
            ("messages", LONG, false, |_, _| encoded(&Frame::Datagram { data: &[7; 1100], length: false })),
            true,
        ),
        (
            ("ACK_FREQUENCY", LONG, false, |_, n| {
                let (threshold, max_ack_delay, reordering_threshold) = (n << 30, 1 << 40, 0);
                encoded(&Frame::AckFrequency { sequence: n, threshold, max_ack_delay, reordering_threshold })
            }),
            true,
        ),
        (
            ("ACKs of one packet each", LONG, false, |world, n| {
                let next = world.server_connection().sender().next_number(SpaceId::Application);
                ack(&[(n % next / 2, n % next / 2)], None)
            }),
            true,
        ),
        (
            ("receive times out of this world", LONG, false, |world, n| {
                let next = world.server_connection().sender().next_number(SpaceId::Application);
                absurd_stamps(next - 1, n)
            }),
            true,
        ),
        (("PADDING alone", LONG, false, |_, _| vec![0; 1100]), true),
        (
            ("reasons to close", 100, false, |_, _| {
                encoded(&Frame::ApplicationClose { error: 7, reason: &[7; 1000] })
            }),
            false,
        ),
    ];
    hold(Side::Client, &attacks);
}

/// The same from servers: frames that only they may send, and others.
#[test]
fn nor_at_a_client() {
    let _turn = alone();
    let attacks: [(Attack, bool); 5] = [
        (("NEW_TOKEN", LONG, false, |_, n| encoded(&Frame::NewToken(&n.to_be_bytes().repeat(100)))), true),
        (("HANDSHAKE_DONE", LONG, false, |_, _| encoded(&Frame::HandshakeDone)), true),
        (
            ("more than was asked for", 2_000, false, |_, n| {
                stream(0, 100_000 + 900 * (n % 400), &[7; 900], false)
            }),
            true,
        ),
        (("ever new streams", LONG, true, |_, n| stream(3 + 4 * n, 0, b"x", true)), true),
        (
            ("CRYPTO in order", LONG, false, |_, n| {
                encoded(&Frame::Crypto { offset: 1000 * n, data: &[7; 1000] })
            }),
            false,
        ),
    ];
    hold(Side::Server, &attacks);
}

/// Another address with each packet, each with a challenge.
#[test]
fn nor_where_addresses_flap() {
    let _turn = alone();
    let mut world = World::new(plan());
    world.connect(&[200_000]);
    world.run(ms(120), |_| false);
    let (mut buffer, before) = (vec![0; 65_535], MEMORY.current_usage());
    MEMORY.reset_peak_usage();
    for n in 0..4 * LONG {
        world.now += Duration::from_micros(50);
        let payload = [encoded(&Frame::PathChallenge(n.to_be_bytes())), vec![1], vec![0; 1150]].concat();
        let bytes = forged(&world, FIRST + n, &payload);
        inject(&mut world, &format!("10.{}.{}.1:{}", n / 250 % 250, n % 250, 1000 + n % 60_000), bytes);
        let now = world.now;
        world.server.handle_timeout(now);
        drain(&mut world.server, now, false, &mut buffer);
    }
    let grown = MEMORY.peak_usage() - before;
    println!("{} kB", grown / 1000);
    assert!(grown < WINDOW + BAR, "{grown}");
}

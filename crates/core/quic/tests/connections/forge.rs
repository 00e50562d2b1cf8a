//! Forged packets. Without cryptography everybody has the keys, so a test may send anything.

use std::net::SocketAddr;

use ackclock_quic::connection::Arrival;
use ackclock_quic::crypto::{self, keys};
use ackclock_quic::units::Ecn;
use ackclock_quic::wire::header::Outgoing;
use ackclock_quic::wire::{AckToSend, ConnectionId, EcnCounts, Frame, StreamFrame, Writer};
use ackclock_quic::{Level, Side};

use crate::world::{CLIENT, SERVER, World};

/// Maximum payload of a forged packet, in bytes: more than any endpoint sends, and short enough for
/// the Length field.
const MOST: usize = 16_000;

/// Creates a packet in the name of this end, with the connection IDs of its latest datagram.
pub fn packet(world: &World, by: Side, level: Level, number: u64, payload: &[u8]) -> Vec<u8> {
    let keys = crypto::plain::keys(by, level, 16);
    let latest = if by == Side::Client { &world.last } else { &world.last_of_server };
    let (destination, source) = ids(latest);
    let (token, number_len) = (&[][..], 4);
    let header =
        Outgoing { level, destination, source, token, number, number_len, key_phase: false, spin: false };
    let payload = &payload[..payload.len().min(MOST)];
    let mut bytes = vec![0; header.size() + payload.len() + 16];
    let mut w = Writer::new(&mut bytes);
    let placed = header.encode(&mut w).unwrap();
    w.bytes(payload);
    keys::seal(&*keys.local.header, &*keys.local.packet, &mut bytes, &placed).unwrap();
    bytes
}

/// Returns destination and source of a datagram's first packet. A short header only has the
/// destination.
fn ids(datagram: &[u8]) -> (ConnectionId, ConnectionId) {
    let id = |from: usize, len: usize| {
        datagram.get(from..from + len).and_then(ConnectionId::new).unwrap_or(ConnectionId::EMPTY)
    };
    match datagram.first() {
        Some(first) if first & 0x80 == 0 => (id(1, 8), ConnectionId::EMPTY),
        _ => {
            let len = |at: usize| datagram.get(at).map_or(0, |len| usize::from(*len));
            let source_at = 6 + len(5);
            (id(6, len(5)), id(source_at + 1, len(source_at)))
        }
    }
}

/// Creates a 1-RTT packet to the server in the client's name.
pub fn forged(world: &World, number: u64, payload: &[u8]) -> Vec<u8> {
    packet(world, Side::Client, Level::OneRtt, number, payload)
}

/// Delivers a datagram to the server.
pub fn inject(world: &mut World, from: &str, mut bytes: Vec<u8>) {
    let (from, to): (SocketAddr, SocketAddr) = (from.parse().unwrap(), SERVER.parse().unwrap());
    let (now, bytes) = (world.now, &mut bytes[..]);
    world.server.handle(now, Arrival { from, to, ecn: Ecn::NotEct, arrived: now, bytes });
}

/// Delivers a datagram to the client, from the server's address.
pub fn inject_at_client(world: &mut World, mut bytes: Vec<u8>) {
    let (from, to): (SocketAddr, SocketAddr) = (SERVER.parse().unwrap(), CLIENT.parse().unwrap());
    let (now, bytes) = (world.now, &mut bytes[..]);
    world.client.handle(now, Arrival { from, to, ecn: Ecn::NotEct, arrived: now, bytes });
}

/// Sends these frames to the server in the client's name.
pub fn say(world: &mut World, number: u64, payload: &[u8]) {
    let bytes = forged(world, number, payload);
    inject(world, CLIENT, bytes);
}

pub fn encoded(frame: &Frame<'_>) -> Vec<u8> {
    let mut bytes = vec![0; frame.size()];
    frame.encode(&mut Writer::new(&mut bytes)).unwrap();
    bytes
}

pub fn ack(ranges: &[(u64, u64)], ecn: Option<EcnCounts>) -> Vec<u8> {
    let ack = AckToSend { ranges, delay: 0, ecn, stamps: None };
    let mut bytes = vec![0; ack.size()];
    ack.encode(&mut Writer::new(&mut bytes)).unwrap();
    bytes
}

pub fn stream(id: u64, offset: u64, data: &[u8], fin: bool) -> Vec<u8> {
    encoded(&Frame::Stream(StreamFrame { id, offset, data, fin, length: true }))
}

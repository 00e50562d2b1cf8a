//! An end of quinn.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use adapters::quinn::Factory;
use bytes::BytesMut;
use proto::{Connection, ConnectionStats, DatagramEvent, Endpoint, Transmit};
use quinn_proto as proto;

fn endpoint(config: proto::EndpointConfig, server: Option<Arc<proto::ServerConfig>>) -> proto::Endpoint {
    // The seed is the configuration's.
    Endpoint::new(Arc::new(config), server, false, None)
}

fn receive(
    endpoint: &mut Endpoint,
    now: Instant,
    from: SocketAddr,
    ecn: Option<proto::EcnCodepoint>,
    bytes: BytesMut,
    answer: &mut Vec<u8>,
) -> Option<DatagramEvent> {
    endpoint.handle(now, from, None, ecn, bytes, answer)
}

fn send(connection: &mut Connection, now: Instant, buffer: &mut Vec<u8>) -> Option<Transmit> {
    connection.poll_transmit(now, 1, buffer)
}

fn stats(connection: &mut Connection) -> ConnectionStats {
    connection.stats()
}

/// Packets sent and lost.
fn packets(connection: &mut Connection) -> (u64, u64) {
    let path = connection.stats().path;
    (path.sent_packets, path.lost_packets)
}

super::foreign!();

//! An end of noq.

use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Instant;

use adapters::noq::Factory;
use bytes::BytesMut;
use noq_proto as proto;
use proto::{Connection, ConnectionStats, DatagramEvent, Endpoint, FourTuple, PathId, Transmit};

fn endpoint(config: proto::EndpointConfig, server: Option<Arc<proto::ServerConfig>>) -> proto::Endpoint {
    Endpoint::new(Arc::new(config), server, false)
}

fn receive(
    endpoint: &mut Endpoint,
    now: Instant,
    from: SocketAddr,
    ecn: Option<proto::EcnCodepoint>,
    bytes: BytesMut,
    answer: &mut Vec<u8>,
) -> Option<DatagramEvent> {
    endpoint.handle(now, FourTuple::new(from, None), ecn, bytes, answer)
}

fn send(connection: &mut Connection, now: Instant, buffer: &mut Vec<u8>) -> Option<Transmit> {
    connection.poll_transmit(now, NonZeroUsize::MIN, buffer)
}

fn stats(connection: &mut Connection) -> ConnectionStats {
    connection.stats()
}

/// Packets sent and lost.
fn packets(connection: &mut Connection) -> (u64, u64) {
    connection.path_stats(PathId::ZERO).map_or((0, 0), |path| (path.sent_packets, path.lost_packets))
}

super::foreign!();

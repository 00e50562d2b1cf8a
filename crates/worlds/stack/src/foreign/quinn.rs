//! The parts of an endpoint that are specific to quinn.

use std::any::Any;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use adapters::quinn::Factory;
use bytes::BytesMut;
use proto::{Connection, ConnectionStats, DatagramEvent, Endpoint, Transmit};
use quinn_proto as proto;

fn endpoint(config: proto::EndpointConfig, server: Option<Arc<proto::ServerConfig>>) -> proto::Endpoint {
    // The configuration already holds the seed.
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

fn lost_packets(connection: &mut Connection) -> u64 {
    connection.stats().path.lost_packets
}

const STACK: &str = "quinn";

impl stack_cc::Controller for LoggedController {
    fn on_sent(&mut self, now: Instant, bytes: u64, last_packet_number: u64) {
        self.inner.on_sent(now, bytes, last_packet_number);
    }

    fn on_ack(
        &mut self,
        now: Instant,
        sent: Instant,
        bytes: u64,
        app_limited: bool,
        rtt: &proto::RttEstimator,
    ) {
        self.batch.add(now, sent, rtt.get());
        self.inner.on_ack(now, sent, bytes, app_limited, rtt);
    }

    fn on_end_acks(&mut self, now: Instant, in_flight: u64, app_limited: bool, largest: Option<u64>) {
        self.inner.on_end_acks(now, in_flight, app_limited, largest);
        self.end_of_acks(in_flight);
    }

    fn on_congestion_event(&mut self, now: Instant, sent: Instant, is_persistent: bool, lost_bytes: u64) {
        let before = self.inner.window();
        self.inner.on_congestion_event(now, sent, is_persistent, lost_bytes);
        self.end_of_losses(before, is_persistent, lost_bytes == 0 && !is_persistent);
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        self.inner.on_mtu_update(new_mtu);
    }

    fn window(&self) -> u64 {
        self.inner.window()
    }

    fn metrics(&self) -> stack_cc::ControllerMetrics {
        self.inner.metrics()
    }

    fn clone_box(&self) -> Box<dyn stack_cc::Controller> {
        Box::new(self.copy())
    }

    fn initial_window(&self) -> u64 {
        self.inner.initial_window()
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self.inner.into_any()
    }
}

super::foreign!();

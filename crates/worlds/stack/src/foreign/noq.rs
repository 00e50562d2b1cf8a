//! The parts of an endpoint that are specific to noq.

use std::num::NonZeroUsize;

use adapters::noq::Factory;
use noq_proto as proto;
use proto::{FourTuple, PathId};

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

fn lost_packets(connection: &mut Connection) -> u64 {
    connection.path_stats(PathId::ZERO).map_or(0, |path| path.lost_packets)
}

const STACK: &str = "noq";

impl stack_cc::Controller for LoggedController {
    fn on_packet_sent(&mut self, now: Instant, bytes: u16, pn: u64) {
        self.inner.on_packet_sent(now, bytes, pn);
    }

    fn on_cwnd_limited(&mut self) {
        self.inner.on_cwnd_limited();
    }

    fn on_ack(
        &mut self,
        now: Instant,
        sent: Instant,
        bytes: u64,
        pn: u64,
        app_limited: bool,
        rtt: &proto::RttEstimator,
    ) {
        self.batch.add(now, sent, rtt.get());
        self.inner.on_ack(now, sent, bytes, pn, app_limited, rtt);
    }

    fn on_congestion_event(
        &mut self,
        now: Instant,
        sent: Instant,
        is_persistent: bool,
        is_ecn: bool,
        lost_bytes: u64,
        largest_lost_pn: u64,
    ) {
        let before = self.inner.window();
        self.inner.on_congestion_event(now, sent, is_persistent, is_ecn, lost_bytes, largest_lost_pn);
        self.end_of_losses(before, is_persistent, is_ecn);
    }

    fn on_packet_lost(&mut self, lost_bytes: u16, pn: u64, now: Instant) {
        self.inner.on_packet_lost(lost_bytes, pn, now);
    }

    fn on_spurious_congestion_event(&mut self) {
        let before = self.inner.window();
        self.inner.on_spurious_congestion_event();
        self.log.undone(before, self.inner.window());
    }

    fn on_ack_frequency_update(&mut self, threshold: u64, max_ack_delay: Elapsed) {
        self.inner.on_ack_frequency_update(threshold, max_ack_delay);
    }

    super::passed_on!();
}

super::foreign!();

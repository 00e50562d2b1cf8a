//! The parts of an endpoint that are specific to quinn.

use adapters::quinn::Factory;
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

fn lost_packets(connection: &mut Connection) -> u64 {
    connection.stats().path.lost_packets
}

const STACK: &str = "quinn";

impl stack_cc::Controller for LoggedController {
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

    fn on_congestion_event(&mut self, now: Instant, sent: Instant, is_persistent: bool, lost_bytes: u64) {
        let before = self.inner.window();
        self.inner.on_congestion_event(now, sent, is_persistent, lost_bytes);
        self.end_of_losses(before, is_persistent, lost_bytes == 0 && !is_persistent);
    }

    super::passed_on!();
}

super::foreign!();

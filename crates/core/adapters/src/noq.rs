//! Ackclock's controllers behind `noq_proto::congestion::Controller` (noq-proto 1.4).
//!
//! The trait reports each sent packet with its number, size and send time, and which packets are
//! acknowledged and lost. It also reports a full window, a lack of application data, and spurious
//! losses. noq applies a pacing rate and a send quantum. The adapter computes delivery-rate samples
//! from these reports, so BBR runs.
//!
//! The trait does not carry the following. The adapter fills the gaps as described:
//!
//! * *Receive times*: controllers that need them are [refused](crate::Refusal).
//! * *Number of CE marks*: an ACK with marks counts as one marked packet. Controllers that compare
//!   these numbers are refused.
//! * *The peer's ACK delay*: 0. The smoothed RTT is noq's, which excludes that delay, as of before
//!   the current ACK. The minimum is taken over the samples, because noq's own minimum starts at
//!   its initial RTT.
//! * *The rule that found a loss*: reported as the packet threshold.
//! * *Late arrival of packets declared lost*: not reported, and not counted as delivered. When all
//!   of them have arrived, noq says so and the reduction is undone.
//! * *Discarded keys*: noq removes Initial and Handshake packets from flight silently. The adapter
//!   removes them at the next ACK, oldest first.
//! * *A timer*: a controller that set one is called at the next packet or ACK.
//! * *Restart after idle time*: never signalled.

use noq_proto as proto;

crate::adapter::adapter!(Trait::Noq);

impl Controller for Adapter {
    fn on_packet_sent(&mut self, now: Instant, bytes: u16, pn: u64) {
        let feed = self.feed();
        feed.sent(feed.time(now), pn, bytes.into());
    }

    fn on_cwnd_limited(&mut self) {
        self.feed().window_full();
    }

    fn on_ack(
        &mut self,
        now: Instant,
        sent: Instant,
        bytes: u64,
        pn: u64,
        _app_limited: bool,
        rtt: &RttEstimator,
    ) {
        let feed = self.feed();
        let (now, left) = (feed.time(now), feed.time(sent));
        // Packet number spaces share numbers, so time and size must match too.
        feed.acked(now, pn, |packet| packet.sent == left && packet.bytes == bytes, rtt.get());
    }

    fn on_end_acks(&mut self, now: Instant, in_flight: u64, app_limited: bool, _largest: Option<u64>) {
        let feed = self.feed();
        feed.end_of_packets(feed.time(now), in_flight, app_limited, |serial, _| serial);
    }

    fn on_packet_lost(&mut self, lost_bytes: u16, pn: u64, now: Instant) {
        let feed = self.feed();
        feed.lost(feed.time(now), pn, |packet| packet.bytes == u64::from(lost_bytes));
    }

    fn on_congestion_event(
        &mut self,
        now: Instant,
        _sent: Instant,
        is_persistent_congestion: bool,
        is_ecn: bool,
        _lost_bytes: u64,
        _largest_lost_pn: u64,
    ) {
        let feed = self.feed();
        let now = feed.time(now);
        if is_ecn {
            feed.marked(now);
        } else {
            feed.end_of_losses(now, is_persistent_congestion);
        }
    }

    fn on_spurious_congestion_event(&mut self) {
        self.feed().spurious();
    }

    crate::adapter::common_methods!();
}

/// Returns the smallest window, bytes, with which noq goes on.
fn least_window(_mtu: u64) -> u64 {
    1
}

/// Sets the pacing rate, which noq takes in bytes per second, and the send quantum.
fn set_pacing(metrics: &mut ControllerMetrics, control: &Control) {
    metrics.pacing_rate = control.pacing_rate.map(|rate| rate.0 / 8);
    metrics.send_quantum = control.send_quantum;
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use recovery::congestion::Parameters;
    use recovery::congestion::algorithms::bbr::v3;
    use recovery::congestion::algorithms::delay::ledbat;
    use recovery::congestion::algorithms::reno::new_reno;

    use super::*;

    #[allow(clippy::disallowed_methods, reason = "any moment will do")]
    fn built(factory: Factory) -> (Box<dyn Controller>, Instant) {
        let now = Instant::now();
        (Arc::new(factory).build(now, 1200), now)
    }

    fn reno() -> (Box<dyn Controller>, Instant) {
        built(Factory::new(new_reno::Params::default(), 1).unwrap())
    }

    /// One reduction for the losses of a round trip, undone once they prove spurious.
    #[test]
    fn losses_and_a_mistake() {
        let (mut controller, now) = reno();
        (0..10).for_each(|pn| controller.on_packet_sent(now, 1200, pn));
        let later = now + Duration::from_millis(60);
        controller.on_packet_lost(1200, 0, later);
        controller.on_packet_lost(1200, 1, later);
        controller.on_congestion_event(later, now, false, false, 2400, 1);
        assert_eq!(controller.window(), 6000);
        controller.on_spurious_congestion_event();
        assert_eq!(controller.window(), 12_000);
    }

    #[test]
    fn marks_and_persistent_congestion() {
        let (mut controller, now) = reno();
        (0..10).for_each(|pn| controller.on_packet_sent(now, 1200, pn));
        let later = now + Duration::from_millis(60);
        controller.on_congestion_event(later, now, false, true, 0, 3);
        assert_eq!(controller.window(), 6000);
        (0..10).for_each(|pn| controller.on_packet_lost(1200, pn, later));
        controller.on_congestion_event(later, now, true, false, 12_000, 9);
        assert_eq!(controller.window(), 2400, "the smallest window, two packets");
    }

    /// noq expects bytes per second, Ackclock uses bits. Controllers with only a window have no
    /// rate.
    #[test]
    fn the_pacing_rate() {
        let params = v3::Params::default();
        let path = PathInfo { max_datagram_size: 1200, paced: true, seed: 1 };
        let control = params.build(path).control();
        let metrics = built(Factory::new(params, 1).unwrap()).0.metrics();
        assert_eq!(metrics.pacing_rate, control.pacing_rate.map(|rate| rate.0 / 8));
        assert!(metrics.pacing_rate.is_some() && metrics.send_quantum == control.send_quantum);
        assert_eq!(reno().0.metrics().pacing_rate, None);
    }

    #[test]
    fn who_is_refused() {
        let refusal = Factory::new(ledbat::Params::default(), 1).unwrap_err();
        assert!(refusal.to_string().starts_with("ledbat does not run in noq: it needs receive times"));
    }
}

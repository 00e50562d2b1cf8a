//! Ackclock's controllers behind `quinn_proto::congestion::Controller` (quinn-proto 0.11).
//!
//! The trait reports sent datagrams with their size and send time, and the size and send time of
//! each acknowledged packet. For losses it reports the total size and the send time of the newest
//! lost packet. It also reports a lack of application data. The adapter looks up packets by send
//! time. Among packets sent at the same time it matches the size, then takes the oldest. The oldest
//! packets of the lost total count as lost, which is the order in which RFC 9002 finds them.
//!
//! The trait does not carry the following. The adapter fills the gaps as described:
//!
//! * *A pacing rate*: quinn's pacer spreads the window over an RTT, whatever the controller asks
//!   for. Controllers with only a window lose nothing by that. `cubic-mvfst`, which also has a
//!   rate, is paced by its window.
//! * *Packet numbers and individual losses*: this suffices for windows, but not for delivery-rate
//!   samples. Controllers that need these samples (BBR) are [refused](crate::Refusal).
//! * *Receive times* and *number of CE marks*: an ACK with marks counts as one marked packet.
//!   Controllers that need more are refused.
//! * *The peer's ACK delay*: 0. The smoothed RTT is quinn's, which excludes that delay, as of
//!   before the current ACK. The minimum is taken over the samples, because quinn's own minimum
//!   starts at its initial RTT.
//! * *Packets that are not in flight*: quinn reports ACK-only packets like all others. They count
//!   as in flight until an ACK shows that they are not. Then the adapter removes the smallest
//!   packets that make up the difference. The same happens to packets that quinn removes from
//!   flight when it discards keys.
//! * *A full window*: derived from the bytes in flight.
//! * *Spurious losses*: quinn does not detect them, so nothing is undone.
//! * *A timer*: a controller that set one is called at the next packet or ACK.
//! * *Restart after idle time*: never signalled.
//!
//! quinn sends only while the flight and one more packet stay below the window. With a window of
//! one packet it would never send again, so the adapter then reports one byte more.

use quinn_proto as proto;

crate::adapter::adapter!(Trait::Quinn);

impl Controller for Adapter {
    fn on_sent(&mut self, now: Instant, bytes: u64, _last_packet_number: u64) {
        let feed = self.feed();
        let (now, mtu) = (feed.time(now), feed.mtu().max(1));
        let mut left = bytes;
        // With segmentation offload quinn reports several datagrams as one sum. All but the last
        // are full.
        while left > 0 {
            let datagram = left.min(mtu);
            feed.sent(now, now.0, datagram);
            left -= datagram;
        }
        if feed.is_full() {
            feed.window_full();
        }
    }

    fn on_ack(&mut self, now: Instant, sent: Instant, bytes: u64, _app_limited: bool, rtt: &RttEstimator) {
        let feed = self.feed();
        let (now, left) = (feed.time(now), feed.time(sent));
        feed.acked(now, left.0, |packet| packet.bytes == bytes, rtt.get());
    }

    fn on_end_acks(&mut self, now: Instant, in_flight: u64, app_limited: bool, _largest: Option<u64>) {
        let feed = self.feed();
        feed.end_of_packets(feed.time(now), in_flight, app_limited, |serial, packet| (packet.bytes, serial));
    }

    fn on_congestion_event(
        &mut self,
        now: Instant,
        sent: Instant,
        is_persistent_congestion: bool,
        lost_bytes: u64,
    ) {
        let feed = self.feed();
        let (now, newest) = (feed.time(now), feed.time(sent));
        if lost_bytes == 0 && !is_persistent_congestion {
            return feed.marked(now);
        }
        feed.lost_up_to(now, newest.0, lost_bytes);
        feed.end_of_losses(now, is_persistent_congestion);
    }

    crate::adapter::common_methods!();
}

/// Returns the smallest window, bytes, with which quinn still sends a packet.
fn least_window(mtu: u64) -> u64 {
    mtu + 1
}

/// Sets the pacing rate, which quinn reports in bits per second and does not apply.
fn set_pacing(metrics: &mut ControllerMetrics, control: &Control) {
    metrics.pacing_rate = control.pacing_rate.map(|rate| rate.0);
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use recovery::congestion::algorithms::bbr::v3;
    use recovery::congestion::algorithms::reno::{new_reno, tahoe};

    use super::*;

    #[allow(clippy::disallowed_methods, reason = "any moment will do")]
    fn reno() -> (Box<dyn Controller>, Instant) {
        let now = Instant::now();
        let factory = Factory::new(new_reno::Params::default(), 1).unwrap();
        (Arc::new(factory).build(now, 1200), now)
    }

    /// Three datagrams of one call, one of them lost: the window is halved.
    #[test]
    fn segments_are_packets_of_their_own() {
        let (mut controller, now) = reno();
        assert_eq!((controller.window(), controller.initial_window()), (12_000, 12_000));
        controller.on_sent(now, 3600, 2);
        controller.on_congestion_event(now + Duration::from_millis(60), now, false, 1200);
        assert_eq!(controller.window(), 6000);
        // The others were in flight with it: the one reduction covers them all.
        controller.on_congestion_event(now + Duration::from_millis(61), now, false, 2400);
        assert_eq!(controller.window(), 6000);
    }

    #[test]
    fn marks_and_persistent_congestion() {
        let (mut controller, now) = reno();
        controller.on_sent(now, 12_000, 9);
        controller.on_congestion_event(now + Duration::from_millis(60), now, false, 0);
        assert_eq!(controller.window(), 6000);
        controller.on_congestion_event(now + Duration::from_millis(900), now, true, 12_000);
        assert_eq!(controller.window(), 2400, "the smallest window, two packets");
        assert_eq!(controller.clone_box().window(), 2400);
        assert_eq!(controller.initial_window(), 12_000);
    }

    /// Tahoe begins with one packet. The window that quinn sees permits one, the reported window is
    /// Tahoe's.
    #[test]
    #[allow(clippy::disallowed_methods, reason = "any moment will do")]
    fn one_packet_can_be_sent() {
        let factory = Factory::new(tahoe::Params::default(), 1).unwrap();
        let controller = Arc::new(factory).build(Instant::now(), 1200);
        assert_eq!(controller.window(), 1201);
        assert_eq!(controller.metrics().congestion_window, 1200);
    }

    #[test]
    fn who_is_refused() {
        assert!(Factory::new(v3::Params::default(), 1).is_err());
    }
}

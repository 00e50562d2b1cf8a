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

use std::any::Any;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use quinn_proto::RttEstimator;
use quinn_proto::congestion::{Controller, ControllerFactory, ControllerMetrics};
use recovery::congestion::{Algorithm, Control, PathInfo};

use crate::refusal::{Refusal, Trait};
use crate::source::Source;
use crate::stack_feed::StackFeed;

type AckclockController = dyn recovery::congestion::Controller;

/// Builds a controller for each path, for
/// `quinn_proto::TransportConfig::congestion_controller_factory`.
#[derive(Clone, Debug)]
pub struct Factory(Source);

impl Factory {
    /// Creates a factory for this algorithm. `seed` seeds the controllers' random numbers.
    ///
    /// # Errors
    /// Returns an error if the algorithm needs a signal that quinn's trait does not carry.
    pub fn new(algorithm: impl Into<Algorithm>, seed: u64) -> Result<Self, Refusal> {
        Source::checked(algorithm.into(), seed, Trait::Quinn).map(Self)
    }

    /// Creates a factory that calls `build` for each path. The controllers' needs are not checked:
    /// call [`check`](crate::check) for that.
    pub fn from_fn(
        build: impl Fn(PathInfo) -> Box<AckclockController> + Send + Sync + 'static,
        seed: u64,
    ) -> Self {
        Self(Source::from_fn(build, seed))
    }
}

impl ControllerFactory for Factory {
    fn build(self: Arc<Self>, now: Instant, current_mtu: u16) -> Box<dyn Controller> {
        let mut feed = self.0.stack_feed(now, current_mtu);
        let initial_window = feed.control().cwnd;
        Box::new(Adapter { feed: Mutex::new(feed), initial_window })
    }
}

/// An Ackclock controller in quinn.
pub struct Adapter {
    /// quinn asks for the window through a shared reference, and the last ACK may still be open.
    feed: Mutex<StackFeed>,
    initial_window: u64,
}

impl Adapter {
    fn shared(&self) -> MutexGuard<'_, StackFeed> {
        // No code panics while it holds the lock.
        self.feed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn feed(&mut self) -> &mut StackFeed {
        self.feed.get_mut().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Adapter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.feed.fmt(f)
    }
}

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

    fn on_mtu_update(&mut self, new_mtu: u16) {
        self.feed().on_mtu(new_mtu);
    }

    fn window(&self) -> u64 {
        self.shared().control().cwnd.max(1)
    }

    fn metrics(&self) -> ControllerMetrics {
        let Control { cwnd, pacing_rate, ssthresh, .. } = self.shared().control();
        let mut metrics = ControllerMetrics::default();
        metrics.congestion_window = cwnd.max(1);
        metrics.ssthresh = Some(ssthresh).filter(|end| ![0, u64::MAX].contains(end));
        metrics.pacing_rate = pacing_rate.map(|rate| rate.0);
        metrics
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        let feed = Mutex::new(self.shared().for_new_path());
        Box::new(Self { feed, initial_window: self.initial_window })
    }

    fn initial_window(&self) -> u64 {
        self.initial_window
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use recovery::congestion::algorithms::bbr::v3;
    use recovery::congestion::algorithms::reno::new_reno;

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

    #[test]
    fn who_is_refused() {
        assert!(Factory::new(v3::Params::default(), 1).is_err());
    }
}

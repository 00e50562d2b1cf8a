//! Our controllers behind `quinn_proto::congestion::Controller` (quinn-proto 0.11).
//!
//! What the trait carries: datagrams with their size and time of departure; of an acknowledged packet size and departure; of losses their
//! sum and when the newest of them left; that the application ran dry. Packets are found by their departure here, several of one moment by
//! their sizes and then the oldest first; lost are the oldest of so many bytes together, as RFC 9002 finds them.
//!
//! What it does not carry, and what becomes of it:
//!
//! * *A pacing rate*: the pacer spreads the window over an RTT, whatever the controller says. Controllers with a window alone lose nothing by
//!   that; `cubic-mvfst`, which has a rate of its own besides, is paced by its window.
//! * *Packet numbers and what is lost one by one*: good for windows, not for delivery-rate samples. Controllers that work on those (BBR) are
//!   [refused](crate::Refusal).
//! * *Receive times*, *numbers of CE marks*: an ACK with marks counts as one marked packet; controllers that need more are refused.
//! * *The peer's ACK delay*: 0. The smoothed RTT is quinn's, without it, and as it was before the ACK at hand; the smallest is that of the
//!   samples, since quinn's own begins with its initial RTT.
//! * *Packets that are not in flight*: quinn tells those with nothing but ACKs as it tells all others. They count as in flight until an ACK
//!   shows that they are not; then the smallest that make up the difference go. So does what quinn takes out of flight when it discards keys.
//! * *That the window is full*: taken from what is in flight.
//! * *Losses that were none*: quinn does not look for them, and nothing is undone.
//! * *A timer*: a controller that asks to be called is called at the next packet or ACK.
//! * *Restart after idle time*: never asked for.

use std::any::Any;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use quinn_proto::RttEstimator;
use quinn_proto::congestion::{Controller, ControllerFactory, ControllerMetrics};
use recovery::congestion::{Algorithm, Control, PathInfo};

use crate::ledger::Ledger;
use crate::refusal::{Refusal, Trait};
use crate::source::Source;

type Ours = dyn recovery::congestion::Controller;

/// Makes a controller for each path; for `quinn_proto::TransportConfig::congestion_controller_factory`.
#[derive(Clone, Debug)]
pub struct Factory(Source);

impl Factory {
    /// Controllers of this algorithm, their own random numbers from this seed.
    ///
    /// # Errors
    /// What the algorithm needs and quinn's trait does not carry.
    pub fn new(algorithm: impl Into<Algorithm>, seed: u64) -> Result<Self, Refusal> {
        Source::checked(algorithm.into(), seed, Trait::Quinn).map(Self)
    }

    /// Controllers that this function builds for each path. What they need is not asked: that is [`check`](crate::check)'s.
    pub fn of(build: impl Fn(PathInfo) -> Box<Ours> + Send + Sync + 'static, seed: u64) -> Self {
        Self(Source::of(build, seed))
    }
}

impl ControllerFactory for Factory {
    fn build(self: Arc<Self>, now: Instant, current_mtu: u16) -> Box<dyn Controller> {
        let mut ledger = self.0.ledger(now, current_mtu);
        let initial_window = ledger.control().cwnd;
        Box::new(Adapter { ledger: Mutex::new(ledger), initial_window })
    }
}

/// One of our controllers in quinn.
pub struct Adapter {
    /// quinn asks for the window through a shared reference, and the last ACK may still be open.
    ledger: Mutex<Ledger>,
    initial_window: u64,
}

impl Adapter {
    fn shared(&self) -> MutexGuard<'_, Ledger> {
        // Nobody panics while it is held.
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ledger(&mut self) -> &mut Ledger {
        self.ledger.get_mut().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Adapter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.ledger.fmt(f)
    }
}

impl Controller for Adapter {
    fn on_sent(&mut self, now: Instant, bytes: u64, _last_packet_number: u64) {
        let ledger = self.ledger();
        let (now, mtu) = (ledger.time(now), ledger.mtu().max(1));
        let mut left = bytes;
        // With segmentation offload several datagrams come as one sum; all but the last are full.
        while left > 0 {
            let datagram = left.min(mtu);
            ledger.sent(now, now.0, datagram);
            left -= datagram;
        }
        if ledger.is_full() {
            ledger.window_full();
        }
    }

    fn on_ack(&mut self, now: Instant, sent: Instant, bytes: u64, _app_limited: bool, rtt: &RttEstimator) {
        let ledger = self.ledger();
        let (now, left) = (ledger.time(now), ledger.time(sent));
        ledger.acked(now, left.0, |packet| packet.bytes == bytes, rtt.get());
    }

    fn on_end_acks(&mut self, now: Instant, in_flight: u64, app_limited: bool, _largest: Option<u64>) {
        let ledger = self.ledger();
        ledger.end_of_packets(ledger.time(now), in_flight, app_limited, |serial, packet| {
            (packet.bytes, serial)
        });
    }

    fn on_congestion_event(
        &mut self,
        now: Instant,
        sent: Instant,
        is_persistent_congestion: bool,
        lost_bytes: u64,
    ) {
        let ledger = self.ledger();
        let (now, newest) = (ledger.time(now), ledger.time(sent));
        if lost_bytes == 0 && !is_persistent_congestion {
            return ledger.marked(now);
        }
        ledger.lost_up_to(now, newest.0, lost_bytes);
        ledger.end_of_losses(now, is_persistent_congestion);
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        self.ledger().on_mtu(new_mtu);
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
        let ledger = Mutex::new(self.shared().for_another_path());
        Box::new(Self { ledger, initial_window: self.initial_window })
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

    /// Three datagrams of one call, of which one is lost: half of the window.
    #[test]
    fn segments_are_packets_of_their_own() {
        let (mut controller, now) = reno();
        assert_eq!((controller.window(), controller.initial_window()), (12_000, 12_000));
        controller.on_sent(now, 3600, 2);
        controller.on_congestion_event(now + Duration::from_millis(60), now, false, 1200);
        assert_eq!(controller.window(), 6000);
        // The others were in flight with it: one reduction answers for all.
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

//! Our controllers behind `noq_proto::congestion::Controller` (noq-proto 1.4).
//!
//! What the trait carries: each packet with its number, size and time of departure; which are acknowledged and lost; when the window is
//! full; that the application ran dry; that losses were none after all. It obeys a pacing rate and a send quantum. Delivery-rate samples are
//! made of that here, so that BBR runs.
//!
//! What it does not carry, and what becomes of it:
//!
//! * *Receive times*: controllers that work on them are [refused](crate::Refusal).
//! * *Numbers of CE marks*: an ACK with marks counts as one marked packet. Controllers that compare numbers are refused.
//! * *The peer's ACK delay*: 0. The smoothed RTT is noq's, without it, and as it was before the ACK at hand; the smallest is that of the
//!   samples, since noq's own begins with its initial RTT.
//! * *The rule that found a loss*: told as the packet threshold.
//! * *Packets that were declared lost and arrive after all*: they are not told, and bytes delivered do not count them. When all of them
//!   have arrived, noq says so, and the reduction is undone.
//! * *Keys discarded*: what of Initial and Handshake packets noq takes out of flight without a word goes at the next ACK, the oldest first.
//! * *A timer*: a controller that asks to be called is called at the next packet or ACK.
//! * *Restart after idle time*: never asked for.

use std::any::Any;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use noq_proto::RttEstimator;
use noq_proto::congestion::{Controller, ControllerFactory, ControllerMetrics};
use recovery::congestion::{Algorithm, Control, PathInfo};

use crate::ledger::Ledger;
use crate::refusal::{Refusal, Trait};
use crate::source::Source;

type Ours = dyn recovery::congestion::Controller;

/// Makes a controller for each path; for `noq_proto::TransportConfig::congestion_controller_factory`.
#[derive(Clone, Debug)]
pub struct Factory(Source);

impl Factory {
    /// Controllers of this algorithm, their own random numbers from this seed.
    ///
    /// # Errors
    /// What the algorithm needs and noq's trait does not carry.
    pub fn new(algorithm: impl Into<Algorithm>, seed: u64) -> Result<Self, Refusal> {
        Source::checked(algorithm.into(), seed, Trait::Noq).map(Self)
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

/// One of our controllers in noq.
pub struct Adapter {
    /// noq asks for the window through a shared reference, and the last ACK may still be open.
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
    fn on_packet_sent(&mut self, now: Instant, bytes: u16, pn: u64) {
        let ledger = self.ledger();
        ledger.sent(ledger.time(now), pn, bytes.into());
    }

    fn on_cwnd_limited(&mut self) {
        self.ledger().window_full();
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
        let ledger = self.ledger();
        let (now, left) = (ledger.time(now), ledger.time(sent));
        // Each packet number space has this number.
        ledger.acked(now, pn, |packet| packet.sent == left && packet.bytes == bytes, rtt.get());
    }

    fn on_end_acks(&mut self, now: Instant, in_flight: u64, app_limited: bool, _largest: Option<u64>) {
        let ledger = self.ledger();
        ledger.end_of_packets(ledger.time(now), in_flight, app_limited, |serial, _| serial);
    }

    fn on_packet_lost(&mut self, lost_bytes: u16, pn: u64, now: Instant) {
        let ledger = self.ledger();
        ledger.lost(ledger.time(now), pn, |packet| packet.bytes == u64::from(lost_bytes));
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
        let ledger = self.ledger();
        let now = ledger.time(now);
        if is_ecn {
            ledger.marked(now);
        } else {
            ledger.end_of_losses(now, is_persistent_congestion);
        }
    }

    fn on_spurious_congestion_event(&mut self) {
        self.ledger().spurious();
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        self.ledger().on_mtu(new_mtu);
    }

    fn window(&self) -> u64 {
        self.shared().control().cwnd.max(1)
    }

    fn metrics(&self) -> ControllerMetrics {
        let Control { cwnd, pacing_rate, ssthresh, send_quantum, .. } = self.shared().control();
        let mut metrics = ControllerMetrics::default();
        metrics.congestion_window = cwnd.max(1);
        metrics.ssthresh = Some(ssthresh).filter(|end| ![0, u64::MAX].contains(end));
        metrics.pacing_rate = pacing_rate.map(|rate| rate.0 / 8);
        metrics.send_quantum = send_quantum;
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

    /// One reduction for the losses of a round trip, none once they are seen to be a mistake.
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

    /// Bytes per second, which is noq's unit and not ours; none for a window.
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
        assert!(refusal.to_string().starts_with("ledbat does not run in noq: it works on receive times"));
    }
}

//! Delivery-rate estimation, draft-ietf-ccwg-bbr section 4.1 (formerly
//! draft-cheng-iccrg-delivery-rate-estimation).

use congestion::RateSample;
use units::{Duration, Rate, Time};

/// State of the connection when a packet was sent.
#[derive(Clone, Copy, Debug, Default)]
pub struct Snapshot {
    /// `P.delivered`: bytes delivered at that time.
    pub delivered: u64,
    /// `P.delivered_time`.
    pub delivered_time: Time,
    /// `P.first_send_time`.
    pub first_sent_time: Time,
    /// `P.tx_in_flight`: bytes in flight, including the packet.
    pub tx_in_flight: u64,
    /// `P.lost`: bytes lost at that time.
    pub lost: u64,
    /// `P.is_app_limited`.
    pub app_limited: bool,
}

/// Per-connection state of the estimator.
#[derive(Clone, Debug, Default)]
pub struct Sampler {
    delivered: u64,
    delivered_time: Time,
    first_sent_time: Time,
    lost: u64,
    /// Value of `delivered` at which the application-limited phase ends; 0 outside such a phase.
    app_limited: u64,
    newest: Option<(Time, u64, Snapshot)>,
}

impl Sampler {
    /// Records a packet of `bytes`. `in_flight` does not include it.
    pub fn on_sent(&mut self, now: Time, bytes: u64, in_flight: u64) -> Snapshot {
        if in_flight == 0 {
            self.first_sent_time = now;
            self.delivered_time = now;
        }
        Snapshot {
            delivered: self.delivered,
            delivered_time: self.delivered_time,
            first_sent_time: self.first_sent_time,
            tx_in_flight: in_flight + bytes,
            lost: self.lost,
            app_limited: self.app_limited != 0,
        }
    }

    /// Records an acknowledged packet. Without a snapshot it yields no sample.
    #[inline]
    pub fn on_acked(&mut self, now: Time, pn: u64, sent: Time, bytes: u64, snapshot: Option<&Snapshot>) {
        self.delivered += bytes;
        self.delivered_time = now;
        let Some(snapshot) = snapshot else { return };
        if self.newest.is_none_or(|(time, id, _)| (sent, pn) > (time, id)) {
            self.newest = Some((sent, pn, *snapshot));
        }
    }

    /// Records bytes declared lost.
    pub fn on_lost(&mut self, bytes: u64) {
        self.lost += bytes;
    }

    /// Returns the rate sample of the packets passed to [`Sampler::on_acked`] since the last call.
    /// Call it once per ACK.
    pub fn sample(&mut self, min_rtt: Duration) -> Option<RateSample> {
        if self.app_limited != 0 && self.delivered > self.app_limited {
            self.app_limited = 0;
        }
        let (sent, _, p) = self.newest.take()?;
        // An ACK of overtaken packets alone must not lengthen the interval of packets sent next.
        self.first_sent_time = self.first_sent_time.max(sent);
        let send_elapsed = sent - p.first_sent_time;
        let ack_elapsed = self.delivered_time - p.delivered_time;
        let interval = send_elapsed.max(ack_elapsed);
        let delivered = self.delivered - p.delivered;
        let usable = interval >= min_rtt && interval > Duration::ZERO;
        Some(RateSample {
            prior_delivered: p.delivered,
            delivered,
            interval,
            delivery_rate: usable.then(|| Rate::from_delivery(delivered, interval)),
            app_limited: p.app_limited,
            tx_in_flight: p.tx_in_flight,
            lost: self.lost - p.lost,
        })
    }

    /// Records that the application has no more data to send although the window is not full.
    pub fn mark_app_limited(&mut self, in_flight: u64) {
        self.app_limited = (self.delivered + in_flight).max(1);
    }

    /// Reports whether packets sent now are marked as application-limited.
    pub fn is_app_limited(&self) -> bool {
        self.app_limited != 0
    }
    /// Returns the bytes delivered since the start.
    pub fn delivered(&self) -> u64 {
        self.delivered
    }
    /// Returns the bytes lost since the start.
    pub fn lost(&self) -> u64 {
        self.lost
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Duration = Duration::from_millis(100);

    /// A sender at a constant 1000 bytes/ms measures that rate, within one packet per interval.
    #[test]
    fn constant_rate() {
        let mut s = Sampler::default();
        let mut flying = std::collections::VecDeque::new();
        let mut last = None;
        for ms in 0..1000u64 {
            if ms >= 100 {
                let (pn, sent, snap) = flying.pop_front().unwrap();
                s.on_acked(Time::from_millis(ms), pn, sent, 1000, Some(&snap));
                last = s.sample(RTT).or(last);
            }
            let now = Time::from_millis(ms);
            let in_flight = 1000 * flying.len() as u64;
            flying.push_back((ms, now, s.on_sent(now, 1000, in_flight)));
        }
        let rate = last.unwrap().delivery_rate.unwrap().bytes_per_sec();
        assert!((rate - 1e6).abs() <= 1e6 / 100.0, "{rate}");
    }

    /// ACKs compressed into one instant never show more than was sent in the interval.
    #[test]
    fn ack_compression_is_bounded() {
        let mut s = Sampler::default();
        let snaps: Vec<_> = (0..100).map(|ms| s.on_sent(Time::from_millis(ms), 1000, 1000 * ms)).collect();
        for (pn, snap) in snaps.iter().enumerate() {
            let pn = pn as u64;
            s.on_acked(Time::from_millis(200), pn, Time::from_millis(pn), 1000, Some(snap));
        }
        let sample = s.sample(RTT).unwrap();
        assert_eq!(sample.interval, Duration::from_millis(200));
        assert_eq!(sample.delivery_rate.unwrap(), Rate::from_bytes_per_sec(500_000.0));
    }

    /// An application-limited phase marks exactly the packets sent before everything sent earlier
    /// is delivered.
    #[test]
    fn application_limited_bubble() {
        let mut s = Sampler::default();
        let a = s.on_sent(Time(0), 1000, 0);
        s.mark_app_limited(1000);
        let b = s.on_sent(Time(10), 1000, 1000);
        assert!(!a.app_limited && b.app_limited);
        s.on_acked(Time(100), 0, Time(0), 1000, Some(&a));
        assert!(!s.sample(Duration::ZERO).unwrap().app_limited);
        assert!(s.is_app_limited(), "delivered has reached, not passed, the bubble's end");
        s.on_acked(Time(110), 1, Time(10), 1000, Some(&b));
        assert!(s.sample(Duration::ZERO).unwrap().app_limited);
        assert!(!s.is_app_limited());
    }
}

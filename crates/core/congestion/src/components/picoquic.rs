//! Code shared by picoquic's controllers, at commits b7bf3ded (29 June 2023) and d199d45b (16
//! August 2026); `cc_common.c`.
//!
//! ```text
//! losses       per lost packet, d packet numbers after the lost one before:
//!              s *= (1 - gain)^min(d, scope);  s += (1 - s) gain;  many when s > threshold        1
//! risen RTT    over a sliding window of samples: filtered_min = lowest maximum so far             seconds
//!              a minimum above filtered_min + max((excess - 1) filtered_min, packet_time) counts, one not above
//!              filtered_min clears the count; risen for good when a whole window of them counted
//! packet_time  0 at b7bf3ded; srtt * mds / (1.25 cwnd) at d199d45b, 0 below 8 packets               seconds
//! ```
//!
//! In congestion avoidance, a lost packet that is covered by a reduction is not counted. The caller
//! checks for the reduction first. Packet 0 never counts as lost. Deviations: none.

use alloc::collections::VecDeque;

use crate::Ack;
use units::{Duration, Time};

/// The loss filter of `picoquic_hystart_loss_test`.
#[derive(Clone, Debug)]
pub(crate) struct LossFilter {
    threshold: f64,
    gain: f64,
    scope: u64,
    /// Smoothed loss rate, s.
    pub(crate) smoothed: f64,
    /// Number of the newest lost packet.
    last: u64,
}

impl LossFilter {
    pub(crate) fn new(threshold: f64, gain: f64, scope: u64) -> Self {
        Self { threshold, gain, scope, smoothed: 0.0, last: 0 }
    }

    /// Counts a lost packet. Returns true if losses are frequent. Ignores a packet older than the
    /// last.
    pub(crate) fn add(&mut self, pn: u64) -> bool {
        if pn <= self.last {
            return false;
        }
        for _ in 0..(pn - self.last).min(self.scope) {
            self.smoothed *= 1.0 - self.gain;
        }
        self.smoothed += (1.0 - self.smoothed) * self.gain;
        self.last = pn;
        self.smoothed > self.threshold
    }
}

/// `rtt_measurement`: the RTT without the ACK delay, if that leaves more than the smallest RTT (RFC
/// 9002 section 5.3).
pub(crate) fn rtt_measurement(ack: &Ack) -> Option<Duration> {
    let whole = ack.latest_rtt?;
    Some(if ack.min_rtt + ack.ack_delay < whole { whole - ack.ack_delay } else { whole })
}

/// Returns the time between two packets at slow start's pacing rate, as in d199d45b. Zero if
/// picoquic does not pace.
pub(crate) fn packet_time(smoothed_rtt: Duration, cwnd: u64, mds: u64) -> Duration {
    if cwnd < 8 * mds { Duration::ZERO } else { smoothed_rtt.mul_f64(mds as f64 / (1.25 * cwnd as f64)) }
}

/// `picoquic_hystart_test`: detects an RTT that has risen for good.
#[derive(Clone, Debug)]
pub(crate) struct RttTest {
    window: u64,
    spacing: Duration,
    excess: f64,
    samples: VecDeque<Duration>,
    last: Option<Time>,
    pub(crate) filtered_min: Duration,
    count: u64,
}

impl RttTest {
    pub(crate) fn new(window: u64, spacing: Duration, excess: f64) -> Self {
        let (samples, filtered_min) = (VecDeque::new(), Duration::MAX);
        Self { window: window.max(1), spacing, excess, samples, last: None, filtered_min, count: 0 }
    }

    /// Adds a sample. Returns true if the RTT has risen for good. `least` is the smallest rise that
    /// counts.
    pub(crate) fn add(&mut self, now: Time, rtt: Duration, least: Duration) -> bool {
        if self.last.is_some_and(|last| now - last <= self.spacing) {
            return false;
        }
        self.last = Some(now);
        self.samples.push_back(rtt);
        if (self.samples.len() as u64) < self.window {
            return false;
        }
        if self.samples.len() as u64 > self.window {
            self.samples.pop_front();
        }
        let (min, max) = self.samples.iter().fold((rtt, rtt), |(min, max), s| (min.min(*s), max.max(*s)));
        self.filtered_min = self.filtered_min.min(max);
        if min <= self.filtered_min {
            self.count = 0;
        } else if min > self.filtered_min + self.filtered_min.mul_f64(self.excess - 1.0).max(least) {
            self.count += 1;
        }
        self.count >= self.window
    }
}

/// PICOQUIC_MIN_MAX_RTT_SCOPE, and the sample spacing and the factor of 1.25 from cc_common.c.
impl Default for RttTest {
    fn default() -> Self {
        Self::new(7, Duration::from_millis(1), 1.25)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(a: f64, b: f64) {
        assert!((a - b).abs() <= 1e-4, "{a} is not {b}");
    }

    fn loss_filter() -> LossFilter {
        LossFilter::new(0.2, 0.0625, 32)
    }

    /// The recursion, and the loss density at which the filter responds.
    #[test]
    fn losses() {
        let mut filter = LossFilter { last: 99, ..loss_filter() };
        for (pn, s, many) in
            [(100, 0.0625, false), (101, 0.1174, false), (102, 0.1657, false), (103, 0.2082, true)]
        {
            assert_eq!(filter.add(pn), many);
            near(filter.smoothed, s);
        }
        // An old packet does not count. A long gap counts as 32.
        assert!(!filter.add(90));
        near(filter.smoothed, 0.2082);
        filter.add(10_000);
        let mut decayed = 0.2082;
        (0..32).for_each(|_| decayed *= 15.0 / 16.0);
        near(filter.smoothed, decayed + (1.0 - decayed) / 16.0);
        for (gap, speaks) in [(4, true), (5, false)] {
            let mut filter = loss_filter();
            assert_eq!((1..1000).any(|i| filter.add(i * gap)), speaks, "every {gap}th");
            if !speaks {
                near(filter.smoothed, 0.1947);
            }
        }
    }

    /// 40 ms, then constantly 51 ms: 7 windows of 7 samples above 1.25 times the lowest maximum.
    #[test]
    fn rising_rtt() {
        let fresh = RttTest::default;
        let sample = |test: &mut RttTest, i: u64, rtt: u64| {
            test.add(Time::from_millis(2 * i), Duration::from_millis(rtt), Duration::ZERO)
        };
        let mut test = fresh();
        assert!(!(0..20).any(|i| sample(&mut test, i, 40)));
        // It takes 7 samples until the window's minimum is high, and 6 more windows.
        let ended: Vec<_> = (20..33).map(|i| sample(&mut test, i, 51)).collect();
        assert_eq!(ended.iter().position(|e| *e), Some(12));
        // Exactly 1.25 times the minimum neither counts nor clears the count.
        let mut test = fresh();
        assert!(!(0..20).any(|i| sample(&mut test, i, 40)));
        assert!(!(20..32).any(|i| sample(&mut test, i, 51)));
        assert!(!(32..60).any(|i| sample(&mut test, i, 50)));
        assert_eq!(test.count, 6);
        sample(&mut test, 60, 40);
        assert_eq!(test.count, 0);
        // Samples less than 1 ms apart count as one.
        let mut test = fresh();
        let rtt = Duration::from_millis(40);
        (0..1000).for_each(|i| assert!(!test.add(Time(i * 1000), rtt, Duration::ZERO)));
        assert_eq!(test.samples.len(), 1);
    }

    /// RFC 9002 section 5.3: an RTT of 100 ms with a reported ACK delay; the smallest RTT is 80 ms.
    #[test]
    fn delay_of_the_ack() {
        for (ack_delay, rtt) in [(0, 100), (10, 90), (19, 81), (20, 100), (25, 100)] {
            let [ack_delay, min_rtt, rtt] = [ack_delay, 80, rtt].map(Duration::from_millis);
            let latest_rtt = Some(Duration::from_millis(100));
            let ack = Ack { ack_delay, min_rtt, latest_rtt, ..crate::testing::fixtures::acked(0) };
            assert_eq!(rtt_measurement(&ack), Some(rtt));
        }
    }

    /// d199d45b: a rise by no more than the time between two packets does not count.
    #[test]
    fn slow_links() {
        for (least, speaks) in [(0, true), (15, true), (16, false)] {
            let mut test = RttTest::default();
            let mut sample = |i: u64, rtt: u64| {
                let [rtt, least] = [rtt, least].map(Duration::from_millis);
                test.add(Time::from_millis(2 * i), rtt, least)
            };
            assert!(!(0..20).any(|i| sample(i, 40)));
            assert_eq!((20..60).any(|i| sample(i, 56)), speaks, "{least}");
        }
        let rtt = Duration::from_millis(100);
        for (packets, ms) in [(7, 0), (8, 10), (80, 1)] {
            assert_eq!(packet_time(rtt, packets * 1200, 1200), Duration::from_millis(ms));
        }
    }
}

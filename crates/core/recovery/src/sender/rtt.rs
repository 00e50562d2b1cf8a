//! Round-trip time estimation, RFC 9002 section 5. The order is that of appendix A.7 and RFC 6298:
//! variance before mean.

use units::{Duration, Time};

use crate::sender::min_rtt::MinRtt;

/// The RTT estimator of one path.
#[derive(Clone, Copy, Debug)]
pub struct Rtt {
    latest: Duration,
    min: MinRtt,
    smoothed: Duration,
    variation: Duration,
    longest_ack_delay: Duration,
    sampled: bool,
}

impl Rtt {
    /// Creates an estimator with `smoothed_rtt = initial` and `rttvar = initial / 2`. The minimum
    /// covers the last `min_window`, or all time.
    pub fn new(initial: Duration, min_window: Option<Duration>) -> Self {
        Self {
            latest: initial,
            min: MinRtt::new(min_window),
            smoothed: initial,
            variation: initial / 2,
            longest_ack_delay: Duration::ZERO,
            sampled: false,
        }
    }

    /// Takes a sample. `ack_delay` is the delay that the peer reports, already limited to its
    /// `max_ack_delay`.
    pub fn sample(&mut self, now: Time, latest: Duration, ack_delay: Duration) {
        self.longest_ack_delay = self.longest_ack_delay.max(ack_delay);
        let min = self.min.get().min(latest);
        let adjusted = if latest >= min + ack_delay { latest - ack_delay } else { latest };
        self.sample_apart(now, latest, adjusted);
    }

    /// Takes a sample whose mean is measured on another packet.
    ///
    /// Among the segments that one TCP acknowledgement covers, the mean uses the oldest (RFC 7323
    /// section 4). The minimum and congestion control use the newest.
    #[inline]
    pub fn sample_apart(&mut self, now: Time, latest: Duration, of_mean: Duration) {
        self.latest = latest;
        self.min.update(now, latest);
        if !self.sampled {
            (self.smoothed, self.variation, self.sampled) = (of_mean, of_mean / 2, true);
            return;
        }
        let deviation = Duration(self.smoothed.0.abs_diff(of_mean.0));
        self.variation = (self.variation * 3 + deviation) / 4;
        self.smoothed = (self.smoothed * 7 + of_mean) / 8;
    }

    /// Replaces the minimum by the newest sample (after persistent congestion, section 5.2).
    pub fn reset_min(&mut self, now: Time) {
        if self.sampled {
            self.min.reset(now, self.latest);
        }
    }

    /// Returns the newest sample, unadjusted.
    pub fn latest(&self) -> Duration {
        self.latest
    }
    /// Returns the smallest sample, or [`Duration::MAX`] before the first.
    pub fn min(&self) -> Duration {
        self.min.get()
    }
    /// Returns `smoothed_rtt`.
    pub fn smoothed(&self) -> Duration {
        self.smoothed
    }
    /// Returns `rttvar`.
    pub fn variation(&self) -> Duration {
        self.variation
    }
    /// Returns the largest ACK delay reported with a sample.
    pub fn longest_ack_delay(&self) -> Duration {
        self.longest_ack_delay
    }
    /// Reports whether there has been a sample.
    pub fn is_sampled(&self) -> bool {
        self.sampled
    }
    /// Returns `smoothed_rtt + max(4 * rttvar, granularity)`, the base of PTO and RTO.
    pub fn timeout(&self, granularity: Duration) -> Duration {
        self.smoothed + (self.variation * 4).max(granularity)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    #[test]
    fn first_sample_replaces_the_guess() {
        let mut rtt = Rtt::new(ms(333), None);
        assert_eq!(rtt.timeout(ms(1)), ms(999));
        rtt.sample(Time::ZERO, ms(100), ms(25));
        assert_eq!((rtt.smoothed(), rtt.variation(), rtt.min()), (ms(100), ms(50), ms(100)));
    }

    /// rttvar uses the old smoothed_rtt. The ACK delay is subtracted only if the result is not
    /// below the minimum.
    #[test]
    fn later_samples() {
        let mut rtt = Rtt::new(ms(333), None);
        rtt.sample(Time::ZERO, ms(100), ms(0));
        rtt.sample(Time::ZERO, ms(180), ms(20)); // adjusted 160
        assert_eq!(rtt.variation(), Duration::from_micros(52_500)); // 3/4*50 + 1/4*60
        assert_eq!(rtt.smoothed(), Duration::from_micros(107_500)); // 7/8*100 + 1/8*160
        rtt.sample(Time::ZERO, ms(101), ms(20)); // 81 would be under the minimum
        assert_eq!(rtt.smoothed(), Duration((7 * 107_500_000 + 101_000_000) / 8));
        assert_eq!(rtt.min(), ms(100));
    }

    /// The mean follows the oldest segment of an acknowledgement, the minimum the newest.
    #[test]
    fn two_samples_of_one_acknowledgement() {
        let mut rtt = Rtt::new(ms(333), None);
        rtt.sample_apart(Time::ZERO, ms(100), ms(110));
        assert_eq!(
            (rtt.latest(), rtt.min(), rtt.smoothed(), rtt.variation()),
            (ms(100), ms(100), ms(110), ms(55))
        );
        rtt.sample_apart(Time::ZERO, ms(90), ms(102));
        assert_eq!((rtt.latest(), rtt.min(), rtt.smoothed()), (ms(90), ms(90), ms(109)));
    }

    /// An acknowledgement after years of doubled timeouts: the sums do not overflow.
    #[test]
    fn samples_of_centuries() {
        let mut rtt = Rtt::new(ms(333), None);
        for latest in [ms(100), Duration::MAX, Duration::MAX / 3, ms(100)] {
            rtt.sample(Time::ZERO, latest, ms(25));
            assert!(rtt.smoothed() <= Duration::MAX / 8 && rtt.variation() <= Duration::MAX / 4);
        }
    }

    /// Test vector: srtt 100, rttvar 25, max_ack_delay 25: 225 ms.
    #[test]
    fn probe_timeout() {
        let rtt = Rtt { smoothed: ms(100), variation: ms(25), sampled: true, ..Rtt::new(ms(100), None) };
        assert_eq!(rtt.timeout(ms(1)) + ms(25), ms(225));
    }
}

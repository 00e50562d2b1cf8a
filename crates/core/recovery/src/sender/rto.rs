//! The RTT variance for TCP's retransmission timeout, as in Linux (`tcp_rtt_estimator`,
//! `tcp_set_rto`).
//!
//! ```text
//! first sample m     mdev = m / 2     rttvar = max(mdev, min_rto / 4)
//! then, e = m - srtt before it
//!   mdev += (|e| - mdev) / 4          but where the RTT falls (e < 0) and |e| > mdev: (|e| - mdev) / 32
//!   mdev_max = max(mdev_max, mdev)    rttvar = max(rttvar, mdev_max)       at once
//!   each round trip                   rttvar -= (rttvar - mdev_max) / 4    if above it; then mdev_max = min_rto / 4
//! RTO = srtt + 4 * rttvar >= srtt + min_rto
//! ```
//!
//! RFC 6298 uses the mean deviation only, limits the timeout instead of the variance, and lets the
//! variance decay with every sample. At rest its timeout is one tick above the RTT, and an RTT that
//! grows by more than that causes a timeout.

use units::Duration;

/// The variance estimator. All values are four times the deviations, as in
/// `RTO = srtt + 4 * rttvar`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LinuxVariance {
    floor: Duration,
    mdev: Duration,
    mdev_max: Duration,
    rttvar: Duration,
    sampled: bool,
    /// The round trip ends when this byte is acknowledged.
    round_end: u64,
}

impl LinuxVariance {
    /// Creates an estimator without samples. The timeout always exceeds the mean by at least
    /// `min_rto`.
    pub(crate) fn new(min_rto: Duration) -> Self {
        let zero = Duration::ZERO;
        Self { floor: min_rto, mdev: zero, mdev_max: zero, rttvar: zero, sampled: false, round_end: 0 }
    }

    /// Takes a sample; `smoothed` is the mean before it. All bytes before `unacknowledged` have
    /// arrived, and all before `sent` have been sent.
    pub(crate) fn sample(&mut self, rtt: Duration, smoothed: Duration, unacknowledged: u64, sent: u64) {
        if !self.sampled {
            (self.sampled, self.round_end) = (true, sent);
            self.mdev = rtt * 2;
            self.rttvar = self.mdev.max(self.floor);
            self.mdev_max = self.rttvar;
            return;
        }
        self.deviate(rtt, smoothed);
        self.mdev_max = self.mdev_max.max(self.mdev);
        self.rttvar = self.rttvar.max(self.mdev_max);
        if unacknowledged > self.round_end {
            self.rttvar = self.rttvar - (self.rttvar - self.mdev_max) / 4;
            (self.mdev_max, self.round_end) = (self.floor, sent);
        }
    }

    fn deviate(&mut self, rtt: Duration, smoothed: Duration) {
        let (error, own) = (Duration(rtt.0.abs_diff(smoothed.0)), self.mdev / 4);
        self.mdev = if error <= own {
            self.mdev - (own - error)
        } else if rtt < smoothed {
            self.mdev + (error - own) / 8
        } else {
            self.mdev + (error - own)
        };
    }

    /// Returns the difference of timeout and mean, or `None` before the first sample.
    pub(crate) fn margin(&self) -> Option<Duration> {
        self.sampled.then_some(self.rttvar)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    /// Takes `count` samples of `rtt` in each of `rounds` rounds. Returns the margin after each
    /// round.
    fn rounds(v: &mut LinuxVariance, rtt: Duration, count: usize, rounds: u64) -> Vec<f64> {
        let mut margins = Vec::new();
        for _ in 0..rounds {
            let (una, sent) = (v.round_end + 1, v.round_end + 100);
            for n in 0..count {
                v.sample(rtt, rtt, if n == 0 { una } else { 0 }, sent);
            }
            margins.push(v.margin().unwrap().as_millis_f64());
        }
        margins
    }

    /// RTO = 3 RTT at first, and srtt + 200 ms at rest, for every RTT and every number of samples
    /// per round.
    #[test]
    fn settles_on_the_floor() {
        for rtt in [1, 10, 50, 100, 150, 300, 600] {
            for count in [1, 20] {
                let mut v = LinuxVariance::new(ms(200));
                assert_eq!(v.margin(), None);
                v.sample(ms(rtt), ms(rtt), 0, 100);
                assert_eq!(v.margin(), Some(ms(rtt * 2).max(ms(200))));
                let margins = rounds(&mut v, ms(rtt), count, 60);
                assert!(margins.is_sorted_by(|a, b| a >= b), "{margins:?}");
                assert!((margins[59] - 200.0).abs() < 0.01, "{rtt} ms, {count}: {margins:?}");
            }
        }
    }

    /// The difference falls by a quarter each round trip, however many samples it has: first to the
    /// deviation of the second sample, 600 * (3/4)^2 ms, then to the minimum.
    #[test]
    fn falls_by_a_quarter_each_round() {
        let mut v = LinuxVariance::new(ms(200));
        v.sample(ms(300), ms(300), 0, 100);
        let margins = rounds(&mut v, ms(300), 20, 4);
        let expected = [600.0, 534.375, 450.781_25, 388.085_937_5];
        for (got, expected) in margins.iter().zip(expected) {
            assert!((got - expected).abs() < 1e-3, "{margins:?} for {expected:?}");
        }
    }

    /// A rising RTT counts at once, a falling one only with an eighth.
    #[test]
    fn rises_at_once() {
        let mut v = LinuxVariance::new(ms(200));
        v.sample(ms(100), ms(100), 0, 100);
        assert_eq!(v.margin(), Some(ms(200)));
        v.sample(ms(400), ms(100), 0, 100); // e = 300, mdev / 4 = 50: 200 + 250
        assert_eq!(v.margin(), Some(ms(450)));
        let mut v = LinuxVariance::new(ms(200));
        v.sample(ms(400), ms(400), 0, 100); // mdev = 800
        v.sample(ms(100), ms(400), 0, 100); // e = -300 > 200: 800 + 100 / 8
        assert_eq!(v.margin(), Some(Duration::from_micros(812_500)));
    }
}

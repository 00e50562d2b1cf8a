//! Filters over a path's samples: a windowed maximum, and a minimum RTT with two windows.

use alloc::collections::VecDeque;

use units::{Duration, Time};

/// The largest value of the last `len` ticks, including the current one. The caller defines the
/// tick: a ProbeBW cycle (`MaxBwFilter`) or a round trip (`ExtraACKedFilter`).
///
/// The result is exact and needs at most `len` entries. The draft's filter (K. Nichols's three
/// samples) approximates it.
#[derive(Clone, Debug)]
pub(crate) struct WindowedMax {
    len: u64,
    /// Ticks in ascending and values in descending order: the front is the maximum, followed by its
    /// successors.
    samples: VecDeque<(u64, u64)>,
}

impl WindowedMax {
    pub(crate) fn new(len: u64) -> Self {
        Self { len, samples: VecDeque::new() }
    }

    /// Changes the window to `len` ticks.
    pub(crate) fn set_len(&mut self, len: u64) {
        self.len = len;
    }

    /// Adds a value at a tick that is not before the last one.
    pub(crate) fn update(&mut self, tick: u64, value: u64) {
        while self.samples.back().is_some_and(|s| s.1 <= value) {
            self.samples.pop_back();
        }
        if self.samples.back().is_none_or(|s| s.0 < tick) {
            self.samples.push_back((tick, value));
        }
        // Keep the newest sample whatever its age: without samples in the window it remains the
        // maximum.
        while self.samples.len() > 1 && self.samples[0].0.saturating_add(self.len) <= tick {
            self.samples.pop_front();
        }
    }

    /// Returns the maximum, or zero before the first value.
    pub(crate) fn max(&self) -> u64 {
        self.samples.front().map_or(0, |s| s.1)
    }
}

/// `UpdateMinRTT`: the short window decides when to probe, the long one gives the estimate. BBRv1
/// uses one window for both.
#[derive(Clone, Debug)]
pub(crate) struct MinRtt {
    /// Estimate. [`Duration::MAX`] before the first sample.
    pub(crate) min_rtt: Duration,
    min_rtt_stamp: Time,
    probe_rtt_min_delay: Duration,
    /// Time of the short window's minimum. `None` before the first sample, so that a flow that
    /// starts late does not begin with ProbeRTT.
    probe_rtt_min_stamp: Option<Time>,
    /// Whether ProbeRTT is due: the short window has passed without a sample as small as its
    /// minimum.
    pub(crate) probe_rtt_expired: bool,
}

impl MinRtt {
    pub(crate) fn new() -> Self {
        Self {
            min_rtt: Duration::MAX,
            min_rtt_stamp: Time::ZERO,
            probe_rtt_min_delay: Duration::MAX,
            probe_rtt_min_stamp: None,
            probe_rtt_expired: false,
        }
    }

    /// Processes an ACK, with or without an RTT sample.
    pub(crate) fn update(
        &mut self,
        now: Time,
        rtt: Option<Duration>,
        interval: Duration,
        filter_len: Duration,
    ) {
        self.probe_rtt_expired = self.probe_rtt_min_stamp.is_some_and(|stamp| now > stamp + interval);
        if let Some(rtt) = rtt.filter(|&rtt| rtt < self.probe_rtt_min_delay || self.probe_rtt_expired) {
            self.probe_rtt_min_delay = rtt;
            self.probe_rtt_min_stamp = Some(now);
        }
        let min_rtt_expired = now > self.min_rtt_stamp + filter_len;
        if self.probe_rtt_min_delay < self.min_rtt || min_rtt_expired {
            self.min_rtt = self.probe_rtt_min_delay;
            self.min_rtt_stamp = self.probe_rtt_min_stamp.unwrap_or(now);
        }
    }

    /// Schedules the next ProbeRTT one interval from now.
    pub(crate) fn schedule_next_probe(&mut self, now: Time) {
        self.probe_rtt_min_stamp = Some(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Comparison with the definition, over a sequence without a pattern.
    #[test]
    fn maximum_of_the_last_ticks() {
        for len in [1, 2, 10] {
            let (mut filter, mut all, mut rng) =
                (WindowedMax::new(len), Vec::new(), units::Rng::stream(1, "max"));
            for i in 0..500u64 {
                let (tick, value) = (i / 3, rng.below(1000));
                filter.update(tick, value);
                all.push((tick, value));
                let expected = all.iter().filter(|s| s.0 + len > tick).map(|s| s.1).max();
                assert_eq!(Some(filter.max()), expected, "window {len}, sample {i}");
                assert!(filter.samples.len() as u64 <= len);
            }
        }
    }

    #[test]
    fn empty_and_zero_windows_hold_the_last_word() {
        let mut filter = WindowedMax::new(0);
        assert_eq!(filter.max(), 0);
        filter.update(7, 5);
        assert_eq!(filter.max(), 5);
    }

    const INTERVAL: Duration = Duration::from_secs(5);
    const LEN: Duration = Duration::from_secs(10);

    fn at(filter: &mut MinRtt, ms: u64, rtt: u64) -> (u64, bool) {
        filter.update(Time::from_millis(ms), Some(Duration::from_millis(rtt)), INTERVAL, LEN);
        (filter.min_rtt.0 / 1_000_000, filter.probe_rtt_expired)
    }

    /// After 5 s without a smaller sample, probe. After 10 s, accept a larger one.
    #[test]
    fn two_windows() {
        let mut f = MinRtt::new();
        assert_eq!(at(&mut f, 20_000, 50), (50, false), "a late start is not an expiry");
        assert_eq!(at(&mut f, 24_000, 60), (50, false));
        assert_eq!(at(&mut f, 25_001, 70), (50, true), "expired, but the estimate is younger than 10 s");
        assert_eq!(at(&mut f, 26_000, 65), (50, false), "the short window began again at 25 s, and took 65");
        assert_eq!(at(&mut f, 30_001, 80), (65, false), "the long window is over: the short one's minimum");
        assert_eq!(at(&mut f, 30_002, 40), (40, false));
    }

    #[test]
    fn without_sample_nothing_is_learned() {
        let mut f = MinRtt::new();
        f.update(Time::from_millis(60_000), None, INTERVAL, LEN);
        assert_eq!((f.min_rtt, f.probe_rtt_expired), (Duration::MAX, false));
    }
}

//! Samples of the kernel's state of a connection (`TCP_INFO`) over time.
//!
//! Changes between two samples are not visible. Samples are 1 ms apart, and up to 20 ms apart in
//! long runs of many flows. A recovery period lasts at least a round trip, so it is missed only if
//! the RTT is shorter than that.

use crate::emu::tcp::{CaState, Info};
use congestion::{Cause, Detection};
use scenario::trace::Metrics;
use units::{Duration, Time};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sample {
    /// Time of the run.
    pub(crate) at: Time,
    pub(crate) info: Info,
}

/// Samples of one flow, in order. Consecutive equal samples are stored once.
#[derive(Clone, Debug, Default)]
pub(crate) struct Samples(Vec<Sample>);

impl Samples {
    pub(crate) fn push(&mut self, at: Time, info: Info) {
        if self.0.last().is_none_or(|last| last.info != info) {
            self.0.push(Sample { at, info });
        }
    }

    pub(crate) fn all(&self) -> &[Sample] {
        &self.0
    }

    /// Returns the rule of a retransmission, as far as the state of recovery tells.
    pub(crate) fn detection(&self, now: Time) -> Detection {
        let is_timeout = self.at(now).is_some_and(|info| info.state == CaState::Loss);
        if is_timeout { Detection::Timeout } else { Detection::TimeThreshold }
    }

    /// Returns the newest sample taken by this time.
    pub(crate) fn at(&self, now: Time) -> Option<&Info> {
        let after = self.0.partition_point(|sample| sample.at <= now);
        self.0.get(after.checked_sub(1)?).map(|sample| &sample.info)
    }

    /// Returns the share of the flow's busy time for which host buffers, not the network, limited
    /// it.
    pub(crate) fn host_limited_share(&self) -> f64 {
        let Some(Sample { info, .. }) = self.0.last() else { return 0.0 };
        let held = (info.rwnd_limited + info.sndbuf_limited).as_secs_f64();
        if info.busy.is_zero() { 0.0 } else { held / info.busy.as_secs_f64() }
    }

    /// Returns the largest congestion window of the first slow start, in bytes.
    pub(crate) fn slow_start_window(&self) -> u64 {
        let mut largest = 0;
        for Sample { info, .. } in &self.0 {
            if cause(info).is_some() {
                break;
            }
            largest = largest.max(bytes(info, info.cwnd));
            if info.ssthresh.is_some_and(|ssthresh| info.cwnd >= ssthresh) {
                break;
            }
        }
        largest
    }

    /// Returns the starts of recovery periods: the time, the cause, and the window before and
    /// after, in bytes.
    pub(crate) fn reductions(&self) -> impl Iterator<Item = (Time, Cause, [u64; 2])> + '_ {
        let entered = |pair: &[Sample]| {
            let [before, after] = pair else { return None };
            let cause = cause(&after.info).filter(|new| cause(&before.info) != Some(*new))?;
            let left = match cause {
                Cause::Timeout => after.info.cwnd,
                _ => after.info.ssthresh.unwrap_or(after.info.cwnd),
            };
            Some((after.at, cause, [before.info.cwnd, left].map(|window| bytes(&after.info, window))))
        };
        self.0.windows(2).filter_map(entered)
    }
}

/// Returns the cause of the window reduction that leads to this state, or `None` without a
/// reduction. The kernel enters CWR for CE marks, and for a loss that a tail loss probe repaired.
fn cause(info: &Info) -> Option<Cause> {
    match info.state {
        CaState::Open | CaState::Disorder => None,
        CaState::Cwr if info.delivered_ce > 0 => Some(Cause::Ecn),
        CaState::Cwr => Some(Cause::Loss),
        CaState::Recovery => Some(Cause::Loss),
        CaState::Loss => Some(Cause::Timeout),
    }
}

/// Returns the size of this many segments, in bytes.
pub(crate) fn bytes(info: &Info, segments: u32) -> u64 {
    u64::from(segments) * u64::from(info.snd_mss)
}

pub(crate) fn duration(span: std::time::Duration) -> Duration {
    Duration(u64::try_from(span.as_nanos()).unwrap_or(u64::MAX))
}

/// Converts a sample to the metrics of a qlog event.
pub(crate) fn metrics(info: &Info) -> Metrics {
    let ssthresh = info.ssthresh.map(|ssthresh| ("ssthresh", bytes(info, ssthresh) as f64));
    Metrics {
        cwnd: bytes(info, info.cwnd),
        bytes_in_flight: bytes(info, info.in_flight()),
        latest_rtt: None,
        smoothed_rtt: duration(info.smoothed_rtt),
        min_rtt: duration(info.min_rtt),
        rttvar: duration(info.rttvar),
        pacing_rate: info.pacing_rate.map(|rate| rate.saturating_mul(8)),
        inner: ssthresh.into_iter().collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(states: &[(u64, CaState, u32, Option<u32>)]) -> Samples {
        let mut all = Samples::default();
        for &(ms, state, cwnd, ssthresh) in states {
            let delivered_ce = u32::from(state == CaState::Cwr);
            let info = Info { state, cwnd, ssthresh, snd_mss: 1000, delivered_ce, ..Info::default() };
            all.push(Time::from_millis(ms), info);
        }
        all
    }

    #[test]
    fn slow_start_ends_with_its_largest_window() {
        let lost = samples(&[
            (1, CaState::Open, 10, None),
            (2, CaState::Disorder, 40, None),
            (3, CaState::Recovery, 41, Some(20)),
            (4, CaState::Open, 60, Some(20)),
        ]);
        assert_eq!(lost.slow_start_window(), 40_000);
        let left = samples(&[
            (1, CaState::Open, 10, None),
            (2, CaState::Open, 33, Some(33)),
            (3, CaState::Open, 90, Some(33)),
        ]);
        assert_eq!(left.slow_start_window(), 33_000, "HyStart");
    }

    #[test]
    fn each_period_of_recovery_counts_once() {
        let all = samples(&[
            (1, CaState::Open, 40, None),
            (2, CaState::Recovery, 39, Some(20)),
            (3, CaState::Recovery, 30, Some(20)),
            (4, CaState::Loss, 1, Some(10)),
            (5, CaState::Open, 10, Some(10)),
            (6, CaState::Cwr, 10, Some(7)),
        ]);
        let found: Vec<_> = all.reductions().collect();
        let ms = Time::from_millis;
        assert_eq!(
            found,
            [
                (ms(2), Cause::Loss, [40_000, 20_000]),
                (ms(4), Cause::Timeout, [30_000, 1000]),
                (ms(6), Cause::Ecn, [10_000, 7000])
            ]
        );
        assert_eq!(all.at(ms(3)).unwrap().cwnd, 30);
        assert_eq!((all.at(Time::ZERO), all.at(ms(99)).unwrap().cwnd), (None, 10));
    }
}

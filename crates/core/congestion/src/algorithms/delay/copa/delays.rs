//! RTTs over three windows of time.

use super::{Delay, Params};
use crate::algorithms::bbr::common::filters::WindowedMax;
use units::{Duration, Time};

/// RTTstanding, RTTmin and RTTmax. Filters of minima hold complements.
#[derive(Clone, Debug)]
pub(super) struct Delays {
    standing: WindowedMax,
    min: WindowedMax,
    max: WindowedMax,
    latest: Duration,
    /// Last time at which the queue was nearly empty.
    emptied: Option<Time>,
}

impl Delays {
    pub(super) fn new(params: &Params) -> Self {
        let [standing, max] = [0, 0].map(WindowedMax::new);
        let min = WindowedMax::new(params.min_rtt_window.0);
        Self { standing, min, max, latest: Duration::ZERO, emptied: None }
    }

    /// Takes a sample.
    pub(super) fn sample(&mut self, now: Time, rtt: Duration, srtt: Duration, params: &Params) {
        self.standing.set_len(srtt.mul_f64(params.standing_window).0);
        self.max.set_len(srtt.mul_f64(params.max_rtt_rounds).0);
        self.standing.update(now.0, !rtt.0);
        self.min.update(now.0, !rtt.0);
        self.max.update(now.0, rtt.0);
        self.latest = rtt;
        let range = Duration(self.max.max()).saturating_sub(self.min());
        let limit = range.mul_f64(params.nearly_empty).max(params.empty_margin);
        if self.emptied.is_none() || self.queue(params.delay) <= limit {
            self.emptied = Some(now);
        }
    }

    /// Returns RTTstanding, or `None` before the first sample.
    pub(super) fn standing(&self) -> Option<Duration> {
        self.emptied.map(|_| Duration(!self.standing.max()))
    }

    /// Returns RTTmin, infinite before the first sample.
    pub(super) fn min(&self) -> Duration {
        Duration(!self.min.max())
    }

    /// Returns d_q.
    pub(super) fn queue(&self, delay: Delay) -> Duration {
        let rtt = match delay {
            Delay::Standing => Duration(!self.standing.max()),
            Delay::Latest => self.latest,
        };
        rtt.saturating_sub(self.min())
    }

    /// Reports whether the queue has been nearly empty within a time.
    pub(super) fn emptied_within(&self, now: Time, time: Duration) -> bool {
        self.emptied.is_none_or(|at| now - at <= time)
    }
}

//! RTTnow and RTTmin, equations 4 to 6.

use super::Params;
use crate::algorithms::bbr::common::filters::WindowedMax;
use units::{Duration, Time};

/// The measurements. RTTs are infinite before the first sample.
#[derive(Clone, Debug)]
pub(super) struct Rtts {
    /// RTTnow, as a complement.
    now: WindowedMax,
    pub(super) min: Duration,
    /// Smallest and largest sample of this slow start.
    pub(super) range: Option<(Duration, Duration)>,
    /// Tailored decreases since RTTnow was close to RTTmin.
    decreases: u64,
}

impl Rtts {
    pub(super) fn new(params: &Params) -> Self {
        let now = WindowedMax::new(params.t_measure.0.saturating_add(1));
        Self { now, min: Duration::MAX, range: None, decreases: 0 }
    }

    pub(super) fn sample(&mut self, now: Time, rtt: Duration, params: &Params) {
        self.now.update(now.0, !rtt.0);
        self.min = self.min.min(self.now());
        self.decreases *= u64::from(self.now() > self.min + params.close);
        let (least, most) = self.range.unwrap_or((rtt, rtt));
        self.range = Some((least.min(rtt), most.max(rtt)));
    }

    /// Reports whether there was a sample.
    pub(super) fn known(&self) -> bool {
        self.min < Duration::MAX
    }

    /// Returns RTTnow.
    pub(super) fn now(&self) -> Duration {
        Duration(!self.now.max())
    }

    /// Returns Q_delay.
    pub(super) fn queuing(&self) -> Duration {
        self.now().saturating_sub(self.min)
    }

    /// Returns RTTmin / RTTnow, 1 before the first sample.
    pub(super) fn ratio(&self) -> f64 {
        self.min.0 as f64 / self.now().0.max(1) as f64
    }

    /// Reports a tailored decrease. Forgets an RTTmin that has not been seen for many of them.
    pub(super) fn on_decrease(&mut self, params: &Params) {
        self.decreases += 1;
        if self.decreases > params.reset_after {
            (self.min, self.decreases) = (self.now(), 0);
        }
    }
}

//! Measures of congestion.
//!
//! ```text
//! every min(10 ms, s_rtt)    f = marked / delivered packets                                      section 4.2.1.3
//!   l4s_alpha  = f / 8 + 7/8 l4s_alpha if f >= l4s_alpha, else 127/128 l4s_alpha
//! each packet                qdelay as in RFC 6817                                               section 4.2.1.4
//!   qdelay_max = min(qdelay_target, max(qdelay, qdelay_max)),  qdelay_min = min(qdelay, qdelay_min)
//! every min(VIRTUAL_RTT, s_rtt)
//!   qdelay_avg = qdelay if qdelay < qdelay_avg, else qdelay / 4 + 3/4 qdelay_avg
//!   qdelay_max = 15/16 qdelay_max,  qdelay_min = 15/16 qdelay_min + qdelay_max / 16
//!   dev        = 31/32 dev + (qdelay_max - qdelay_min) / 32
//!   ref_wnd_delay_scale = clamp(1 - dev / 10 ms, 0, 1), 1 without reduce_jitter
//! each RTT                   low = 255/256 low + smallest qdelay of the RTT / 256                section 4.5.1
//!   low > qdelay_target / 4:  low = 0, and qdelay is measured anew
//! ```

use super::params::Params;
use crate::Ack;
use units::{Duration, Time};

/// Longest time between two updates of l4s_alpha.
const ALPHA_INTERVAL: Duration = Duration::from_millis(10);
/// QDELAY_MIN_MAX_AVG_G.
const MIN_MAX_WEIGHT: f64 = 1.0 / 16.0;
/// QDELAY_DEV_AVG_G.
const DEV_WEIGHT: f64 = 1.0 / 32.0;
/// QDELAY_MIN_AVG_ALPHA.
const LOW_WEIGHT: f64 = 1.0 / 256.0;

/// The share of marked packets.
#[derive(Clone, Debug, Default)]
pub(super) struct Marks {
    pub(super) alpha: f64,
    delivered: u64,
    marked: u64,
    updated: Option<Time>,
}

impl Marks {
    pub(super) fn on_ack(&mut self, now: Time, srtt: Duration, ack: &Ack, params: &Params) {
        self.delivered += ack.packets.len() as u64;
        self.marked += ack.ce;
        let due = self.updated.is_none_or(|then| now - then >= ALPHA_INTERVAL.min(srtt));
        if due && self.delivered > 0 {
            let share = (self.marked as f64 / self.delivered as f64).min(1.0);
            if share >= self.alpha {
                self.alpha += params.l4s_avg_g_up * (share - self.alpha);
            } else {
                self.alpha *= 1.0 - params.l4s_avg_g_down;
            }
            (self.delivered, self.marked, self.updated) = (0, 0, Some(now));
        }
    }
}

/// The queue delay in seconds, and its variation.
#[derive(Clone, Debug)]
pub(super) struct Queue {
    pub(super) qdelay: f64,
    pub(super) avg: f64,
    /// `qdelay_max_avg`, the target before the first packet.
    max: Option<f64>,
    min: f64,
    dev: f64,
    /// `ref_wnd_delay_scale`.
    pub(super) scale: f64,
    /// Smallest delay of this RTT, and the average of those of the RTTs, `qdelay_min_avg`.
    lowest: f64,
    pub(super) low: f64,
    updated: Option<Time>,
}

impl Default for Queue {
    fn default() -> Self {
        let (qdelay, avg, min, dev, low, updated) = (0.0, 0.0, 0.0, 0.0, 0.0, None);
        Self { qdelay, avg, max: None, min, dev, scale: 1.0, lowest: f64::INFINITY, low, updated }
    }
}

impl Queue {
    pub(super) fn sample(&mut self, qdelay: f64, target: f64, params: &Params) {
        self.qdelay = qdelay;
        self.lowest = self.lowest.min(qdelay);
        if params.reduce_jitter {
            self.max = Some(self.max.unwrap_or(target).max(qdelay).min(target));
            self.min = self.min.min(qdelay);
        }
    }

    /// Ends a round trip. Reports whether the delays of the last ones are too long to be a queue.
    pub(super) fn drifts(&mut self, target: f64) -> bool {
        let lowest = core::mem::replace(&mut self.lowest, f64::INFINITY);
        self.low += LOW_WEIGHT * (if lowest.is_finite() { lowest } else { self.low } - self.low);
        let drifts = self.low > target / 4.0;
        self.low *= if drifts { 0.0 } else { 1.0 };
        drifts
    }

    pub(super) fn update(&mut self, now: Time, interval: Duration, params: &Params) {
        if self.updated.is_some_and(|then| now - then < interval) {
            return;
        }
        self.updated = Some(now);
        let weight = if self.qdelay < self.avg { 1.0 } else { params.qdelay_avg_g };
        self.avg += weight * (self.qdelay - self.avg);
        if let Some(max) = &mut self.max {
            *max *= 1.0 - MIN_MAX_WEIGHT;
            self.min += MIN_MAX_WEIGHT * (*max - self.min);
            self.dev += DEV_WEIGHT * (*max - self.min - self.dev);
            let limit = params.qdelay_dev_threshold.as_secs_f64().max(1e-9);
            self.scale = (1.0 - self.dev / limit).clamp(0.0, 1.0);
        }
    }
}

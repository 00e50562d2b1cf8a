//! The target of the queue delay, which rises beside loss-based flows. Section 4.5.4.
//!
//! ```text
//! every 50 ms  n   = qdelay / QDELAY_TARGET_LO
//!              new = QDELAY_TARGET_LO (mean of the last 50 n + sqrt(v)),  v = variance of the last 200 n
//!              losses in more than 0.2 % of the RTTs:  target = 1.5 new
//!              v < 0.2:                                target = new
//!              new < QDELAY_TARGET_LO:                 target = max(target / 2, new)
//!              else:                                   target = 0.9 target
//!              target within QDELAY_TARGET_LO..HI
//! each RTT     share of RTTs with losses = 0.98 share + 0.02 if it had any             (EricssonResearch/scream)
//! ```

use alloc::collections::VecDeque;

use super::params::Params;
use crate::Ack;
use units::{Duration, Time};

/// Interval of the samples, RFC 8298 section 4.1.2.1.
const INTERVAL: Duration = Duration::from_millis(50);
/// Samples of the variance, and of the mean.
const LONG: usize = 200;
const SHORT: usize = 50;
/// Share of RTTs with losses that shows loss-based flows.
const LOSSY: f64 = 0.002;
/// Variance below which the delay is stable.
const STABLE: f64 = 0.2;

#[derive(Clone, Debug)]
pub(super) struct Target {
    /// The target, `qdelay_target`.
    pub(super) seconds: f64,
    history: VecDeque<f64>,
    sampled: Option<Time>,
    /// `loss_event_rate`.
    pub(super) lossy_rtts: f64,
    lost: bool,
}

impl Target {
    pub(super) fn new(params: &Params) -> Self {
        let seconds = params.qdelay_target_lo.as_secs_f64().max(1e-9);
        Self { seconds, history: VecDeque::new(), sampled: None, lossy_rtts: 0.0, lost: false }
    }

    pub(super) fn on_loss(&mut self) {
        self.lost = true;
    }

    pub(super) fn update(&mut self, ack: &Ack, qdelay: f64, params: &Params) {
        if ack.round_start {
            let lost = f64::from(u8::from(core::mem::take(&mut self.lost)));
            self.lossy_rtts = 0.98 * self.lossy_rtts + 0.02 * lost;
        }
        if params.competing_flows && self.sampled.is_none_or(|then| ack.now - then >= INTERVAL) {
            self.sampled = Some(ack.now);
            self.adjust(qdelay, params);
        }
    }

    /// Takes a sample of the queue delay.
    pub(super) fn adjust(&mut self, qdelay: f64, params: &Params) {
        let low = params.qdelay_target_lo.as_secs_f64().max(1e-9);
        self.history.push_front(qdelay / low);
        self.history.truncate(LONG);
        let mean = |last: usize| {
            let last = last.min(self.history.len());
            self.history.iter().take(last).sum::<f64>() / last as f64
        };
        let centre = mean(LONG);
        let squares: f64 = self.history.iter().map(|n| (n - centre) * (n - centre)).sum();
        let variance = squares / self.history.len() as f64;
        let new = low * (mean(SHORT) + libm::sqrt(variance));
        let target = match () {
            () if self.lossy_rtts > LOSSY => 1.5 * new,
            () if variance < STABLE => new,
            () if new < low => new.max(self.seconds / 2.0),
            () => 0.9 * self.seconds,
        };
        self.seconds = target.min(params.qdelay_target_hi.as_secs_f64()).max(low);
    }
}

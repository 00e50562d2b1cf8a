//! The curve of congestion avoidance, RFC 9438 sections 4.2 to 4.5.

use super::{Curve, Frame, Params, Rule};
use crate::Ack;
use units::Time;

/// A stage of congestion avoidance with its curve.
#[derive(Clone, Debug)]
pub(super) struct Epoch {
    pub(super) start: Time,
    pub(super) k: f64,
    pub(super) w_est: f64,
}

pub(super) fn w_cubic(c: f64, w_max: f64, k: f64, t: f64) -> f64 {
    let x = t - k;
    c * x * x * x + w_max
}

pub(super) fn k(c: f64, w_max: f64, cwnd_epoch: f64) -> f64 {
    libm::cbrt((w_max - cwnd_epoch) / c)
}

/// Returns RFC 8312's K, section 4.1. It assumes that `beta W_max` is left of the window, also if
/// fast convergence has lowered `W_max`.
pub(super) fn k_rfc8312(c: f64, w_max: f64, beta: f64) -> f64 {
    libm::cbrt(w_max * (1.0 - beta) / c)
}

/// Returns W_est of RFC 8312 section 4.2. `rtts` is the time since the reduction, in round trips.
pub(super) fn w_est_rfc8312(w_max: f64, beta: f64, alpha: f64, rtts: f64) -> f64 {
    w_max * beta + alpha * rtts
}

/// Returns the additive increase that gives a flow with this `beta` Reno's mean window.
pub(super) fn alpha(beta: f64) -> f64 {
    3.0 * (1.0 - beta) / (1.0 + beta)
}

impl Rule {
    pub(super) fn congestion_avoidance(&self, frame: &mut Frame, ack: &Ack) {
        let Params { c, beta, curve, target_limit, initial_growth, .. } = self.params;
        let (counted, mds) = (frame.counting.in_avoidance(ack) as f64, frame.mds() as f64);
        let segments_acked = ack.growth as f64 / mds;
        let (cwnd, s) = (frame.window.cwnd, &mut frame.window.memory);
        let epoch = s.epoch.get_or_insert_with(|| {
            // Sections 4.8 and 4.10: without a maximum to return to, the plateau is here and K is
            // 0.
            s.w_max = s.w_max.max(cwnd);
            // Without a loss there is nothing to return to in either document.
            let k = match curve {
                Curve::Rfc8312 if !s.searching => k_rfc8312(c, s.w_max, beta),
                _ => k(c, s.w_max, cwnd),
            };
            Epoch { start: ack.now, k, w_est: cwnd }
        });
        let t = (ack.now - epoch.start).as_secs_f64();
        match curve {
            Curve::Rfc9438 => {
                let a = if epoch.w_est < s.cwnd_prior { self.alpha } else { 1.0 };
                epoch.w_est += a * counted / mds / cwnd;
            }
            Curve::Rfc8312 => {
                let rtts = t / ack.smoothed_rtt.as_secs_f64().max(f64::MIN_POSITIVE);
                epoch.w_est = w_est_rfc8312(s.w_max, beta, self.alpha, rtts);
            }
        }
        let least = cwnd + if s.searching { initial_growth * segments_acked } else { 0.0 };
        let grown = if w_cubic(c, s.w_max, epoch.k, t) < epoch.w_est {
            cwnd.max(epoch.w_est)
        } else {
            let ahead = w_cubic(c, s.w_max, epoch.k, t + ack.smoothed_rtt.as_secs_f64());
            let target = ahead.min(target_limit * cwnd).max(cwnd);
            cwnd + (target - cwnd) / cwnd * segments_acked
        };
        frame.window.cwnd = grown.max(least);
    }

    /// Excludes the time since the last ACK from `t`, because the window was not used.
    pub(super) fn stand_still(&mut self, frame: &mut Frame, now: Time) {
        if let Some(epoch) = &mut frame.window.memory.epoch {
            epoch.start += now - self.last_ack;
        }
        self.last_ack = now;
    }
}

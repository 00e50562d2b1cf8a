//! The curve: `onPacketAckedInSteady`, `updateTimeToOrigin`, `calculateCubicCwnd`.

use super::{CubicMvfst, Params, State};
use crate::Ack;
use units::{Duration, Time};

/// The current cubic curve.
#[derive(Clone, Copy, Debug)]
pub(super) struct Curve {
    /// `lastMaxCwndBytes`.
    pub(super) w_max: u64,
    /// `timeToOrigin`, seconds.
    pub(super) k: f64,
    /// `lastReductionTime`.
    pub(super) epoch: Time,
}

/// Largest window, beyond any path, in bytes.
pub(super) const MAX_WINDOW: u64 = 1 << 48;

/// Rounds a time up to whole milliseconds, as mvfst does for t.
pub(super) fn in_ms(time: Duration) -> Duration {
    Duration::from_millis(time.0.div_ceil(1_000_000))
}

impl CubicMvfst {
    /// Implements `onPacketAckedInSteady`.
    pub(super) fn climb(&mut self, ack: &Ack) {
        if ack.app_limited && !ack.cwnd_limited {
            return self.stand_still(ack.now);
        }
        let curve = match self.curve {
            Some(curve) => curve,
            // Slow start ended without a loss, so the plateau is here.
            None => {
                self.w_est = self.cwnd as f64;
                Curve { w_max: self.cwnd, k: 0.0, epoch: ack.now }
            }
        };
        self.curve = Some(curve);
        let Params { beta, .. } = self.params;
        let alpha = 3.0 * (1.0 - beta) / (1.0 + beta);
        self.w_est += alpha * ack.acked as f64 * self.path.max_datagram_size as f64 / self.w_est;
        self.w_est = self.w_est.max(self.floor as f64);
        self.cwnd = self.cwnd.max(self.w_cubic(&curve, ack.now)).max(self.w_est as u64);
    }

    /// `onPacketAckedInRecovery`, at the first ACK of a packet sent after the loss.
    pub(super) fn recovered(&mut self, now: Time) {
        self.state = State::Steady;
        if let Some(mut curve) = self.curve {
            curve.k = self.time_to_origin(curve.w_max);
            self.cwnd = self.w_cubic(&curve, now);
            self.curve = Some(curve);
        }
    }

    /// `updateTimeToOrigin`, in seconds.
    pub(super) fn time_to_origin(&self, w_max: u64) -> f64 {
        let missing = w_max.saturating_sub(self.cwnd) as f64 / self.path.max_datagram_size.max(1) as f64;
        libm::cbrt(missing / self.params.c)
    }

    /// Implements `calculateCubicCwnd`.
    pub(super) fn w_cubic(&self, curve: &Curve, now: Time) -> u64 {
        let x = in_ms(now - curve.epoch).as_secs_f64() - curve.k;
        let delta = libm::floor(self.params.c * self.path.max_datagram_size as f64 * x * x * x);
        // The curve may go below zero or beyond all windows, so clamp it.
        ((curve.w_max as f64 + delta) as u64).clamp(self.floor, MAX_WINDOW)
    }
}

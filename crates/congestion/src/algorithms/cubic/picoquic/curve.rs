//! The cubic curve and its rival, Reno's window.

use super::Params;
use units::{Duration, Time};

/// The cubic curve and its rival.
#[derive(Clone, Debug)]
pub(super) struct Curve {
    /// Packets.
    pub(super) w_max: f64,
    /// Packets.
    pub(super) w_last_max: f64,
    /// Where the curve is flat, packets.
    pub(super) centre: f64,
    /// Bytes.
    pub(super) w_reno: f64,
    /// Seconds.
    pub(super) k: f64,
    pub(super) epoch: Time,
    pub(super) previous_epoch: Time,
}

impl Curve {
    /// Packets.
    pub(super) fn w_cubic(&self, c: f64, now: Time) -> f64 {
        let x = (now - self.epoch).as_secs_f64() - self.k;
        c * x * x * x + self.centre
    }

    /// `picoquic_cubic_enter_avoidance`, with its order: the previous epoch is this one.
    pub(super) fn start(&mut self, params: &Params, epoch: Time) {
        self.set_k(params);
        self.centre = self.w_max;
        (self.epoch, self.previous_epoch) = (epoch, epoch);
    }

    pub(super) fn set_k(&mut self, params: &Params) {
        self.k = libm::cbrt(self.w_max * (1.0 - params.beta) / params.c);
    }

    /// The centre is passed now.
    pub(super) fn enter_plateau(&mut self, now: Time) {
        // No time before the start of the run: then K is shorter, the plateau the same.
        self.k = self.k.min(now.as_secs_f64());
        self.epoch = now - Duration::from_secs_f64(self.k);
    }
}

//! The cubic curve and the Reno-friendly window.

use super::Params;
use units::{Duration, Time};

/// The cubic curve and the Reno-friendly window.
#[derive(Clone, Debug)]
pub(super) struct Curve {
    /// Maximum, in packets.
    pub(super) w_max: f64,
    /// Previous maximum, in packets.
    pub(super) w_last_max: f64,
    /// Window at the plateau, in packets.
    pub(super) centre: f64,
    /// Reno-friendly window, in bytes.
    pub(super) w_reno: f64,
    /// K, in seconds.
    pub(super) k: f64,
    pub(super) epoch: Time,
    pub(super) previous_epoch: Time,
}

impl Curve {
    /// Returns the window on the curve, in packets.
    pub(super) fn w_cubic(&self, c: f64, now: Time) -> f64 {
        let x = (now - self.epoch).as_secs_f64() - self.k;
        c * x * x * x + self.centre
    }

    /// `picoquic_cubic_enter_avoidance`, in the same order, in which the previous epoch is the
    /// current one.
    pub(super) fn start(&mut self, params: &Params, epoch: Time) {
        self.set_k(params);
        self.centre = self.w_max;
        (self.epoch, self.previous_epoch) = (epoch, epoch);
    }

    pub(super) fn set_k(&mut self, params: &Params) {
        self.k = libm::cbrt(self.w_max * (1.0 - params.beta) / params.c);
    }

    /// Moves the curve so that it is at its plateau now.
    pub(super) fn enter_plateau(&mut self, now: Time) {
        // The epoch cannot lie before the start of the run. In that case K becomes shorter and the
        // plateau stays.
        self.k = self.k.min(now.as_secs_f64());
        self.epoch = now - Duration::from_secs_f64(self.k);
    }
}

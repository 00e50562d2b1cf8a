//! X_recv_set, RFC 5348 section 4.3: the receive rates of the last two RTTs, in bytes/s.

use alloc::collections::VecDeque;

use units::{Duration, Time};

#[derive(Clone, Debug)]
pub(super) struct ReceiveRates(VecDeque<(Time, f64)>);

impl ReceiveRates {
    /// Creates the set of the start, which limits nothing.
    pub(super) fn unlimited(now: Time) -> Self {
        Self([(now, f64::INFINITY)].into())
    }

    pub(super) fn max(&self) -> f64 {
        self.0.iter().fold(0.0, |max, &(_, rate)| f64::max(max, rate))
    }

    /// "Update X_recv_set()".
    pub(super) fn update(&mut self, now: Time, rate: f64, rtt: Duration) {
        self.0.retain(|&(at, _)| now <= at + rtt * 2);
        self.0.push_back((now, rate));
    }

    /// "Maximize X_recv_set()".
    pub(super) fn maximize(&mut self, now: Time, rate: f64) {
        self.0.push_back((now, rate));
        self.0.retain(|(_, rate)| rate.is_finite());
        self.replace(now, self.max());
    }

    pub(super) fn halve(&mut self) {
        self.0.iter_mut().for_each(|(_, rate)| *rate /= 2.0);
    }

    pub(super) fn replace(&mut self, now: Time, rate: f64) {
        self.0 = [(now, rate)].into();
    }
}

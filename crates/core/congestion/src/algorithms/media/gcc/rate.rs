//! GCC's two rate controllers: draft-ietf-rmcat-gcc-02, delay in section 5.5, loss in section 6.
//! Rates are in bit/s.
//!
//! ```text
//! delay   Decrease        A = beta R
//!         Increase, far   A = 1.08^min(dt / 1 s, 1) A
//!         Increase, near  A = A + max(1000, 0.5 min(dt / (100 ms + rtt), 1) expected_packet_size_bits)
//!         then            A <= 1.5 R
//!         near            |R - avg| <= 3 sigma: mean and deviation of R when Decrease began, newest with weight 0.05
//!                         R > avg + 3 sigma: reset, far
//! expected_packet_size_bits = b / ceil(b / (8 * 1200)),  b = A / 30
//!
//! loss    p < 2 %: As = 1.05 As;   p > 10 %: As = (1 - 0.5 p) As
//! ```

use super::params::Params;
use super::state::{Signal, State};

/// Inputs of the delay-based controller.
#[derive(Clone, Copy, Debug)]
pub(super) struct Input {
    pub(super) signal: Signal,
    /// Receive rate R, in bit/s.
    pub(super) received: f64,
    /// Time since the last update, in seconds.
    pub(super) interval: f64,
    /// RTT in seconds.
    pub(super) rtt: f64,
}

/// Mean of R at the start of Decrease, and variance over mean; the latter in kbit/s.
#[derive(Clone, Copy, Debug)]
struct Capacity {
    mean: f64,
    variance: f64,
}

impl Capacity {
    fn deviation(self) -> f64 {
        libm::sqrt(self.variance * 1000.0 * self.mean)
    }
}

/// The delay-based controller.
#[derive(Clone, Debug)]
pub(super) struct DelayBased {
    params: Params,
    pub(super) state: State,
    /// Rate A_hat.
    pub(super) rate: f64,
    capacity: Option<Capacity>,
}

impl DelayBased {
    pub(super) fn new(params: Params) -> Self {
        let rate = crate::components::receiver_report::bits(params.initial_rate);
        Self { params, state: State::default(), rate, capacity: None }
    }

    pub(super) fn update(&mut self, input: Input) {
        let before = self.state;
        self.state = before.after(input.signal);
        match self.state {
            State::Hold => {}
            State::Increase => self.rate += self.increase(&input),
            State::Decrease => {
                if before != State::Decrease {
                    self.note(input.received);
                }
                self.rate = self.params.beta * input.received;
            }
        }
        self.rate = self.rate.min(self.params.headroom * input.received);
    }

    fn note(&mut self, received: f64) {
        let Params { smoothing, variance_min, variance_max, .. } = self.params;
        let Capacity { mean, variance } =
            self.capacity.unwrap_or(Capacity { mean: received, variance: variance_min });
        let mean = smoothing * mean + (1.0 - smoothing) * received;
        let error = received - mean;
        let newest = error * error / 1000.0 / mean.max(1000.0);
        let variance = smoothing * variance + (1.0 - smoothing) * newest;
        self.capacity = Some(Capacity { mean, variance: variance.min(variance_max).max(variance_min) });
    }

    /// Reports whether the rate is close to convergence.
    fn near(&mut self, received: f64) -> bool {
        let Some(capacity) = self.capacity else { return false };
        let away = received - capacity.mean;
        let band = 3.0 * capacity.deviation();
        if away > band {
            self.capacity = None;
        }
        away.abs() <= band
    }

    fn increase(&mut self, input: &Input) -> f64 {
        if self.near(input.received) { self.additive(input) } else { self.multiplicative(input.interval) }
    }

    fn multiplicative(&self, interval: f64) -> f64 {
        self.rate * (libm::pow(self.params.eta, interval.min(1.0)) - 1.0)
    }

    fn additive(&self, input: &Input) -> f64 {
        let response_time = self.params.reaction_time.as_secs_f64() + input.rtt;
        let alpha = 0.5 * (input.interval / response_time.max(1e-9)).min(1.0);
        let frame = self.rate / self.params.fps;
        let packets = libm::ceil(frame / (8.0 * self.params.packet as f64)).max(1.0);
        (alpha * frame / packets).max(self.params.min_step.0 as f64)
    }
}

/// Returns As(i) of the loss-based controller, section 6. `lost` is the loss ratio of the report,
/// 0..1.
pub(super) fn loss_based(params: &Params, rate: f64, lost: f64) -> f64 {
    if lost > params.loss_high {
        rate * (1.0 - 0.5 * lost)
    } else if lost < params.loss_low {
        rate * params.loss_increase
    } else {
        rate
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NORMAL: Input = Input { signal: Signal::Normal, received: 1e6, interval: 0.1, rtt: 0.1 };

    fn at(rate: f64) -> DelayBased {
        DelayBased { rate, ..DelayBased::new(Params::default()) }
    }

    /// Growth factors and additive steps by interval.
    #[test]
    fn vector_a14() {
        for (interval, eta) in [(0.1, 1.00773), (0.5, 1.03923), (1.0, 1.08), (2.0, 1.08)] {
            let mut cc = at(1e6);
            cc.update(Input { interval, ..NORMAL });
            assert!((cc.rate / 1e6 - eta).abs() < 5e-6, "{interval}: {}", cc.rate);
        }
        for (interval, step) in [(0.1, 2083.3), (0.2, 4166.7), (1.0, 4166.7)] {
            assert!((at(1e6).additive(&Input { interval, ..NORMAL }) - step).abs() < 0.05);
        }
        assert_eq!(at(1e4).additive(&NORMAL), 1000.0, "333 bits in a frame: the least step");
    }

    #[test]
    fn decrease_and_hold() {
        let mut cc = at(1.2e6);
        cc.update(Input { signal: Signal::Over, ..NORMAL });
        assert_eq!((cc.rate, cc.state), (0.85e6, State::Decrease));
        cc.update(Input { signal: Signal::Under, ..NORMAL });
        assert_eq!((cc.rate, cc.state), (0.85e6, State::Hold));
        cc.update(Input { signal: Signal::Under, ..NORMAL });
        assert_eq!((cc.rate, cc.state), (0.85e6, State::Hold));
        cc.update(NORMAL);
        assert_eq!(cc.state, State::Increase);
        assert!(cc.rate > 0.85e6);
    }

    #[test]
    fn bound_by_the_receive_rate() {
        let mut cc = at(1e6);
        cc.update(Input { received: 0.5e6, ..NORMAL });
        assert_eq!(cc.rate, 0.75e6);
    }

    /// Far before the first decrease. Near within 3 sigma = 3 sqrt(0.4 * 1000) = 60 kbit/s of it.
    /// Far again below, and permanently once above.
    #[test]
    fn near_and_far() {
        let mut cc = at(1e6);
        assert!(!cc.near(1e6));
        cc.note(1e6);
        for (received, near) in [(1e6, true), (1.059e6, true), (0.941e6, true), (0.9e6, false), (1e6, true)] {
            assert_eq!(cc.near(received), near, "{received}");
        }
        assert!(!cc.near(1.061e6) && !cc.near(1e6), "forgotten");
    }

    /// The weight of the old mean is 0.95. The variance grows with distant values, up to its limit.
    #[test]
    fn mean_and_variance() {
        let mut cc = at(1e6);
        cc.note(1e6);
        cc.note(1.2e6);
        let c = cc.capacity.expect("noted");
        assert_eq!(c.mean, 0.95e6 + 0.06e6);
        assert!((c.variance - (0.95 * 0.4 + 0.05 * 190.0 * 190.0 / 1010.0)).abs() < 1e-12, "{c:?}");
        (0..50).for_each(|i| cc.note(if i % 2 == 0 { 0.5e6 } else { 1.5e6 }));
        assert_eq!(cc.capacity.map(|c| c.variance), Some(2.5));
    }

    /// Repeated updates of one Decrease count once.
    #[test]
    fn one_note_per_decrease() {
        let mut cc = at(1e6);
        cc.update(Input { signal: Signal::Over, ..NORMAL });
        cc.update(Input { signal: Signal::Over, received: 0.5e6, ..NORMAL });
        assert_eq!(cc.capacity.map(|c| c.mean), Some(1e6));
        assert_eq!(cc.rate, 0.425e6);
    }

    #[test]
    fn losses() {
        let after = |lost| loss_based(&Params::default(), 1e6, lost);
        for (lost, rate) in
            [(0.0, 1.05e6), (0.019, 1.05e6), (0.02, 1e6), (0.1, 1e6), (0.11, 0.945e6), (1.0, 0.5e6)]
        {
            assert!((after(lost) - rate).abs() < 1e-6, "{lost}: {}", after(lost));
        }
    }
}

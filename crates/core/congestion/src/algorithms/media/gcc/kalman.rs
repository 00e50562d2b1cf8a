//! GCC's arrival-time filter, a scalar Kalman filter: draft-ietf-rmcat-gcc-02 section 5.3. All
//! times are in milliseconds.
//!
//! ```text
//! z(i)     = d(i) - m(i-1)
//! alpha    = (1 - chi)^(30 / (1000 f_max))          f_max = 1 / the shortest T(j) - T(j-1) of the last K groups, 1/ms
//! var_v(i) = max(alpha var_v(i-1) + (1 - alpha) z^2, 1)        with at most 3 sqrt(var_v(i-1)) for |z|
//! k(i)     = (e(i-1) + q) / (var_v(i) + e(i-1) + q)
//! m(i)     = m(i-1) + k(i) z(i)
//! e(i)     = (1 - k(i)) (e(i-1) + q)
//! ```
//!
//! The draft limits z only from above. Its square has no sign, so WebRTC limits it on both sides.

use alloc::collections::VecDeque;

use super::groups::Variation;
use super::params::Params;

#[derive(Clone, Debug)]
pub(super) struct Kalman {
    q: f64,
    chi: f64,
    /// K, number of groups in `departures`.
    memory: usize,
    /// T(j) - T(j-1) of the last K groups.
    departures: VecDeque<f64>,
    /// Number of groups so far.
    pub(super) groups: u64,
    pub(super) m: f64,
    pub(super) var_v: f64,
    e: f64,
}

impl Kalman {
    pub(super) fn new(params: &Params) -> Self {
        let &Params { q, chi, var_v, e, .. } = params;
        let memory = params.memory.max(1);
        Self { q, chi, memory, departures: VecDeque::new(), groups: 0, m: 0.0, var_v, e }
    }

    /// Returns alpha, the weight of the variance, for one group.
    fn alpha(&self) -> f64 {
        let shortest = self.departures.iter().copied().reduce(f64::min).unwrap_or(0.0);
        libm::pow(1.0 - self.chi, 30.0 * shortest / 1000.0)
    }

    pub(super) fn update(&mut self, variation: &Variation) {
        self.groups += 1;
        self.departures.push_back(variation.departure);
        if self.departures.len() > self.memory {
            self.departures.pop_front();
        }
        let z = variation.delay - self.m;
        let alpha = self.alpha();
        let usual = z.abs().min(3.0 * libm::sqrt(self.var_v));
        self.var_v = (alpha * self.var_v + (1.0 - alpha) * usual * usual).max(1.0);
        let predicted = self.e + self.q;
        let k = predicted / (self.var_v + predicted);
        self.m += k * z;
        self.e = (1.0 - k) * predicted;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variation(delay: f64, departure: f64) -> Variation {
        Variation { delay, departure, arrival: departure + delay }
    }

    /// By hand (30 digits). chi 0.01, groups 10 ms apart: alpha = 0.99^0.3. From var 50, e 0.1, q
    /// 0.001: z = 2: k = 0.101 / (49.8615142 + 0.101). z = 3 - m: k = 0.1017958 / (49.7384252 +
    /// 0.1017958).
    #[test]
    fn steps_by_hand() {
        let mut f = Kalman::new(&Params::default());
        f.update(&variation(2.0, 10.0));
        let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-12, "{a} {b}");
        near(f.alpha(), 0.996_989_440_095_379_5);
        near(f.var_v, 49.861_514_244_387_46);
        near(f.m, 0.004_043_031_121_531_1);
        near(f.e, 0.100_795_826_928_362_68);
        f.update(&variation(3.0, 10.0));
        near(f.var_v, 49.738_425_226_447_75);
        near(f.m, 0.010_162_103_441_899_876);
        near(f.e, 0.101_587_914_720_892_1);
    }

    /// 30 groups per second give an exponent of 1 (section 5.3), whatever arrived more slowly.
    #[test]
    fn alpha_follows_the_highest_rate() {
        let mut f = Kalman::new(&Params::default());
        f.update(&variation(0.0, 100.0));
        f.update(&variation(0.0, 1000.0 / 30.0));
        assert!((f.alpha() - 0.99).abs() < 1e-12);
        (0..60).for_each(|_| f.update(&variation(0.0, 100.0)));
        assert!((f.alpha() - 0.99 * 0.99 * 0.99).abs() < 1e-12, "the last K only");
    }

    /// An outlier on either side counts as three deviations in the variance, but fully in m. The
    /// variance stays >= 1.
    #[test]
    fn outliers() {
        for d in [1000.0, -1000.0] {
            let mut f = Kalman::new(&Params::default());
            f.update(&variation(d, 10.0));
            let alpha = f.alpha();
            assert!((f.var_v - (alpha * 50.0 + (1.0 - alpha) * 450.0)).abs() < 1e-9);
            assert!((f.m - d * 0.101 / (f.var_v + 0.101)).abs() < 1e-9);
        }
        let mut f = Kalman::new(&Params::default());
        (0..10_000).for_each(|_| f.update(&variation(0.0, 10.0)));
        assert_eq!(f.var_v, 1.0);
    }

    /// At equilibrium e (e + q) = q var. With var 1, e = 0.031127 and k = 0.031127 (both from the
    /// quadratic equation). The filter finds a constant d.
    #[test]
    fn settles() {
        let mut f = Kalman::new(&Params::default());
        (0..10_000).for_each(|_| f.update(&variation(0.7, 10.0)));
        let e = (-0.001 + (0.001f64 * 0.001 + 0.004).sqrt()) / 2.0;
        assert!((f.e - e).abs() < 1e-9 && (f.m - 0.7).abs() < 1e-9, "{f:?}");
    }
}

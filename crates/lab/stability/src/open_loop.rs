//! The open loop of one dccc flow, linearised around its equilibrium: D'Aronco et al., arXiv
//! 1506.02799v3, section IV-B.
//!
//! ```text
//! w = frequency * RTT;  a = beta - h/x;  b = h/x;  eta = kr RTT
//! continuous, (46):   G(iw) = eta e^-iw (a + iw) / (iw (iw + eta b))
//! m updates an RTT:   G(z)  = eta/m (z - 1 + a (z + 1)/2m) / (z^m (z - 1) (z - 1 + eta b/m)),   z = e^(iw/m)
//! ```
//!
//! The paper has only the first equation. The second is (26) as it runs, for u = dx/x with one
//! update per T_s = RTT/m. An update reacts to the packets acknowledged since the previous one.
//! They were sent at the rate of m + 1 updates ago. On average they saw the delay halfway through
//! their period, with de/dt = u, or e' = u/m per period:
//!
//! ```text
//! u[n] = u[n-1] - eta/m (b u[n-1] + u[n-1-m] + a (w[n-1-m] + w[n-2-m])/2);   w[n] = w[n-1] + u[n]/m;   w = de/RTT
//! ```

use std::f64::consts::{FRAC_PI_2, PI};

use num_complex::Complex64;

/// An open loop. Frequencies are multiples of 1/RTT, so that the RTT only scales the axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OpenLoop {
    /// Gain eta = k_r RTT.
    pub gain: f64,
    /// Slope a = beta - h/x of the price over the delay. The zero is at -a.
    pub slope: f64,
    /// Price b = h/x at equilibrium. The second pole is at -eta b.
    pub price: f64,
    /// M: largest number of links on a path. The critical point is -1/M.
    pub links: f64,
    /// Updates m per RTT. `None` means continuous.
    pub updates: Option<u32>,
}

impl OpenLoop {
    /// Returns the frequency response G at `w`.
    pub fn at(&self, w: f64) -> Complex64 {
        let pole = self.gain * self.price;
        let Some(m) = self.updates.map(f64::from) else {
            let s = Complex64::new(0.0, w);
            return self.gain * Complex64::cis(-w) * (s + self.slope) / (s * (s + pole));
        };
        let z = Complex64::cis(w / m);
        let zero = (z - 1.0) + (z + 1.0) * (self.slope / (2.0 * m));
        self.gain / m * Complex64::cis(-w) * zero / ((z - 1.0) * (z - 1.0 + pole / m))
    }

    /// Returns the unwrapped phase, which starts at -90 degrees and falls below -360 degrees.
    pub fn phase(&self, w: f64) -> f64 {
        let pole = self.gain * self.price;
        let (lead, lag) = match self.updates.map(f64::from) {
            None => (w.atan2(self.slope), w.atan2(pole)),
            Some(m) => {
                let (half_sin, half_cos) = libm::sincos(w / m / 2.0);
                let (sin, cos) = libm::sincos(w / m);
                ((2.0 * m * half_sin).atan2(self.slope * half_cos), sin.atan2(cos - 1.0 + pole / m))
            }
        };
        -w - FRAC_PI_2 + lead - lag
    }

    /// Returns the same loop with another gain, which also moves the pole.
    #[must_use]
    pub fn with_gain(self, gain: f64) -> Self {
        Self { gain, ..self }
    }

    /// Returns the highest frequency, which is half the rate of updates.
    pub fn top(&self) -> f64 {
        self.updates.map_or(f64::INFINITY, |m| PI * f64::from(m))
    }

    /// Returns the second pole, in the plane of s RTT or of z.
    pub fn pole(&self) -> f64 {
        let pole = self.gain * self.price;
        self.updates.map_or(-pole, |m| 1.0 - pole / f64::from(m))
    }

    /// Returns the number of open-loop poles in the right half plane, or outside the unit circle.
    /// It does not count those at s = 0, or at z = 1 and z = 0.
    pub fn unstable_poles(&self) -> i64 {
        i64::from(self.updates.is_some() && self.pole() < -1.0)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Returns the loop of the controller's defaults at 1 Mbit/s.
    pub(crate) fn default(updates: Option<u32>) -> OpenLoop {
        OpenLoop { gain: 0.4, slope: 0.08, price: 0.02, links: 1.0, updates }
    }

    /// The response equals equation 44 as printed, in seconds and bits per second, with U'' and v'
    /// of equation 45.
    #[test]
    fn equation_44() {
        let (rtt, x, h, beta, eta) = (0.1, 1e6, 20e3, 0.1, 0.4);
        let (kr, curvature, slope) = (eta / rtt, -h / (x * x), (beta - h / x) / rtt);
        for omega in [1e-3, 0.1, 1.0, 4.0, 15.0, 100.0] {
            let s = Complex64::new(0.0, omega);
            let printed = kr * (-s * rtt).exp() / s * (slope + s) / (s - kr * x * curvature);
            let ours = default(None).at(omega * rtt);
            assert!((ours - printed).norm() < 1e-12 * printed.norm(), "{omega}: {ours} {printed}");
        }
    }

    /// The slope v' is that of equation 17 at the delay of equation 18.
    #[test]
    fn equation_45() {
        let (back, threshold, beta, h, x) = (0.025, 0.1, 0.1, 20e3, 1e6);
        let e = (back * h / (beta * x) + threshold) / (1.0 - h / (beta * x));
        let v = |e: f64| beta * (e - threshold) / (e + back);
        let slope = (v(e + 1e-6) - v(e - 1e-6)) / 2e-6;
        let expected = (beta - h / x) / (e + back);
        assert!((slope / expected - 1.0).abs() < 1e-6, "{slope} {expected}");
    }

    /// The phase matches the response and has no jumps.
    #[test]
    fn phases() {
        for updates in [None, Some(1), Some(5)] {
            let g = default(updates);
            let mut before = g.phase(1e-5);
            for i in 0..1000 {
                let w = 1e-5 * libm::exp(0.0126 * f64::from(i));
                let phase = g.phase(w);
                let turned = Complex64::from_polar(g.at(w).norm(), phase);
                assert!((g.at(w) - turned).norm() < 1e-9 * turned.norm(), "{updates:?} {w}");
                assert!((phase - before).abs() < 0.2);
                before = phase;
            }
        }
    }

    /// With many updates per RTT, the loop approaches the continuous one.
    #[test]
    fn continuous_limit() {
        for w in [0.01, 0.3, 1.5, 4.0] {
            let (a, b) = (default(None).at(w), default(Some(2000)).at(w));
            assert!((a - b).norm() < 2e-3 * a.norm(), "{w}: {a} {b}");
        }
    }

    /// The response of the sampled loop equals the response of its recursion to a sine.
    #[test]
    fn sampled_recursion() {
        for m in [1_usize, 3] {
            let (g, w) = (default(Some(m as u32)), 0.7);
            let z = |n: f64| Complex64::cis(w / m as f64 * n);
            // With u[n] = z^n on the feedback path, solve the left side of the recursion for u.
            let sum = 1.0 / (1.0 - z(-1.0)) / m as f64;
            let (k, late) = (g.gain / m as f64, -1.0 - m as f64);
            let heard = z(late) + g.slope * sum * (z(late) + z(late - 1.0)) / 2.0;
            let answer = k * heard / (1.0 - z(-1.0) + k * g.price * z(-1.0));
            assert!((answer - g.at(w)).norm() < 1e-12, "{m}: {answer} {}", g.at(w));
        }
    }
}

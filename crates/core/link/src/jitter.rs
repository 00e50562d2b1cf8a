//! Random extra delay: uniform, and correlated from packet to packet if asked.
//!
//! ```text
//! delay = up to * Phi(z)             Phi: the distribution function of the standard normal
//! z     = rho * z before + sqrt(1 - rho^2) * N(0,1)
//! rho   = 2 sin(pi / 6 * correlation)
//! ```
//!
//! Each delay is uniform on [0, up to], whatever the correlation. Successive delays have exactly
//! this coefficient of Pearson: that of two uniforms from normals with rho is 6 / pi asin(rho / 2)
//! (a Gaussian copula; Pearson 1907). Delays k packets apart have 6 / pi asin(rho^k / 2).
//!
//! The correlation of netem differs. Its get_crandom (sch_netem.c) mixes a new number with the last
//! result, (1 - c) new + c last. The numbers then gather in the middle: their variance shrinks to
//! (1 - c) / (1 + c) of that of the uniform, a seventh for 75 %.

use serde::{Deserialize, Serialize};
use units::{Duration, Rng};

/// Packets that keep their order in spite of jitter and of a delay that falls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum JitterOrder {
    /// All packets of the link.
    #[default]
    Link,
    /// The packets of each flow. Those of different flows may overtake each other.
    Flow,
}

/// Source of extra delays.
#[derive(Debug)]
pub(crate) struct Jitter {
    up_to: Duration,
    /// Correlation of the normals below the uniforms, from 0 to 1.
    rho: f64,
    /// Last normal, if delays are correlated.
    last: Option<f64>,
    rng: Rng,
}

impl Jitter {
    /// Creates a source. `correlation` is that of successive delays, from 0 to below 1.
    pub(crate) fn new(up_to: Duration, correlation: f64, mut rng: Rng) -> Self {
        let correlation = correlation.clamp(0.0, 1.0);
        let last = (correlation > 0.0).then(|| rng.normal());
        Self { up_to, rho: 2.0 * libm::sin(std::f64::consts::FRAC_PI_6 * correlation), last, rng }
    }

    /// Returns the extra delay of the next packet.
    pub(crate) fn draw(&mut self) -> Duration {
        if self.up_to == Duration::ZERO {
            return Duration::ZERO;
        }
        let Some(last) = &mut self.last else {
            return Duration(self.rng.below(self.up_to.0.saturating_add(1)));
        };
        *last = self.rho * *last + libm::sqrt((1.0 - self.rho * self.rho).max(0.0)) * self.rng.normal();
        self.up_to.mul_f64(0.5 * libm::erfc(-*last * std::f64::consts::FRAC_1_SQRT_2))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns draws as shares of the upper end.
    fn draws(correlation: f64, n: usize) -> Vec<f64> {
        let up_to = Duration::from_millis(8);
        let mut jitter = Jitter::new(up_to, correlation, Rng::stream(3, "l.jitter"));
        (0..n).map(|_| jitter.draw().as_millis_f64() / up_to.as_millis_f64()).collect()
    }

    /// Returns the coefficient of values this many apart, for the mean and variance of a uniform.
    fn correlation(values: &[f64], lag: usize) -> f64 {
        let products = values.iter().zip(&values[lag..]).map(|(a, b)| (a - 0.5) * (b - 0.5));
        products.sum::<f64>() / (values.len() - lag) as f64 * 12.0
    }

    /// Uniform with a mean of 1/2, a variance of 1/12 and a quarter in each quarter, and the exact
    /// correlation, at every distance that of the copula. The mean of n draws of a chain has a
    /// variance about (1 + c) / (1 - c) as large as that of independent ones, and so have the other
    /// means; the tolerance is four standard deviations.
    #[test]
    fn uniform_and_correlated() {
        let n = 400_000;
        for c in [0.0, 0.25, 0.75, 0.95] {
            let all = draws(c, n);
            let wide = 4.0 * ((1.0 + c) / (1.0 - c) / n as f64).sqrt();
            let mean = all.iter().sum::<f64>() / n as f64;
            assert!((mean - 0.5).abs() < wide * (1.0_f64 / 12.0).sqrt(), "{c}: mean {mean}");
            // (x - 1/2)^2 has the variance 1/80 - 1/144 = 1/180.
            let variance = correlation(&all, 0) / 12.0;
            assert!((variance - 1.0 / 12.0).abs() < wide * (1.0_f64 / 180.0).sqrt(), "{c}: {variance}");
            for quarter in [0.25, 0.5, 0.75] {
                let below = all.iter().filter(|x| **x < quarter).count() as f64 / n as f64;
                let sigma = (quarter * (1.0 - quarter)).sqrt();
                assert!((below - quarter).abs() < wide * sigma, "{c}: {below} below {quarter}");
            }
            let rho = 2.0 * libm::sin(std::f64::consts::FRAC_PI_6 * c);
            let mut power = 1.0;
            for lag in 1..=5 {
                power *= rho;
                let closed = 6.0 / std::f64::consts::PI * libm::asin(power / 2.0);
                assert!(lag > 1 || (closed - c).abs() < 1e-12);
                let found = correlation(&all, lag);
                // The product of two uniforms, scaled to variance 1, has at most a variance of 9/5.
                assert!((found - closed).abs() < wide * 1.8_f64.sqrt(), "{c}, {lag}: {found}, not {closed}");
            }
        }
    }

    /// Without a correlation, the draws are those of earlier releases.
    #[test]
    fn plain_draws_stay() {
        let mut rng = Rng::stream(1, "l.jitter");
        let mut jitter = Jitter::new(Duration(1000), 0.0, rng.clone());
        assert!((0..100).all(|_| jitter.draw() == Duration(rng.below(1001))));
        let mut none = Jitter::new(Duration::ZERO, 0.5, rng);
        assert_eq!(none.draw(), Duration::ZERO);
    }
}

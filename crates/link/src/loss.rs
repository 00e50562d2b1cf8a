//! Random loss, before the queue.

use units::Rng;

/// Each packet is lost independently with the same probability.
#[derive(Debug)]
pub(crate) struct Bernoulli {
    probability: f64,
    rng: Rng,
}

impl Bernoulli {
    pub(crate) fn new(probability: f64, rng: Rng) -> Self {
        Self { probability, rng }
    }

    /// Whether the next packet is lost. Draws nothing at probability zero.
    #[inline]
    pub(crate) fn loses(&mut self) -> bool {
        self.probability > 0.0 && self.rng.unit() < self.probability
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lost(probability: f64, n: u32) -> f64 {
        let mut loss = Bernoulli::new(probability, Rng::stream(1, "l.loss"));
        f64::from((0..n).map(|_| u32::from(loss.loses())).sum::<u32>())
    }

    #[test]
    fn rate_within_four_sigma() {
        let n = 1_000_000;
        for p in [0.001, 0.02, 0.5] {
            let (mean, sigma) = (f64::from(n) * p, (f64::from(n) * p * (1.0 - p)).sqrt());
            assert!((lost(p, n) - mean).abs() < 4.0 * sigma, "p = {p}");
        }
    }

    #[test]
    fn the_ends_are_certain() {
        for (p, share) in [(0.0, 0.0), (1.0, 1.0), (7.0, 1.0), (-1.0, 0.0), (f64::NAN, 0.0)] {
            assert_eq!(lost(p, 1000), 1000.0 * share, "p = {p}");
        }
    }
}

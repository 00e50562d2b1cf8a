//! What is lost before the queue: at random, by number, or all of it for a while.

use units::{Rng, Time};

use crate::config::{Blackhole, LinkConfig};
use crate::counters::DropReason;

/// All that is lost before the queue.
#[derive(Debug)]
pub(crate) struct Losses {
    random: Bernoulli,
    /// Where packets are dropped by number or in black holes.
    planned: Option<Box<Planned>>,
}

impl Losses {
    pub(crate) fn new(config: &LinkConfig, rng: Rng) -> Self {
        Self { random: Bernoulli::new(config.loss, rng), planned: Planned::new(config) }
    }

    /// Whether the packet that arrives is lost, and why. Every one draws, so that what else is lost moves no other packet's random draws.
    #[inline]
    pub(crate) fn refuses(&mut self, now: Time) -> Option<DropReason> {
        let random = self.random.loses();
        let planned = self.planned.as_mut().and_then(|planned| planned.refuses(now));
        planned.or(random.then_some(DropReason::Random))
    }
}

/// Losses known beforehand.
#[derive(Debug)]
struct Planned {
    /// Numbers of packets, ascending, from 1.
    numbers: Vec<u64>,
    blackholes: Vec<Blackhole>,
    /// Packets that have arrived.
    arrived: u64,
}

impl Planned {
    fn new(config: &LinkConfig) -> Option<Box<Self>> {
        let (mut numbers, blackholes) = (config.drop.clone(), config.blackhole.clone());
        numbers.sort_unstable();
        let any = !numbers.is_empty() || !blackholes.is_empty();
        any.then(|| Box::new(Self { numbers, blackholes, arrived: 0 }))
    }

    #[inline(never)] // few links have any
    fn refuses(&mut self, now: Time) -> Option<DropReason> {
        self.arrived += 1;
        if self.blackholes.iter().any(|(from, to)| *from <= now && now < *to) {
            return Some(DropReason::Blackhole);
        }
        self.numbers.binary_search(&self.arrived).is_ok().then_some(DropReason::Listed)
    }
}

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

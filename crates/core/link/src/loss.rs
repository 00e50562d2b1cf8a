//! Losses before the queue: at random, in bursts, by number, by size, or of all packets for a time.

use units::{Bytes, Rng, Time};

use crate::bursts::BurstLosses;
use crate::config::{Blackhole, LinkConfig};
use crate::counters::DropReason;
use crate::steps::{Stepper, Steps};

/// All losses before the queue.
#[derive(Debug)]
pub(crate) struct Losses {
    random: Bernoulli,
    bursts: Option<Box<BurstLosses>>,
    /// Losses by number, by size and in black holes, if there are any.
    planned: Option<Box<Planned>>,
}

impl Losses {
    /// Creates the losses. `stream` returns the random stream of an element.
    pub(crate) fn new(config: &LinkConfig, stream: impl Fn(&str) -> Rng) -> Self {
        let bursts = |model| Box::new(BurstLosses::new(model, stream("bursts"), stream("bursts.loss")));
        Self {
            random: Bernoulli::new(config.loss, stream("loss")),
            bursts: config.bursts.map(bursts),
            planned: Planned::new(config),
        }
    }

    /// Returns the reason if the arriving packet is lost. Every packet draws, so that planned
    /// losses do not shift the random draws of later packets.
    #[inline]
    pub(crate) fn drop_reason(&mut self, now: Time, size: u32) -> Option<DropReason> {
        let single = self.random.draw();
        let random = self.bursts.as_mut().is_some_and(|bursts| bursts.draw(now)) || single;
        let planned = self.planned.as_mut().and_then(|planned| planned.drop_reason(now, size));
        planned.or(random.then_some(DropReason::Random))
    }
}

/// Losses known beforehand.
#[derive(Debug)]
struct Planned {
    /// Numbers of packets, ascending, from 1.
    numbers: Vec<u64>,
    blackholes: Vec<Blackhole>,
    /// Largest packet.
    mtu: Stepper<Bytes>,
    /// Number of packets that have arrived.
    arrived: u64,
}

impl Planned {
    fn new(config: &LinkConfig) -> Option<Box<Self>> {
        let (mut numbers, blackholes) = (config.drop.clone(), config.blackhole.clone());
        numbers.sort_unstable();
        let any = !numbers.is_empty() || !blackholes.is_empty() || config.mtu.is_some();
        let (mtu, later) = match config.mtu {
            Some(mtu) => (mtu, config.mtu_steps.clone()),
            None => (Bytes(u64::MAX), Steps::default()),
        };
        any.then(|| Box::new(Self { numbers, blackholes, mtu: Stepper::new(mtu, later), arrived: 0 }))
    }

    #[inline(never)] // few links have any
    fn drop_reason(&mut self, now: Time, size: u32) -> Option<DropReason> {
        self.arrived += 1;
        if u64::from(size) > self.mtu.at(now).0 {
            return Some(DropReason::TooLarge);
        }
        if self.blackholes.iter().any(|(from, to)| *from <= now && now < *to) {
            return Some(DropReason::Blackhole);
        }
        self.numbers.binary_search(&self.arrived).is_ok().then_some(DropReason::Listed)
    }
}

/// Independent events with the same probability for each packet.
#[derive(Debug)]
pub(crate) struct Bernoulli {
    probability: f64,
    rng: Rng,
}

impl Bernoulli {
    pub(crate) fn new(probability: f64, rng: Rng) -> Self {
        Self { probability, rng }
    }

    /// Reports whether the event happens to the next packet. Draws nothing at probability zero.
    #[inline]
    pub(crate) fn draw(&mut self) -> bool {
        self.probability > 0.0 && self.rng.unit() < self.probability
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lost(probability: f64, n: u32) -> f64 {
        let mut loss = Bernoulli::new(probability, Rng::stream(1, "l.loss"));
        f64::from((0..n).map(|_| u32::from(loss.draw())).sum::<u32>())
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

//! Departure times of a UDP source.
//!
//! ```text
//! R(t) = integral of the rate from the start to t, over the time in which the source is on
//! packet k = 1, 2, ... leaves at the first nanosecond t with R(t) >= k * size
//! ```
//!
//! The first packet of a constant rate therefore leaves one interval after the start. A packet that
//! is incomplete when the source falls silent counts towards the next. Work is counted in bit/s
//! times ns, in whole numbers, as in a link: only the departure is rounded, up to the nanosecond,
//! and no error accumulates.

use units::{Duration, Rate, Rng, Time};

use crate::cross_traffic::{OnOff, UdpConfig};
use crate::topology::Scenario;

/// Work of one byte.
const BYTE: u128 = 8_000_000_000;

/// Departures of one source, in order of time.
#[derive(Debug)]
pub struct Emission {
    rates: Vec<(Time, Rate)>,
    phases: Option<Phases>,
    /// Time after which nothing leaves.
    end: Time,
    /// Time up to which work is counted.
    at: Time,
    /// Work done by then for the next packet.
    done: u128,
    packet: u128,
}

impl Emission {
    /// Creates the departures of the source with this number among those of the run, from 0.
    pub fn new(config: &UdpConfig, number: usize, scenario: &Scenario) -> Self {
        let rng = Rng::stream(scenario.seed, &format!("udp.{number}.on-off"));
        let end = Time::ZERO + scenario.duration;
        Self {
            rates: config.rate.clone(),
            phases: config.on_off.map(|on_off| Phases::new(on_off, config.start, rng)),
            end: config.stop.map_or(end, |stop| stop.min(end)),
            at: config.start,
            done: 0,
            packet: u128::from(config.size.max(1)) * BYTE,
        }
    }

    /// Returns the departure of the next packet; [`Time::NEVER`] after the last.
    pub fn next_departure(&mut self) -> Time {
        while self.at < self.end {
            let (rate, until) = self.segment();
            let work = rate * u128::from((until - self.at).0);
            let missing = self.packet.saturating_sub(self.done);
            if rate > 0 && missing <= work {
                let span = missing.div_ceil(rate);
                self.done = self.done + span * rate - self.packet;
                // Within the segment, whose length is a u64.
                self.at += Duration(span as u64);
                return if self.at <= self.end { self.at } else { Time::NEVER };
            }
            self.done += work;
            self.at = until;
        }
        Time::NEVER
    }

    /// Returns the current rate, and the time until which it holds.
    fn segment(&mut self) -> (u128, Time) {
        let next = self.rates.partition_point(|step| step.0 <= self.at).max(1);
        let rate = self.rates.get(next - 1).map_or(0, |step| step.1.0);
        let until = self.rates.get(next).map_or(Time::NEVER, |step| step.0);
        match &mut self.phases {
            None => (u128::from(rate), until),
            Some(phases) => {
                phases.pass(self.at);
                (if phases.is_on { u128::from(rate) } else { 0 }, until.min(phases.until))
            }
        }
    }
}

/// Alternating on and off phases.
#[derive(Debug)]
struct Phases {
    config: OnOff,
    rng: Rng,
    is_on: bool,
    until: Time,
}

impl Phases {
    fn new(config: OnOff, start: Time, rng: Rng) -> Self {
        let mut phases = Self { config, rng, is_on: true, until: start };
        phases.until = start + phases.span();
        phases
    }

    /// Returns the duration of the phase that begins.
    fn span(&mut self) -> Duration {
        let mean = if self.is_on { self.config.on } else { self.config.off };
        let span = if self.config.random { mean.mul_f64(self.rng.exponential()) } else { mean };
        span.max(Duration(1))
    }

    fn pass(&mut self, now: Time) {
        while self.until <= now {
            self.is_on = !self.is_on;
            let span = self.span();
            self.until += span;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;

    fn departures(rate: &[(u64, u64)], on_off: Option<OnOff>, stop: Option<u64>) -> Vec<u64> {
        let config = UdpConfig {
            label: "UDP".to_owned(),
            rate: rate.iter().map(|&(at, bits)| (Time(at * S), Rate(bits))).collect(),
            on_off,
            route: crate::route::Route::ALL,
            size: 1000,
            start: Time(S),
            stop: stop.map(|s| Time(s * S)),
        };
        let link = link::LinkConfig::plain(Rate(1));
        let scenario = Scenario::new(link, [], Duration::from_secs(1000));
        let mut emission = Emission::new(&config, 0, &scenario);
        std::iter::from_fn(|| Some(emission.next_departure()).filter(|t| *t < Time::NEVER))
            .map(|t| t.0)
            .collect()
    }

    /// 8000 bits at 7 kbit/s do not take a whole number of nanoseconds: each departure is rounded,
    /// but none drifts.
    #[test]
    fn no_drift() {
        let times = departures(&[(0, 7000)], None, Some(801));
        assert_eq!(times.len(), 700);
        let exact = |k: u64| S + (k * 8 * S).div_ceil(7);
        assert!(times.iter().zip(1..).all(|(&t, k)| t == exact(k)), "{times:?}");
        assert_eq!(times[699], 801 * S, "the packet at the stop still leaves");
    }

    /// Half a packet before the silence, and half after it.
    #[test]
    fn steps_carry_what_is_left() {
        let times = departures(&[(0, 8000), (3, 4000), (4, 0), (10, 8000), (12, 0)], None, None);
        assert_eq!(times, [2 * S, 3 * S, 10 * S + S / 2, 11 * S + S / 2]);
        assert!(departures(&[(0, 0)], None, None).is_empty());
        assert!(departures(&[], None, None).is_empty());
    }

    #[test]
    fn on_and_off_in_turn() {
        let on_off = OnOff { on: Duration(2 * S), off: Duration(3 * S), random: false };
        let times = departures(&[(0, 8000)], Some(on_off), Some(12));
        assert_eq!(times, [2, 3, 7, 8, 12].map(|s| s * S));
    }

    /// Exponential phases have the given means: the source is on for a third of the time.
    #[test]
    fn random_spans() {
        let ms = Duration::from_millis;
        let on_off = OnOff { on: ms(500), off: ms(1000), random: true };
        let sent = departures(&[(0, 8_000_000)], Some(on_off), None).len() as f64;
        // About 666 pairs of phases: the share of on time has a standard deviation of 2.5 %.
        assert!((sent / 333_000.0 - 1.0).abs() < 0.075, "{sent}");
    }
}

//! Losses in bursts: a good and a bad state, each with its own probability of loss (Gilbert 1960,
//! Elliott 1963).
//!
//! ```text
//! by packet   P(good -> bad) = p, P(bad -> good) = r after each packet; share of packets in bad = p / (p + r)
//!             length of a bad spell: geometric, 1 / r packets on average
//! by time     lengths: exponential with the means B and G;              share of time in bad = B / (B + G)
//! loss        share in bad * bad loss + share in good * good loss
//! ```
//!
//! **By packet** is the model of `tc netem loss gemodel p r 1-h 1-k`, with `bad loss` = 1-h and
//! `good loss` = 1-k. As in Linux (sch_netem.c: loss_gilb_ell) the first packet finds the good
//! state, and a packet is lost with the probability of the state before its own transition.
//!
//! **By time**, the state at time zero has the share of bad as its probability. The spells do not
//! depend on the packets: with the same seed, all traffic meets the same ones. Only after a gap
//! between packets of more than 10 000 spells is the state drawn at once, with its exact
//! probability:
//!
//! ```text
//! P(bad at t | state at 0) = share + (1 or 0 - share) exp(-t (1 / B + 1 / G))
//! ```

use serde::{Deserialize, Serialize};
use units::{Duration, Rng, Time};

/// Losses that depend on a good and a bad state. Probabilities are from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Bursts {
    /// Changes of the state.
    pub spells: Spells,
    /// Probability that a packet is lost in the bad state.
    pub bad_loss: f64,
    /// Probability that a packet is lost in the good state.
    pub good_loss: f64,
}

/// Changes between the good and the bad state.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub enum Spells {
    /// Changes after a packet, with these probabilities.
    Packets {
        /// Probability of the change from good to bad.
        p: f64,
        /// Probability of the change from bad to good.
        r: f64,
    },
    /// Exponential lengths with these means; each at least 1 us.
    Times {
        /// Mean length of a bad spell.
        bad: Duration,
        /// Mean length of a good spell.
        good: Duration,
    },
}

/// Most spells that are drawn one by one between two packets.
const ONE_BY_ONE: u64 = 10_000;

/// Shortest mean of a spell. A link that was idle must catch up with all spells.
const SHORTEST: Duration = Duration::from_micros(1);

impl Bursts {
    /// Returns the share of packets, or of time, in the bad state.
    pub fn bad_share(&self) -> f64 {
        match self.spells {
            Spells::Packets { p, r } if p + r > 0.0 => p / (p + r),
            Spells::Packets { .. } => 0.0,
            Spells::Times { bad, good } => bad.as_secs_f64() / (bad.as_secs_f64() + good.as_secs_f64()),
        }
    }

    /// Returns the share of packets lost in the long run.
    pub fn mean_loss(&self) -> f64 {
        let bad = self.bad_share();
        bad * self.bad_loss + (1.0 - bad) * self.good_loss
    }

    /// Checks the values.
    ///
    /// # Errors
    /// Returns the first rule that does not hold.
    pub(crate) fn check(&self) -> Result<(), String> {
        let mut shares = vec![("bad-loss", self.bad_loss), ("good-loss", self.good_loss)];
        match self.spells {
            Spells::Packets { p, r } => shares.extend([("p", p), ("r", r)]),
            Spells::Times { bad, good } if bad.min(good) < SHORTEST => {
                return Err(format!("`bad-time` and `good-time` must be at least {SHORTEST}"));
            }
            Spells::Times { .. } => {}
        }
        match shares.iter().find(|(_, share)| !(0.0..=1.0).contains(share)) {
            Some((key, share)) => {
                Err(format!("`loss.{key}` is {share}, but must be a probability from 0 to 1"))
            }
            None => Ok(()),
        }
    }
}

/// State of the model.
#[derive(Debug)]
pub(crate) struct BurstLosses {
    model: Bursts,
    is_bad: bool,
    /// End of the spell, if spells have lengths.
    until: Time,
    spells: Rng,
    losses: Rng,
}

impl BurstLosses {
    pub(crate) fn new(model: Bursts, mut spells: Rng, losses: Rng) -> Self {
        let is_bad = matches!(model.spells, Spells::Times { .. }) && spells.unit() < model.bad_share();
        let mut new = Self { model, is_bad, until: Time::ZERO, spells, losses };
        new.until = new.spell();
        new
    }

    /// Reports whether a packet that arrives now is lost.
    pub(crate) fn draw(&mut self, now: Time) -> bool {
        let is_bad = match self.model.spells {
            Spells::Packets { p, r } => {
                let changes = self.spells.unit() < if self.is_bad { r } else { p };
                let after = self.is_bad ^ changes;
                std::mem::replace(&mut self.is_bad, after)
            }
            Spells::Times { .. } => self.at(now),
        };
        self.losses.unit() < if is_bad { self.model.bad_loss } else { self.model.good_loss }
    }

    /// Reports whether the state at this time, which never goes back, is bad.
    fn at(&mut self, now: Time) -> bool {
        if self.until <= now {
            self.skip(now);
        }
        while self.until <= now {
            self.is_bad = !self.is_bad;
            self.until = self.spell();
        }
        self.is_bad
    }

    /// Skips the spells of a long gap. The rest of an exponential spell is as long as a new one.
    fn skip(&mut self, now: Time) {
        let Spells::Times { bad, good } = self.model.spells else { return };
        let gap = now - self.until;
        if gap.0 / ((bad.0 / 2).saturating_add(good.0 / 2)).max(1) < ONE_BY_ONE {
            return;
        }
        let (bad, good) = (bad.as_secs_f64(), good.as_secs_f64());
        let share = bad / (bad + good);
        // At the end of the last spell the other state begins.
        let since = if self.is_bad { 0.0 } else { 1.0 };
        let decay = libm::exp(-gap.as_secs_f64() * (1.0 / bad + 1.0 / good));
        self.is_bad = self.spells.unit() < share + (since - share) * decay;
        self.until = now;
        self.until = self.spell();
    }

    /// Returns the end of the spell that begins at the end of the last.
    fn spell(&mut self) -> Time {
        let Spells::Times { bad, good } = self.model.spells else { return Time::NEVER };
        let mean = if self.is_bad { bad } else { good };
        self.until + mean.max(SHORTEST).mul_f64(self.spells.exponential())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn losses(spells: Spells, bad_loss: f64, good_loss: f64, seed: u64) -> BurstLosses {
        let stream = |name| Rng::stream(seed, name);
        BurstLosses::new(Bursts { spells, bad_loss, good_loss }, stream("l.bursts"), stream("l.bursts.loss"))
    }

    /// A gap of 1e11 spells takes no time, and the state behind it has the share of bad.
    #[test]
    fn a_long_gap_is_skipped() {
        let us = Duration::from_micros(1);
        let mut bad = 0;
        for seed in 0..2000 {
            let mut link = losses(Spells::Times { bad: us, good: us * 3 }, 1.0, 0.0, seed);
            link.draw(Time::from_millis(1));
            bad += u32::from(link.draw(Time::from_millis(200_000_000)));
        }
        assert!((f64::from(bad) / 2000.0 - 0.25).abs() < 4.0 * (0.25_f64 * 0.75 / 2000.0).sqrt(), "{bad}");
    }

    /// Returns the lengths of runs of equal values.
    fn runs(values: &[bool], of: bool) -> Vec<usize> {
        let runs = values.chunk_by(|a, b| a == b).filter(|run| run[0] == of);
        runs.map(<[bool]>::len).collect()
    }

    fn mean(lengths: &[f64]) -> f64 {
        lengths.iter().sum::<f64>() / lengths.len() as f64
    }

    /// The share lost is (p (1-h) + r (1-k)) / (p + r). The tolerance is four standard deviations,
    /// with the variance of a two-state chain: that of independent packets times (1 + c) / (1 - c),
    /// c = 1 - p - r.
    #[test]
    fn share_lost_by_packet() {
        for (p, r, bad, good) in [(0.01, 0.1, 1.0, 0.0), (0.05, 0.3, 0.8, 0.02), (0.02, 0.98, 1.0, 0.0)] {
            let mut losses = losses(Spells::Packets { p, r }, bad, good, 1);
            let closed = (p * bad + r * good) / (p + r);
            assert!((losses.model.mean_loss() - closed).abs() < 1e-12);
            let n = 1_000_000;
            let lost = (0..n).filter(|i| losses.draw(Time(*i))).count() as f64 / n as f64;
            let (share, correlation) = (p / (p + r), 1.0 - p - r);
            let of_states = share * (1.0 - share) * (bad - good) * (bad - good);
            let variance = closed * (1.0 - closed) + of_states * 2.0 * correlation / (1.0 - correlation);
            let sigma = (variance / n as f64).sqrt();
            assert!((lost - closed).abs() < 4.0 * sigma, "{p} {r}: {lost}, not {closed}");
        }
    }

    /// Spells of losses are geometric: 1 / r packets on average, and each lasts on with 1 - r.
    /// Good spells last 1 / p packets. Tolerances are four standard deviations of a geometric mean.
    #[test]
    fn spells_by_packet_are_geometric() {
        let (p, r) = (0.02, 0.1);
        let mut losses = losses(Spells::Packets { p, r }, 1.0, 0.0, 2);
        let lost: Vec<bool> = (0..2_000_000).map(|i| losses.draw(Time(i))).collect();
        assert!(!lost[0], "the first packet finds the good state, as in Linux");
        for (of, leave) in [(true, r), (false, p)] {
            let all = runs(&lost, of);
            let n = all.len() as f64;
            let found = all.iter().sum::<usize>() as f64 / n;
            let sigma = ((1.0 - leave) / (leave * leave) / n).sqrt();
            assert!((found - 1.0 / leave).abs() < 4.0 * sigma, "{of}: {found}");
            for k in [1, 5, 20] {
                let share = all.iter().filter(|length| **length > k).count() as f64 / n;
                let closed = libm::pow(1.0 - leave, k as f64);
                assert!((share - closed).abs() < 4.0 * (closed * (1.0 - closed) / n).sqrt(), "{of}, {k}");
            }
        }
    }

    /// A packet meets the state before its own transition: with p = 1 the second is the first lost.
    #[test]
    fn loss_before_the_transition() {
        let mut losses = losses(Spells::Packets { p: 1.0, r: 1.0 }, 1.0, 0.0, 3);
        assert_eq!([0, 1, 2, 3].map(|i| losses.draw(Time(i))), [false, true, false, true]);
        assert_eq!(Bursts { spells: Spells::Packets { p: 0.0, r: 0.0 }, ..losses.model }.bad_share(), 0.0);
    }

    /// Spells by time are exponential: their means and, as for every exponential, a standard
    /// deviation equal to the mean. Sampled each 10 us; tolerances are four standard deviations, of
    /// which that of a variance of exponentials is sqrt(8 / n), and half of it for the deviation.
    #[test]
    fn spells_by_time_are_exponential() {
        let times = Spells::Times { bad: Duration::from_millis(2), good: Duration::from_millis(18) };
        let mut losses = losses(times, 1.0, 0.0, 4);
        let lost: Vec<bool> = (0..10_000_000).map(|i| losses.draw(Time(i * 10_000))).collect();
        for (of, ms) in [(true, 2.0), (false, 18.0)] {
            // The first and the last spell are cut.
            let all: Vec<f64> = runs(&lost, of)[1..].iter().map(|n| *n as f64 / 100.0).collect();
            let n = all.len() as f64;
            // A spell shorter than a sample may be missed, which merges two of the other kind.
            let missed = 0.01 / if of { 18.0 } else { 2.0 };
            assert!((mean(&all) / ms - 1.0).abs() < 4.0 / n.sqrt() + missed, "{of}: {}", mean(&all));
            let square = mean(&all.iter().map(|x| x * x).collect::<Vec<_>>());
            let deviation = (square - mean(&all) * mean(&all)).sqrt();
            assert!((deviation / ms - 1.0).abs() < 4.0 * (2.0 / n).sqrt() + missed, "{of}: {deviation}");
        }
        // A share of time has a relative variance of 2 G^2 B / (B + G)^3 / T, with T = 100 s here.
        let share = lost.iter().filter(|lost| **lost).count() as f64 / lost.len() as f64;
        let sigma = (2.0 * 0.002 * 0.002 * 0.018 * 0.018 / (0.02 * 0.02 * 0.02) / 100.0_f64).sqrt();
        assert!((share - 0.1).abs() < 4.0 * sigma, "{share}");
    }

    /// The state at time zero is bad with the share of bad. Neither it nor a later state depends on
    /// the packets between, and each seed has its own.
    #[test]
    fn spells_by_time_are_those_of_the_seed() {
        let times = Spells::Times { bad: Duration::from_millis(4), good: Duration::from_millis(6) };
        let of = |seed| losses(times, 1.0, 0.0, seed);
        let n = 10_000;
        let bad = (0..n).filter(|seed| of(*seed).draw(Time::ZERO)).count() as f64 / n as f64;
        assert!((bad - 0.4).abs() < 4.0 * (0.24 / n as f64).sqrt(), "{bad}");
        let (mut often, mut seldom) = (of(7), of(7));
        for ms in 0..1000 {
            let at = often.draw(Time::from_millis(ms));
            assert!(ms % 10 > 0 || at == seldom.draw(Time::from_millis(ms)));
        }
        let course = |seed| {
            let mut losses = of(seed);
            (0..100).map(|ms| losses.draw(Time::from_millis(ms))).collect::<Vec<_>>()
        };
        assert_ne!(course(1), course(2));
    }

    #[test]
    fn says_what_is_wrong() {
        let check = |spells, bad_loss| Bursts { spells, bad_loss, good_loss: 0.0 }.check();
        let ms = Duration::from_millis(1);
        assert_eq!(check(Spells::Times { bad: ms, good: ms }, 1.0), Ok(()));
        assert!(check(Spells::Packets { p: 0.1, r: 1.1 }, 1.0).unwrap_err().contains("`loss.r` is 1.1"));
        assert!(check(Spells::Packets { p: 0.1, r: 0.1 }, f64::NAN).unwrap_err().contains("bad-loss"));
        let short = Spells::Times { bad: Duration(1), good: ms };
        assert!(check(short, 1.0).unwrap_err().contains("at least 1 us"));
    }
}

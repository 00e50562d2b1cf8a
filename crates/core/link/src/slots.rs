//! Rate, delay and outage that change on a fixed grid, like the reconfiguration of a Starlink-like
//! satellite path.
//!
//! ```text
//! boundaries   phase + k period
//! rate         clamp(median exp(sigma N(0,1)), min, max), one draw per slot
//! extra delay  uniform in [low, high], one draw per slot, one way
//! outage       packets that arrive in [boundary, boundary + outage) are lost
//! ```
//!
//! Grid of Starlink: 15 s, at the seconds 12, 27, 42, 57 of each minute (general knowledge, not our
//! measurement). The model is inferred, not fitted: RTT levels of 20 to 45 ms become an extra delay
//! of 0 to 12.5 ms each way. The log-normal distribution of the rate is an assumption.

use serde::{Deserialize, Serialize};
use units::{Duration, Rate, Rng, Time};

use crate::segment::Segment;

/// Properties drawn anew in each slot. Properties that are left out do not vary.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "slots"))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct SlotModel {
    /// Length of a slot; at least 100 us, default 15 s.
    #[serde(default = "SlotModel::default_period")]
    pub period: Duration,
    /// Time of a boundary within the first period, default 12 s. A shorter slot precedes it.
    #[serde(default = "SlotModel::default_phase")]
    pub phase: Duration,
    /// Median of the slots' rates.
    pub median: Rate,
    /// Standard deviation of the rate's natural logarithm; 0 or more, default 0.
    #[serde(default)]
    pub sigma: f64,
    /// Lowest rate; at least 1 bit/s (default).
    #[serde(default = "SlotModel::default_min")]
    pub min: Rate,
    /// Highest rate.
    #[serde(default = "SlotModel::default_max")]
    pub max: Rate,
    /// Lowest and highest extra one-way delay; default none. A packet gets that of the slot in
    /// which it departs.
    #[serde(default)]
    pub extra_delay: [Duration; 2],
    /// Time after each boundary during which arriving packets are lost; shorter than the period,
    /// default none. A boundary at time zero (`phase` 0) counts.
    #[serde(default)]
    pub outage: Duration,
}

/// Shortest slot. Those of 5G NR last 125 us or more at subcarrier spacings up to 120 kHz.
const MIN_PERIOD: Duration = Duration::from_micros(100);

impl SlotModel {
    /// Reports whether slots have extra delays or outages beside their rates.
    pub fn has_more(&self) -> bool {
        self.extra_delay != [Duration::ZERO; 2] || self.outage > Duration::ZERO
    }

    /// Returns a model on the default grid with a constant rate, no extra delay and no outage.
    pub fn plain(median: Rate) -> Self {
        Self {
            period: Self::default_period(),
            phase: Self::default_phase(),
            median,
            sigma: 0.0,
            min: Self::default_min(),
            max: Self::default_max(),
            extra_delay: [Duration::ZERO; 2],
            outage: Duration::ZERO,
        }
    }

    /// Checks the values.
    ///
    /// # Errors
    /// Returns the first rule that does not hold.
    pub(crate) fn check(&self) -> Result<(), String> {
        let [low, high] = self.extra_delay;
        let rules = [
            (self.period >= MIN_PERIOD, "`period` must be at least 100 us"),
            (self.sigma >= 0.0 && self.sigma.is_finite(), "`sigma` must be a number of at least 0"),
            (self.min >= Rate(1), "`min` must be at least 1 bit/s"),
            (self.min <= self.max, "`min` must not be above `max`"),
            (low <= high, "`extra-delay` must be [lowest, highest]"),
            (self.outage < self.period, "`outage` must be shorter than `period`"),
        ];
        rules.iter().find(|rule| !rule.0).map_or(Ok(()), |rule| Err(rule.1.to_owned()))
    }

    fn default_period() -> Duration {
        Duration::from_secs(15)
    }
    fn default_phase() -> Duration {
        Duration::from_secs(12)
    }
    fn default_min() -> Rate {
        Rate(1)
    }
    fn default_max() -> Rate {
        Rate(u64::MAX)
    }
}

/// Slots of one run. Each slot has its own random stream, so that any slot can be computed at any
/// time, in any order, without storing earlier ones.
#[derive(Debug)]
pub(crate) struct Slots {
    model: SlotModel,
    /// Drawn seed rather than the run's seed, because the slots of seeds 1 and 2 must differ.
    seed: u64,
}

impl Slots {
    pub(crate) fn new(model: &SlotModel, mut rng: Rng) -> Self {
        let period = model.period.max(MIN_PERIOD);
        let phase = Duration(model.phase.0 % period.0);
        Self { model: SlotModel { period, phase, ..model.clone() }, seed: rng.next_u64() }
    }

    /// Returns the slot that contains this time.
    pub(crate) fn segment(&self, at: Time) -> Segment {
        let (period, phase) = (self.model.period.0, self.model.phase.0);
        match at.0.checked_sub(phase) {
            // The slot before the first boundary, if there is one.
            None => self.slot(0, Time(phase), Time::ZERO),
            Some(past) => {
                let boundary = Time(phase + past / period * period);
                self.slot(1 + past / period, boundary + Duration(period), boundary + self.model.outage)
            }
        }
    }

    fn slot(&self, index: u64, until: Time, outage_until: Time) -> Segment {
        let mut rng = Rng::stream(self.seed ^ index, "slot");
        let rate = self.draw_rate(&mut rng);
        let [low, high] = self.model.extra_delay;
        let extra_delay = low + Duration(rng.below((high - low).0.saturating_add(1)));
        Segment { rate, until, extra_delay, outage_until }
    }

    fn draw_rate(&self, rng: &mut Rng) -> u64 {
        let factor = libm::exp(self.model.sigma * rng.normal());
        let rate = (self.model.median.0 as f64 * factor + 0.5) as u64;
        // `clamp` would panic if `min` exceeds `max`.
        rate.min(self.model.max.0).max(self.model.min.0).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slots(seed: u64, name: &str) -> Slots {
        let model = SlotModel {
            sigma: 0.5,
            max: Rate(400_000_000),
            extra_delay: [Duration::from_millis(1), Duration::from_millis(13)],
            outage: Duration::from_millis(80),
            ..SlotModel::plain(Rate(100_000_000))
        };
        Slots::new(&model, Rng::stream(seed, name))
    }

    #[test]
    fn boundaries_lie_on_the_grid() {
        let slots = slots(1, "a");
        let (mut at, mut ends) = (Time::ZERO, Vec::new());
        for _ in 0..5 {
            let slot = slots.segment(at);
            assert_eq!(slot, slots.segment(Time(slot.until.0 - 1)), "one slot, one draw");
            assert_ne!(slot.rate, slots.segment(slot.until).rate, "the piece before the first boundary too");
            let outage = slot.outage_until - at;
            assert_eq!(outage, Duration::from_millis(if at == Time::ZERO { 0 } else { 80 }));
            at = slot.until;
            ends.push(at);
        }
        assert_eq!(ends, [12, 27, 42, 57, 72].map(|s| Time::from_millis(s * 1000)));
    }

    #[test]
    fn same_seed_same_draws() {
        let draws = |s: &Slots| (0..50).map(|k| s.segment(Time::from_millis(15_000 * k))).collect::<Vec<_>>();
        assert_eq!(draws(&slots(1, "a")), draws(&slots(1, "a")));
        for other in [slots(2, "a"), slots(1, "b")] {
            let (first, other) = (draws(&slots(1, "a")), draws(&other));
            assert!(first.iter().all(|slot| !other.iter().any(|o| o.rate == slot.rate)));
        }
    }

    #[test]
    fn moments() {
        let slots = slots(5, "a");
        let n = 20_000;
        let drawn: Vec<_> = (0..n).map(|k| slots.segment(Time::from_millis(15_000 * k))).collect();
        let below = drawn.iter().filter(|s| s.rate < 100_000_000).count() as f64 / n as f64;
        assert!((below - 0.5).abs() < 4.0 * 0.5 / (n as f64).sqrt(), "median: {below}");
        // 84.13 % lie below exp(sigma) times the median, which is one standard deviation above it.
        let below = drawn.iter().filter(|s| (s.rate as f64) < 164_872_127.0).count() as f64 / n as f64;
        assert!((below - 0.8413).abs() < 4.0 * 0.3654 / (n as f64).sqrt(), "sigma: {below}");
        assert!(drawn.iter().all(|s| s.rate <= 400_000_000));
        let delays = || drawn.iter().map(|s| s.extra_delay.as_millis_f64());
        assert!(delays().all(|ms| (1.0..=13.0).contains(&ms)));
        let mean = delays().sum::<f64>() / n as f64;
        assert!((mean - 7.0).abs() < 4.0 * 12.0 / (12.0 * n as f64).sqrt(), "mean extra delay: {mean}");
    }

    #[test]
    fn the_end_of_time_is_a_slot_too() {
        assert_eq!(slots(1, "a").segment(Time(u64::MAX - 1)).until, Time::NEVER);
    }

    #[test]
    fn says_what_is_wrong() {
        let plain = || SlotModel::plain(Rate(1_000_000));
        assert_eq!(plain().check(), Ok(()));
        assert!(SlotModel { sigma: f64::NAN, ..plain() }.check().unwrap_err().contains("sigma"));
        assert!(SlotModel { max: Rate(0), ..plain() }.check().unwrap_err().contains("max"));
        assert!(SlotModel { outage: Duration::MAX, ..plain() }.check().unwrap_err().contains("outage"));
    }
}

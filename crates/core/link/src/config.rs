//! Configuration of a link, as written in an experiment file.

use serde::{Deserialize, Serialize};
use units::{Bytes, Duration, Rate, Rng, Time};

use crate::aqm::Aqm;
use crate::bursts::Bursts;
use crate::delay::{Latest, Propagation, Reorder};
use crate::jitter::{Jitter, JitterOrder};
use crate::limit::{Capacity, Limit, LimitCounts};
use crate::rate::RateModel;
use crate::steps::{Stepper, Steps};

/// Interval in which a link drops every arriving packet: start (included) and end (excluded).
pub type Blackhole = (Time, Time);

/// Configuration of a link, as written in an experiment file. Only the rate is required; other
/// elements are absent by default.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct LinkConfig {
    /// Rate of the link, possibly changing over time.
    pub rate: RateModel,
    /// Depth of the token bucket, which is full at the start. 0 (default) is a plain serialiser. A
    /// packet larger than the bucket waits for the tokens it lacks.
    #[serde(default)]
    pub burst: Bytes,
    /// Limit of the queue; default unlimited.
    #[serde(default = "LinkConfig::default_limit")]
    pub limit: Limit,
    /// Later limits of the queue; default none. A smaller limit drops no packet that waits: it
    /// refuses arriving packets until they fit.
    #[serde(default, skip_serializing_if = "Steps::is_empty")]
    pub limit_steps: Steps<Limit>,
    /// Packets that count towards the limit; default those in the queue. Other choices need
    /// drop-tail.
    #[serde(default)]
    pub limit_counts: LimitCounts,
    /// Queue management; default drop-tail.
    #[serde(default)]
    pub aqm: Aqm,
    /// Clears the ECN field of every packet before the queue; default no.
    #[serde(default)]
    pub bleach: bool,
    /// One-way propagation delay; default none.
    #[serde(default)]
    pub delay: Duration,
    /// Later delays, for packets that depart from then on; default none. Packets in propagation
    /// keep theirs, and order is kept.
    #[serde(default, skip_serializing_if = "Steps::is_empty")]
    pub delay_steps: Steps<Duration>,
    /// Upper end of the extra delay, uniform from 0; default none.
    #[serde(default)]
    pub jitter: Duration,
    /// Correlation of the extra delays of successive packets, from 0 (default) to below 1.
    #[serde(default)]
    pub jitter_correlation: f64,
    /// Packets that keep their order; default all of the link.
    #[serde(default)]
    pub jitter_order: JitterOrder,
    /// Packets that deliberately arrive early; default none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reorder: Option<Reorder>,
    /// Largest packet, in bytes as [`crate::Packet::size`] counts them; default unlimited. Larger
    /// packets are dropped before the queue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mtu: Option<Bytes>,
    /// Later sizes of the largest packet, for packets that arrive from then on; default none.
    #[serde(default, skip_serializing_if = "Steps::is_empty")]
    pub mtu_steps: Steps<Bytes>,
    /// Probability, 0 to 1, that a packet is lost before the queue; default 0.
    #[serde(default)]
    pub loss: f64,
    /// Losses in bursts before the queue; default none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bursts: Option<Bursts>,
    /// Packets that are lost before the queue, by their number in order of arrival, from 1; default
    /// none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub drop: Vec<u64>,
    /// Intervals in which every packet is lost before the queue; default none.
    #[serde(default, skip_serializing_if = "Vec::is_empty", with = "spans")]
    pub blackhole: Vec<Blackhole>,
    /// Probability, 0 to 1, that a packet admitted to the queue is delivered damaged; default 0.
    #[serde(default)]
    pub corrupt: f64,
    /// Probability, 0 to 1, that a packet admitted to the queue is delivered twice; default 0.
    #[serde(default)]
    pub duplicate: f64,
}

/// Intervals as written in files: pairs of times since the start.
mod spans {
    use serde::{Deserialize, Deserializer, Serializer};
    use units::{Duration, Time};

    use super::Blackhole;

    pub(super) fn serialize<S: Serializer>(spans: &[Blackhole], to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(spans.iter().map(|(from, until)| (*from - Time::ZERO, *until - Time::ZERO)))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Blackhole>, D::Error> {
        let spans = Vec::<(Duration, Duration)>::deserialize(from)?;
        Ok(spans.into_iter().map(|(from, until)| (Time::ZERO + from, Time::ZERO + until)).collect())
    }
}

/// Returns the random stream that draws a link's slots or backoffs.
pub(crate) fn slots_stream(seed: u64, name: &str) -> Rng {
    Rng::stream(seed, &format!("{name}.slots"))
}

impl LinkConfig {
    /// Returns a serialiser at a constant rate with an unlimited queue and no delay.
    pub fn plain(rate: Rate) -> Self {
        Self {
            rate: RateModel::Constant(rate),
            burst: Bytes(0),
            limit: Limit::Unlimited,
            limit_steps: Steps::default(),
            limit_counts: LimitCounts::Queue,
            aqm: Aqm::default(),
            bleach: false,
            delay: Duration::ZERO,
            delay_steps: Steps::default(),
            jitter: Duration::ZERO,
            jitter_correlation: 0.0,
            jitter_order: JitterOrder::Link,
            reorder: None,
            mtu: None,
            mtu_steps: Steps::default(),
            loss: 0.0,
            bursts: None,
            drop: Vec::new(),
            blackhole: Vec::new(),
            corrupt: 0.0,
            duplicate: 0.0,
        }
    }

    /// Checks that all values are in range. [`crate::Link::new`] itself accepts anything and never
    /// panics.
    ///
    /// # Errors
    /// Returns the first rule that does not hold, with the name of its key.
    pub fn check(&self) -> Result<(), String> {
        for (key, value) in [("loss", self.loss), ("corrupt", self.corrupt), ("duplicate", self.duplicate)] {
            if !(0.0..=1.0).contains(&value) {
                return Err(format!("`{key}` is {value}, but must be a probability from 0 to 1"));
            }
        }
        if !(0.0..1.0).contains(&self.jitter_correlation) {
            let wrong = self.jitter_correlation;
            return Err(format!("`jitter-correlation` is {wrong}, but must be from 0 to below 1"));
        }
        self.bursts.map_or(Ok(()), |bursts| bursts.check())?;
        if self.drop.contains(&0) {
            return Err("`drop` contains 0, but packets are numbered from 1".to_owned());
        }
        if let Some((from, until)) = self.blackhole.iter().find(|(from, until)| from >= until) {
            let (from, until) = (*from - Time::ZERO, *until - Time::ZERO);
            return Err(format!(
                "`blackhole` must end after it begins; it begins at {from} and ends at {until}"
            ));
        }
        match self.reorder {
            Some(Reorder { every: 0, .. }) => {
                return Err("`reorder.every` is 0, but must be at least 1".to_owned());
            }
            Some(Reorder { by, .. }) if by > self.min_delay() => {
                return Err(format!("`reorder.by` is {by}, more than the `delay` of {}", self.min_delay()));
            }
            _ => {}
        }
        if self.burst > Bytes(0) && self.rate.is_gated() {
            return Err("a token bucket has no meaning for chances to deliver or aggregates; remove `burst` or `policer`"
                .to_owned());
        }
        self.check_aqm()?;
        self.delay_steps.check("delay")?;
        self.limit_steps.check("queue")?;
        self.mtu_steps.check("mtu")?;
        self.rate.check()
    }

    /// Returns the share of packets that are lost at random in the long run, single or in bursts.
    pub fn mean_loss(&self) -> f64 {
        let in_bursts = self.bursts.map_or(0.0, |bursts| bursts.mean_loss());
        self.loss + in_bursts - self.loss * in_bursts
    }

    /// Returns the shortest propagation delay that the link ever has.
    fn min_delay(&self) -> Duration {
        self.delay_steps.values(self.delay).fold(self.delay, Duration::min)
    }

    /// Returns the limit of the queue over time.
    pub(crate) fn capacity(&self) -> Stepper<Capacity> {
        Stepper::new(self.limit.into(), self.limit_steps.map(Capacity::from))
    }

    /// Returns the bytes that the link could carry between these times. `seed` and `name` are those
    /// of [`crate::Link::new`]. Aggregates count with their rate for full packets that always wait.
    pub fn capacity_between(&self, [from, to]: [Time; 2], seed: u64, name: &str) -> f64 {
        self.rate.capacity(from, to, slots_stream(seed, name))
    }

    /// Creates the element behind the server.
    pub(crate) fn propagation(&self, rng: Rng) -> Propagation {
        let by = |r: Reorder| r.by.min(self.min_delay());
        let reorder = self.reorder.filter(|r| r.every > 0).map(|r| Reorder { by: by(r), ..r });
        let delay = Stepper::new(self.delay, self.delay_steps.clone());
        let jitter = Jitter::new(self.jitter, self.jitter_correlation, rng);
        Propagation::new(delay, jitter, Latest::new(self.jitter_order), reorder)
    }

    fn check_aqm(&self) -> Result<(), String> {
        if self.limit_counts == LimitCounts::QueueAndDelay && !matches!(self.aqm, Aqm::DropTail(_)) {
            let name = self.aqm.name();
            return Err(format!(
                "`limit-counts` is \"queue+delay\", which works only with drop-tail, not with {name}"
            ));
        }
        if !self.limit_steps.is_empty() && self.aqm.is_part_of_limit() {
            return Err("`min` and `max` in % need a constant limit, but `queue` has steps; write them in packets or bytes"
                .to_owned());
        }
        self.aqm.check(self.limit)
    }

    fn default_limit() -> Limit {
        Limit::Unlimited
    }
}

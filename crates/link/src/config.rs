//! A link in the words of an experiment file.

use serde::{Deserialize, Serialize};
use units::{Bytes, Duration, Rate, Rng, Time};

use crate::aqm::Aqm;
use crate::delay::{Propagation, Reorder};
use crate::limit::{Capacity, Limit, LimitCounts};
use crate::rate::RateModel;
use crate::steps::{Stepper, Steps};

/// A time during which a link swallows all that arrives: from the first to before the second.
pub type Blackhole = (Time, Time);

/// A link in the words of an experiment file. Only the rate is required; what is left out is not there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct LinkConfig {
    /// How fast, and when.
    pub rate: RateModel,
    /// Depth of the token bucket, initially full; 0 (default): a plain serialiser. At least a packet, or the packet
    /// waits for what the bucket lacks.
    #[serde(default)]
    pub burst: Bytes,
    /// What the queue may hold; default unlimited.
    #[serde(default = "LinkConfig::default_limit")]
    pub limit: Limit,
    /// What it may hold later; default the same. A smaller limit throws out nothing that waits: it refuses what comes
    /// until there is room.
    #[serde(default, skip_serializing_if = "Steps::is_empty")]
    pub limit_steps: Steps<Limit>,
    /// Which packets count towards the limit; default those in the queue. Others only with drop-tail.
    #[serde(default)]
    pub limit_counts: LimitCounts,
    /// The queue's management; default drop-tail.
    #[serde(default)]
    pub aqm: Aqm,
    /// Whether the ECN field of every packet is cleared before the queue; default no.
    #[serde(default)]
    pub bleach: bool,
    /// Propagation delay, one way; default none.
    #[serde(default)]
    pub delay: Duration,
    /// The delay of packets that depart later; default the same. Packets on their way keep theirs, and order is kept.
    #[serde(default, skip_serializing_if = "Steps::is_empty")]
    pub delay_steps: Steps<Duration>,
    /// Upper end of the uniform extra delay, which keeps order; default none.
    #[serde(default)]
    pub jitter: Duration,
    /// Packets that arrive early on purpose; default none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reorder: Option<Reorder>,
    /// Probability 0..=1 that a packet is lost before the queue; default 0.
    #[serde(default)]
    pub loss: f64,
    /// Packets that are lost before the queue, by their numbers in the order of arrival, from 1; default none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub drop: Vec<u64>,
    /// When all that arrives is lost before the queue; default never.
    #[serde(default, skip_serializing_if = "Vec::is_empty", with = "spans")]
    pub blackhole: Vec<Blackhole>,
    /// Probability 0..=1 that a packet that the queue takes is delivered damaged; default 0.
    #[serde(default)]
    pub corrupt: f64,
    /// Probability 0..=1 that it is delivered twice; default 0.
    #[serde(default)]
    pub duplicate: f64,
}

/// Spans of time as in files: pairs of times since the start.
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

impl LinkConfig {
    /// A serialiser at a constant rate with an unlimited queue and no delay.
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
            reorder: None,
            loss: 0.0,
            drop: Vec::new(),
            blackhole: Vec::new(),
            corrupt: 0.0,
            duplicate: 0.0,
        }
    }

    /// Says in words which value is out of range. [`crate::Link::new`] itself takes anything and never panics.
    ///
    /// # Errors
    /// The first rule that does not hold, with the key's name.
    pub fn check(&self) -> Result<(), String> {
        for (key, value) in [("loss", self.loss), ("corrupt", self.corrupt), ("duplicate", self.duplicate)] {
            if !(0.0..=1.0).contains(&value) {
                return Err(format!("`{key}` is {value}, not a probability from 0 to 1"));
            }
        }
        if self.drop.contains(&0) {
            return Err("`drop` has a 0; the first packet is number 1".to_owned());
        }
        if let Some((from, until)) = self.blackhole.iter().find(|(from, until)| from >= until) {
            let (from, until) = (*from - Time::ZERO, *until - Time::ZERO);
            return Err(format!("`blackhole` ends at {until}, not after its beginning at {from}"));
        }
        match self.reorder {
            Some(Reorder { every: 0, .. }) => return Err("`reorder.every` is 0, not at least 1".to_owned()),
            Some(Reorder { by, .. }) if by > self.least_delay() => {
                return Err(format!("`reorder.by` is {by}, more than the `delay` of {}", self.least_delay()));
            }
            _ => {}
        }
        self.check_aqm()?;
        self.delay_steps.check("delay")?;
        self.limit_steps.check("queue")?;
        self.rate.check()
    }

    /// The shortest propagation delay it ever has.
    fn least_delay(&self) -> Duration {
        self.delay_steps.values(self.delay).fold(self.delay, Duration::min)
    }

    /// What the queue may hold, at any time.
    pub(crate) fn capacity(&self) -> Stepper<Capacity> {
        Stepper::new(self.limit.into(), self.limit_steps.map(Capacity::from))
    }

    /// What is behind the server.
    pub(crate) fn propagation(&self, rng: Rng) -> Propagation {
        let by = |r: Reorder| r.by.min(self.least_delay());
        let reorder = self.reorder.filter(|r| r.every > 0).map(|r| Reorder { by: by(r), ..r });
        let delay = Stepper::new(self.delay, self.delay_steps.clone());
        Propagation::new(delay, self.jitter, reorder, rng)
    }

    fn check_aqm(&self) -> Result<(), String> {
        if self.limit_counts == LimitCounts::QueueAndDelay && !matches!(self.aqm, Aqm::DropTail(_)) {
            let name = self.aqm.name();
            return Err(format!("`limit-counts` is \"queue+delay\", which goes with drop-tail, not {name}"));
        }
        if !self.limit_steps.is_empty() && self.aqm.is_part_of_limit() {
            return Err("`min` and `max` in % are parts of one queue, and `queue` has steps; give them in packets or bytes"
                .to_owned());
        }
        self.aqm.check(self.limit)
    }

    fn default_limit() -> Limit {
        Limit::Unlimited
    }
}

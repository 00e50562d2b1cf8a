//! A link in the words of an experiment file.

use serde::{Deserialize, Serialize};
use units::{Bytes, Duration, Rate, Rng};

use crate::aqm::Aqm;
use crate::delay::{Propagation, Reorder};
use crate::limit::{Capacity, Limit, LimitCounts};
use crate::rate::RateModel;
use crate::steps::{Stepper, Steps};

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
        }
    }

    /// Says in words which value is out of range. [`crate::Link::new`] itself takes anything and never panics.
    ///
    /// # Errors
    /// The first rule that does not hold, with the key's name.
    pub fn check(&self) -> Result<(), String> {
        if !(0.0..=1.0).contains(&self.loss) {
            return Err(format!("`loss` is {}, not a probability from 0 to 1", self.loss));
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

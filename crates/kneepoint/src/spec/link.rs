//! A `[link]` table.

use congestion::{Bytes, Duration, Rate, Time};
use path::{Limit, LimitCounts, LinkConfig, RateModel, Reorder, SlotModel};

use crate::problem::Problem;
use crate::spec::aqm;
use crate::spec::cursor::{Cursor, Fields};
use crate::spec::merge::merge;
use crate::spec::node::Value;
use crate::spec::percent::Percent;
use crate::spec::queue::{self, Queue};

pub(crate) const KEYS: &[&str] =
    &["rate", "burst", "delay", "queue", "limit-counts", "aqm", "bleach", "jitter", "loss", "reorder"];

/// A packet at this rate takes 12 ns: the simulator's nanoseconds end here.
pub(crate) const MAX_RATE: Rate = Rate(1_000_000_000_000);

/// What a link's queue is measured by: who crosses it, with data or with feedback.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Traffic {
    /// The base RTT of the first flow of the file that does.
    pub(crate) rtt: Option<Duration>,
    /// The largest packet on the wire, bytes.
    pub(crate) packet: u32,
}

/// A link whose queue is not in bytes yet: that takes the flows' RTT and packet size.
#[derive(Clone, Debug)]
pub(crate) struct Link {
    /// All but the limit, and the management that may refer to it.
    pub(crate) config: LinkConfig,
    pub(crate) queue: Queue,
    /// The rate that BDP and buffer time refer to: the first step's, the slots' median.
    pub(crate) rate: Rate,
}

impl Link {
    /// From the keys of its table.
    pub(crate) fn read(fields: &Fields<'_>) -> Result<Self, Problem> {
        let rate_at = fields.need("rate", "the bottleneck's rate, like \"10 Mbit/s\"")?;
        let model = read_rate(&rate_at)?;
        let rate = nominal(&model);
        if rate == Rate(0) {
            return Err(rate_at.problem("the rate is 0", "a link needs a rate above 0, like \"10 Mbit/s\""));
        }
        if rate > MAX_RATE {
            return Err(rate_at.problem(format!("{rate} is beyond any link"), "at most 1000 Gbit/s"));
        }
        let config = LinkConfig {
            rate: model,
            burst: fields.read("burst")?.unwrap_or(Bytes(0)),
            limit: Limit::Unlimited,
            limit_counts: read_counts(fields.get("limit-counts").as_ref())?,
            delay: fields.read("delay")?.unwrap_or(Duration::ZERO),
            jitter: fields.read("jitter")?.unwrap_or(Duration::ZERO),
            bleach: fields.read("bleach")?.unwrap_or(false),
            ..LinkConfig::plain(rate)
        };
        config.check().map_err(|wrong| rate_at.problem(wrong, ""))?;
        let mut link = Self { config, queue: Queue::Limit(Limit::Unlimited), rate };
        link.read_loss(fields.get("loss").as_ref())?;
        link.read_reorder(fields.get("reorder").as_ref())?;
        link.queue = fields.read("queue")?.unwrap_or(link.queue);
        Ok(link)
    }

    /// With the queue and its management in the units of the traffic.
    pub(crate) fn resolve(&self, fields: &Fields<'_>, traffic: Traffic) -> Result<LinkConfig, Problem> {
        let mut config = self.config.clone();
        let packet = traffic.packet;
        config.limit = self.limit(fields, traffic.rtt)?;
        if queue::bytes(config.limit, packet).is_some_and(|bytes| bytes < u64::from(packet)) {
            let wrong = format!("a queue of {} drops every full packet", config.limit);
            let at = fields.need("queue", "")?;
            return Err(at.problem(wrong, format!("at least one packet of {packet} bytes must fit")));
        }
        if let Some(aqm_at) = fields.get("aqm") {
            config.aqm = aqm::read(&aqm_at, config.limit)?;
            config.check().map_err(|wrong| aqm_at.problem(wrong, ""))?;
        }
        Ok(config)
    }

    fn limit(&self, fields: &Fields<'_>, rtt: Option<Duration>) -> Result<Limit, Problem> {
        match (self.queue, rtt) {
            (Queue::Bdp(_), None) => {
                let right = "give the queue in bytes, packets or ms";
                let at = fields.need("queue", right)?;
                Err(at.problem("no flow crosses this link, so it has no BDP", right))
            }
            (queue, rtt) => Ok(queue.limit(self.rate, rtt.unwrap_or(Duration::ZERO))),
        }
    }

    fn read_loss(&mut self, cursor: Option<&Cursor<'_>>) -> Result<(), Problem> {
        let Some(cursor) = cursor else { return Ok(()) };
        self.config.loss = cursor.read::<Percent>()?.0 / 100.0;
        self.config
            .check()
            .map_err(|_| cursor.problem("a loss of more than 100 %", "from \"0 %\" to \"100 %\""))
    }

    fn read_reorder(&mut self, cursor: Option<&Cursor<'_>>) -> Result<(), Problem> {
        let Some(cursor) = cursor else { return Ok(()) };
        let right = "reorder is { every = 100, by = \"5 ms\" }";
        let fields = cursor.table(&["every", "by"])?;
        let every = fields.need("every", right)?.read()?;
        let by = fields.need("by", right)?.read()?;
        self.config.reorder = Some(Reorder { every, by });
        self.config.check().map_err(|wrong| cursor.problem(wrong, ""))
    }
}

fn read_counts(cursor: Option<&Cursor<'_>>) -> Result<LimitCounts, Problem> {
    let words = [("queue", LimitCounts::Queue), ("queue+delay", LimitCounts::QueueAndDelay)];
    cursor.map_or(Ok(LimitCounts::Queue), |c| c.word("way to count", &words))
}

/// A rate, steps or slots.
pub(crate) fn read_rate(cursor: &Cursor<'_>) -> Result<RateModel, Problem> {
    match &cursor.node().value {
        Value::Array(_) => read_steps(cursor),
        Value::Table(_) => read_slots(cursor),
        Value::Leaf(_) => cursor.read().map(RateModel::Constant),
    }
}

fn read_steps(cursor: &Cursor<'_>) -> Result<RateModel, Problem> {
    let mut steps = Vec::new();
    for step in cursor.filled_list()? {
        let [at, rate] = &step.list()?[..] else {
            return Err(
                step.problem("not a step", "a step is [\"30 s\", \"5 Mbit/s\"]: its time and its rate")
            );
        };
        steps.push((Time::ZERO + at.read()?, rate.read()?));
    }
    Ok(RateModel::Steps(steps))
}

fn read_slots(cursor: &Cursor<'_>) -> Result<RateModel, Problem> {
    // The median has no default; the number only stands in until the file's own is laid over it.
    let plain = SlotModel::plain(Rate(1_000_000));
    let check = |slots: &SlotModel| {
        LinkConfig { rate: RateModel::Slots(slots.clone()), ..LinkConfig::plain(Rate(1)) }.check()
    };
    let slots = merge(&plain, cursor, &[], check)?;
    if cursor.node().get("median").is_none() {
        return Err(
            cursor.problem("`median` is missing", "the median of the slots' rates, like \"20 Mbit/s\"")
        );
    }
    Ok(RateModel::Slots(slots))
}

fn nominal(model: &RateModel) -> Rate {
    match model {
        RateModel::Constant(rate) => *rate,
        RateModel::Steps(steps) => steps.first().map_or(Rate(0), |step| step.1),
        RateModel::Slots(slots) => slots.median,
    }
}

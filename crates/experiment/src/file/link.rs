//! A `[link]` table.

use link::{Limit, LimitCounts, LinkConfig, RateModel, Reorder, SlotModel, Steps};
use serde::de::DeserializeOwned;
use units::{Bytes, Duration, Rate, Time};

use crate::diagnostic::Diagnostic;
use crate::file::aqm;
use crate::file::cursor::{Cursor, Fields};
use crate::file::merge::merge;
use crate::file::node::Value;
use crate::file::queue::{self, Queue};
use crate::file::spans::spans;
use crate::file::tables::{self, known_keys};
use units::Percent;

known_keys!(KEYS: tables::network::Link<'static>);

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
    queue: Queue,
    /// What it becomes later.
    queue_steps: Steps<Queue>,
    /// The rate that BDP and buffer time refer to: the first step's, the slots' median.
    pub(crate) rate: Rate,
}

impl Link {
    /// From the keys of its table.
    pub(crate) fn read(fields: &Fields<'_>) -> Result<Self, Diagnostic> {
        let rate_at = fields.need("rate", "the bottleneck's rate, like \"10 Mbit/s\"")?;
        let model = read_rate(&rate_at)?;
        let rate = model.nominal();
        if rate == Rate(0) {
            return Err(rate_at.invalid("the rate is 0", "a link needs a rate above 0, like \"10 Mbit/s\""));
        }
        if rate > MAX_RATE {
            return Err(rate_at.invalid(format!("{rate} is beyond any link"), "at most 1000 Gbit/s"));
        }
        let (delay, delay_steps) = read_delay(fields)?;
        let config = LinkConfig {
            rate: model,
            burst: fields.read("burst")?.unwrap_or(Bytes(0)),
            limit: Limit::Unlimited,
            limit_counts: read_counts(fields.get("limit-counts").as_ref())?,
            delay,
            delay_steps,
            jitter: fields.read("jitter")?.unwrap_or(Duration::ZERO),
            bleach: fields.read("bleach")?.unwrap_or(false),
            ..LinkConfig::plain(rate)
        };
        config.check().map_err(|wrong| rate_at.problem(wrong, ""))?;
        let (queue, queue_steps) =
            read_changing(fields, "queue", "\"1 BDP\"", Queue::Limit(Limit::Unlimited))?;
        let mut link = Self { config, queue, queue_steps, rate };
        link.config.loss = share(fields, "loss")?;
        link.config.corrupt = share(fields, "corrupt")?;
        link.config.duplicate = share(fields, "duplicate")?;
        link.read_planned(fields)?;
        link.read_reorder(fields.get("reorder").as_ref())?;
        Ok(link)
    }

    /// With the queue and its management in the units of the traffic.
    pub(crate) fn resolve(&self, fields: &Fields<'_>, traffic: Traffic) -> Result<LinkConfig, Diagnostic> {
        let mut config = self.config.clone();
        let packet = traffic.packet;
        (config.limit, config.limit_steps) = self.limits(fields, traffic.rtt)?;
        let too_small = |limit: &Limit| queue::bytes(*limit, packet).is_some_and(|b| b < u64::from(packet));
        if let Some(limit) = config.limit_steps.values(config.limit).find(too_small) {
            let wrong = format!("a queue of {limit} drops every full packet");
            let at = fields.need("queue", "")?;
            return Err(at.problem(wrong, format!("at least one packet of {packet} bytes must fit")));
        }
        if let Some(aqm_at) = fields.get("aqm") {
            config.aqm = aqm::read(&aqm_at, config.limit)?;
            config.check().map_err(|wrong| aqm_at.problem(wrong, ""))?;
        }
        Ok(config)
    }

    /// A BDP is the same one in every step.
    fn limits(
        &self,
        fields: &Fields<'_>,
        rtt: Option<Duration>,
    ) -> Result<(Limit, Steps<Limit>), Diagnostic> {
        let in_bdp = self.queue_steps.values(self.queue).any(|queue| matches!(queue, Queue::Bdp(_)));
        if in_bdp && rtt.is_none() {
            let right = "give the queue in bytes, packets or ms";
            let at = fields.need("queue", right)?;
            return Err(at.problem("no flow crosses this link, so it has no BDP", right));
        }
        let limit = |queue: Queue| queue.limit(self.rate, rtt.unwrap_or(Duration::ZERO));
        Ok((limit(self.queue), self.queue_steps.map(limit)))
    }

    /// What is lost by number or for a while.
    fn read_planned(&mut self, fields: &Fields<'_>) -> Result<(), Diagnostic> {
        if let Some(cursor) = fields.get("blackhole") {
            self.config.blackhole = spans(&cursor, "blackhole")?;
        }
        for number in fields.get("drop").map_or(Ok(Vec::new()), |cursor| cursor.list())? {
            let packet: u64 = number.read()?;
            if packet == 0 {
                return Err(number.invalid("no packet has number 0", "the first that arrives is number 1"));
            }
            self.config.drop.push(packet);
        }
        Ok(())
    }

    fn read_reorder(&mut self, cursor: Option<&Cursor<'_>>) -> Result<(), Diagnostic> {
        let Some(cursor) = cursor else { return Ok(()) };
        let right = "reorder is { every = 100, by = \"5 ms\" }";
        let fields = cursor.table(&["every", "by"])?;
        let every = fields.need("every", right)?.read()?;
        let by = fields.need("by", right)?.read()?;
        self.config.reorder = Some(Reorder { every, by });
        self.config.check().map_err(|wrong| cursor.problem(wrong, ""))
    }
}

/// A probability; 0 where it is left out.
fn share(fields: &Fields<'_>, key: &str) -> Result<f64, Diagnostic> {
    let Some(cursor) = fields.get(key) else { return Ok(0.0) };
    let share = cursor.read::<Percent>()?.0 / 100.0;
    if share > 1.0 {
        let right = "from \"0 %\" to \"100 %\"";
        return Err(cursor.invalid("more than 100 %", right));
    }
    Ok(share)
}

fn read_counts(cursor: Option<&Cursor<'_>>) -> Result<LimitCounts, Diagnostic> {
    let words = [("queue", LimitCounts::Queue), ("queue+delay", LimitCounts::QueueAndDelay)];
    cursor.map_or(Ok(LimitCounts::Queue), |c| c.word("way to count", &words))
}

/// A rate, steps or slots.
pub(crate) fn read_rate(cursor: &Cursor<'_>) -> Result<RateModel, Diagnostic> {
    match &cursor.node().value {
        Value::Array(_) => read_rate_steps(cursor),
        Value::Table(_) => read_slots(cursor),
        Value::Leaf(_) | Value::Gone => cursor.read().map(RateModel::Constant),
    }
}

fn read_rate_steps(cursor: &Cursor<'_>) -> Result<RateModel, Diagnostic> {
    read_steps(cursor, "rate", "\"5 Mbit/s\"").map(RateModel::Steps)
}

/// Times and values; `key` and `like` say what is right.
fn read_steps<T: DeserializeOwned>(
    cursor: &Cursor<'_>,
    key: &str,
    like: &str,
) -> Result<Vec<(Time, T)>, Diagnostic> {
    let mut steps = Vec::new();
    for step in cursor.filled_list()? {
        let [at, value] = &step.list()?[..] else {
            let right = format!("a step is [\"30 s\", {like}]: its time and its {key}");
            return Err(step.invalid("not a step", right));
        };
        steps.push((Time::ZERO + at.read()?, value.read()?));
    }
    Ok(steps)
}

/// The propagation delay, and what it becomes; or half of `rtt`.
pub(crate) fn read_delay(fields: &Fields<'_>) -> Result<(Duration, Steps<Duration>), Diagnostic> {
    match (fields.get("rtt"), fields.get("delay")) {
        (Some(rtt), Some(_)) => {
            let wrong = "the link has a delay and an rtt";
            return Err(rtt.problem(wrong, "`rtt` is twice the delay: give one"));
        }
        (Some(rtt), None) => return Ok((rtt.read::<Duration>()? / 2, Steps::default())),
        (None, _) => {}
    }
    read_changing(fields, "delay", "\"80 ms\"", Duration::ZERO)
}

/// A value that may have steps: the first, which also holds before its time, and the later ones.
fn read_changing<T: DeserializeOwned + Copy>(
    fields: &Fields<'_>,
    key: &str,
    like: &str,
    default: T,
) -> Result<(T, Steps<T>), Diagnostic> {
    let Some(cursor) = fields.get(key) else { return Ok((default, Steps::default())) };
    if !matches!(cursor.node().value, Value::Array(_)) {
        return Ok((cursor.read()?, Steps::default()));
    }
    let mut steps = read_steps(&cursor, key, like)?;
    if !steps.is_sorted_by(|a, b| a.0 < b.0) {
        return Err(cursor.invalid(format!("the times of the steps of `{key}` do not rise"), ""));
    }
    let (_, first) = steps.remove(0);
    Ok((first, Steps(steps)))
}

fn read_slots(cursor: &Cursor<'_>) -> Result<RateModel, Diagnostic> {
    // The median has no default; the number only stands in until the file's own is laid over it.
    let plain = SlotModel::plain(Rate(1_000_000));
    let check = |slots: &SlotModel| {
        LinkConfig { rate: RateModel::Slots(slots.clone()), ..LinkConfig::plain(Rate(1)) }.check()
    };
    let slots = merge(&plain, cursor, &[], check)?;
    if cursor.node().get("median").is_none() {
        return Err(
            cursor.invalid("`median` is missing", "the median of the slots' rates, like \"20 Mbit/s\"")
        );
    }
    Ok(RateModel::Slots(slots))
}

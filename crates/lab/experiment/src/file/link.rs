//! Reads a `[link]` table.

use link::{Limit, LimitCounts, LinkConfig, Reorder, Steps};
use serde::de::DeserializeOwned;
use units::{Bytes, Duration, Rate};

use crate::diagnostic::Diagnostic;
use crate::file::aqm;
use crate::file::cursor::{Cursor, Fields};
use crate::file::node::Value;
use crate::file::queue::{self, Queue};
use crate::file::tables::{self, known_keys};
use crate::file::values::{self, MAX_RATE, spans};
use units::Percent;

known_keys!(KEYS: tables::network::Link<'static>);

/// Traffic on a link, which converts its queue limit to bytes. Includes data and feedback.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Traffic {
    /// Base RTT of the first flow in the file that crosses the link.
    pub(crate) rtt: Option<Duration>,
    /// Largest packet on the wire, in bytes.
    pub(crate) packet: u32,
}

/// A link whose queue is not yet converted to bytes, which needs the flows' RTT and packet size.
#[derive(Clone, Debug)]
pub(crate) struct Link {
    /// Everything except the limit, and the queue management, which may refer to the limit.
    pub(crate) config: LinkConfig,
    queue: Queue,
    /// Later steps of the queue.
    queue_steps: Steps<Queue>,
    /// Rate used for BDP and buffer time: the first step's, or the slots' median.
    pub(crate) rate: Rate,
}

impl Link {
    /// Reads a link from the keys of its table.
    pub(crate) fn read(fields: &Fields<'_>) -> Result<Self, Diagnostic> {
        let right = match fields.cursor().is_below("reverse") {
            true => "write the rate of the return link, like \"1 Mbit/s\"",
            false => "write the rate of the bottleneck, like \"10 Mbit/s\"",
        };
        let rate_at = fields.need("rate", right)?;
        let model = values::rate(&rate_at)?;
        let rate = model.nominal();
        if rate == Rate(0) {
            return Err(rate_at.invalid("the rate is 0", "must be above 0, like \"10 Mbit/s\""));
        }
        if rate > MAX_RATE {
            return Err(rate_at.invalid(format!("{rate} is too high"), "must be at most 1000 Gbit/s"));
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
        link.config.loss = read_probability(fields, "loss")?;
        link.config.corrupt = read_probability(fields, "corrupt")?;
        link.config.duplicate = read_probability(fields, "duplicate")?;
        link.read_planned(fields)?;
        link.read_reorder(fields.get("reorder").as_ref())?;
        Ok(link)
    }

    /// Converts the queue and its management to the units of the traffic.
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

    /// Returns the queue limits. All steps use the same BDP.
    fn limits(
        &self,
        fields: &Fields<'_>,
        rtt: Option<Duration>,
    ) -> Result<(Limit, Steps<Limit>), Diagnostic> {
        let in_bdp = self.queue_steps.values(self.queue).any(|queue| matches!(queue, Queue::Bdp(_)));
        if in_bdp && rtt.is_none() {
            let right = "write the queue in bytes, packets or ms";
            let at = fields.need("queue", right)?;
            return Err(at.problem("no flow crosses this link, so it has no BDP", right));
        }
        let limit = |queue: Queue| queue.limit(self.rate, rtt.unwrap_or(Duration::ZERO));
        Ok((limit(self.queue), self.queue_steps.map(limit)))
    }

    /// Reads planned losses: by packet number, or for a period.
    fn read_planned(&mut self, fields: &Fields<'_>) -> Result<(), Diagnostic> {
        if let Some(cursor) = fields.get("blackhole") {
            self.config.blackhole = values::in_run(&spans(&cursor, "blackhole")?);
        }
        for number in fields.get("drop").map_or(Ok(Vec::new()), |cursor| cursor.list())? {
            let packet: u64 = number.read().map_err(|_| {
                let wrong = format!("`{}` is not a packet number", number.node().to_toml());
                number.invalid(wrong, "write whole numbers, like [1, 7]")
            })?;
            if packet == 0 {
                return Err(number.invalid(
                    "packet number 0 does not exist",
                    "packets are counted from 1, in order of arrival",
                ));
            }
            self.config.drop.push(packet);
        }
        Ok(())
    }

    fn read_reorder(&mut self, cursor: Option<&Cursor<'_>>) -> Result<(), Diagnostic> {
        let Some(cursor) = cursor else { return Ok(()) };
        let right = "write reorder as { every = 100, by = \"5 ms\" }";
        let fields = cursor.table(&["every", "by"])?;
        let every = fields.need("every", right)?.read()?;
        let by = fields.need("by", right)?.read()?;
        self.config.reorder = Some(Reorder { every, by });
        self.config.check().map_err(|wrong| cursor.problem(wrong, ""))
    }
}

/// Reads a probability, 0 if absent.
fn read_probability(fields: &Fields<'_>, key: &str) -> Result<f64, Diagnostic> {
    let Some(cursor) = fields.get(key) else { return Ok(0.0) };
    let share = cursor.read::<Percent>()?.0 / 100.0;
    if share > 1.0 {
        let right = "must be between \"0 %\" and \"100 %\"";
        return Err(cursor.invalid("above 100 %", right));
    }
    Ok(share)
}

fn read_counts(cursor: Option<&Cursor<'_>>) -> Result<LimitCounts, Diagnostic> {
    let words = [("queue", LimitCounts::Queue), ("queue+delay", LimitCounts::QueueAndDelay)];
    cursor.map_or(Ok(LimitCounts::Queue), |c| c.word("counting mode", &words))
}

/// Reads the propagation delay and its later steps, or half of `rtt`.
pub(crate) fn read_delay(fields: &Fields<'_>) -> Result<(Duration, Steps<Duration>), Diagnostic> {
    match (fields.get("rtt"), fields.get("delay")) {
        (Some(rtt), Some(_)) => {
            let wrong = "`rtt` and `delay` cannot be combined";
            return Err(rtt.problem(wrong, "remove one of them; `rtt` is twice the delay"));
        }
        (Some(rtt), None) => return Ok((rtt.read::<Duration>()? / 2, Steps::default())),
        (None, _) => {}
    }
    read_changing(fields, "delay", "\"80 ms\"", Duration::ZERO)
}

/// Reads a value that may have steps. Returns the first value, which also applies before its time,
/// and the later steps.
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
    let mut steps = values::steps(&cursor, key, like)?;
    if !steps.is_sorted_by(|a, b| a.0 < b.0) {
        return Err(cursor.invalid(format!("the times of the steps of `{key}` must increase"), ""));
    }
    let (_, first) = steps.remove(0);
    Ok((first, Steps(steps)))
}

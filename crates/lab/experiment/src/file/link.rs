//! Reads a `[link]` table.

use link::{Aqm, Limit, LimitCounts, LinkConfig, Steps};
use recovery::BASE_DATAGRAM;
use units::{Duration, Rate};

use crate::diagnostic::Diagnostic;
use crate::file::aqm;
use crate::file::cursor::Fields;
use crate::file::queue::{self, Queue};
use crate::file::tables::network::Link;
use crate::file::values::{self, Changing};

/// Traffic on a link, which converts its queue limit to bytes. Includes data and feedback.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Traffic {
    /// Base RTT of the first flow in the file that crosses the link.
    pub(crate) rtt: Option<Duration>,
    /// Largest packet on the wire, in bytes.
    pub(crate) packet: u32,
    /// Largest packet on the wire before any search for a larger one, in bytes.
    pub(crate) first: u32,
}

impl Link {
    /// Reads a link. [`Link::resolve`] converts its queue to bytes.
    pub(crate) fn read_whole(fields: &Fields<'_>) -> Result<Self, Diagnostic> {
        let right = match fields.cursor().is_below("reverse") {
            true => "write the rate of the return link, like \"1 Mbit/s\"",
            false => "write the rate of the bottleneck, like \"10 Mbit/s\"",
        };
        let rate_at = fields.need("rate", right)?;
        let link = Self { delay: read_delay(fields)?, ..Self::read(fields)? }.policed(fields)?;
        let config = link.config();
        let ordered = LinkConfig { reorder: None, ..config.clone() };
        ordered.check().map_err(|wrong| rate_at.problem(wrong, ""))?;
        config.check().map_err(|wrong| fields.at("reorder").problem(wrong, ""))?;
        Ok(link)
    }

    /// Replaces a policer by its bucket and a queue of nothing.
    fn policed(self, fields: &Fields<'_>) -> Result<Self, Diagnostic> {
        let Some((at, bucket)) = fields.get("policer").zip(self.policer) else { return Ok(self) };
        if let Some(key) =
            ["burst", "queue", "limit-counts", "aqm"].iter().find(|key| fields.get(key).is_some())
        {
            let wrong = format!("`policer` and `{key}` cannot be combined");
            return Err(at.problem(wrong, "remove one of them; a policer is a bucket without a queue"));
        }
        let queue = Changing::Never(Queue::Limit(Limit::Packets(0)));
        Ok(Self { policer: None, burst: bucket, queue, ..self })
    }

    /// Returns the rate used for BDP and buffer time: the first step's above 0, the slots' median,
    /// or the trace's mean.
    pub(crate) fn nominal_rate(&self) -> Rate {
        self.rate.nominal()
    }

    /// Returns the link without its limit, and without the queue management, which may refer to the
    /// limit.
    fn config(&self) -> LinkConfig {
        let share = |share: Option<values::Share>| share.map_or(0.0, |share| share.0);
        let (loss, bursts) = self.loss.config();
        let jitter = self.jitter.table();
        LinkConfig {
            rate: self.rate.clone(),
            burst: self.burst,
            limit_counts: self.limit_counts,
            bleach: self.bleach,
            delay: self.delay.first(),
            delay_steps: self.delay.later(),
            jitter: jitter.up_to,
            jitter_correlation: jitter.correlation.0,
            jitter_order: jitter.order,
            reorder: self.reorder,
            mtu: self.mtu.as_ref().map(Changing::first),
            mtu_steps: self.mtu.as_ref().map(Changing::later).unwrap_or_default(),
            loss,
            bursts,
            drop: self.drop.clone(),
            blackhole: values::in_run(&self.blackhole),
            corrupt: share(self.corrupt),
            duplicate: share(self.duplicate),
            ..LinkConfig::plain(self.nominal_rate())
        }
    }

    /// Converts the queue and its management to the units of the traffic.
    pub(crate) fn resolve(
        &self,
        fields: &Fields<'_>,
        traffic: Traffic,
    ) -> Result<(Self, LinkConfig), Diagnostic> {
        let (mut link, mut config) = (self.clone(), self.config());
        let limits = self.limits(fields, traffic.rtt)?;
        link.queue = limits.map(Queue::Limit);
        (config.limit, config.limit_steps) = (limits.first(), limits.later());
        if let Some(aqm_at) = fields.get("aqm") {
            link.aqm = aqm::read(&aqm_at, config.limit)?;
            config.aqm = link.aqm.clone();
            config.check().map_err(|wrong| aqm_at.problem(wrong, ""))?;
        }
        Ok((link, config))
    }

    /// Refuses an MTU, or a queue, once resolved, that no full packet fits into.
    pub(crate) fn check_room(
        &self,
        fields: &Fields<'_>,
        config: &LinkConfig,
        Traffic { packet, first, .. }: Traffic,
    ) -> Result<(), Diagnostic> {
        if let Some(mtu) = config.mtu.filter(|mtu| mtu.0 < first.into()) {
            let right = format!(
                "at least one packet of {first} bytes must pass; write a smaller `packet.datagram`, or `recovery.mtu-search = true`, \
                 which begins at {BASE_DATAGRAM} bytes and the overhead"
            );
            return Err(fields
                .at("mtu")
                .problem(format!("an MTU of {} bytes drops every full packet", mtu.0), right));
        }
        let polices = u64::from(packet) <= self.burst.0 && self.limit_counts == LimitCounts::Queue;
        if polices && config.aqm == Aqm::default() {
            return Ok(());
        }
        let too_small = |limit: &Limit| queue::bytes(*limit, packet).is_some_and(|b| b < u64::from(packet));
        let Some(limit) = config.limit_steps.values(config.limit).find(too_small) else { return Ok(()) };
        if let Some(at) = fields.get("policer") {
            let wrong = format!("a bucket of {} drops every full packet", self.burst);
            return Err(at.problem(wrong, format!("it must hold at least one packet of {packet} bytes")));
        }
        let right = format!(
            "at least one packet of {packet} bytes must fit, or write a policer, like policer = \"32 kB\""
        );
        Err(fields.at("queue").problem(format!("a queue of {limit} drops every full packet"), right))
    }

    /// Returns the queue limits. All steps use the same BDP.
    fn limits(&self, fields: &Fields<'_>, rtt: Option<Duration>) -> Result<Changing<Limit>, Diagnostic> {
        let later: Steps<Queue> = self.queue.later();
        let in_bdp = later.values(self.queue.first()).any(|queue| matches!(queue, Queue::Bdp(_)));
        if in_bdp && rtt.is_none() {
            let right = "write the queue in bytes, packets or ms";
            let at = fields.need("queue", right)?;
            return Err(at.problem("no flow crosses this link, so it has no BDP", right));
        }
        Ok(self.queue.map(|queue| queue.limit(self.nominal_rate(), rtt.unwrap_or(Duration::ZERO))))
    }
}

/// Reads the propagation delay, or half of `rtt`.
pub(crate) fn read_delay(fields: &Fields<'_>) -> Result<Changing<Duration>, Diagnostic> {
    match (fields.get("rtt"), fields.get("delay")) {
        (Some(rtt), Some(_)) => {
            let wrong = "`rtt` and `delay` cannot be combined";
            Err(rtt.problem(wrong, "remove one of them; `rtt` is twice the delay"))
        }
        (Some(rtt), None) if rtt.list().is_ok() => {
            Err(rtt.invalid("`rtt` cannot have steps", "write `delay` in steps, each half of the RTT"))
        }
        (Some(rtt), None) => Ok(Changing::Never(rtt.read::<Duration>()? / 2)),
        (None, Some(delay)) => values::changing(&delay, "delay", "\"80 ms\""),
        (None, None) => Ok(Changing::Never(Duration::ZERO)),
    }
}

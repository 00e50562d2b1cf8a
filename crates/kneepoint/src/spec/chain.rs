//! The links of a file: one `[link]`, or several `[[link]]` in a row, each with a name; and routes along them.

use congestion::{Duration, Rate};
use path::{Limit, LinkConfig};
use sim::Route;

use crate::problem::Problem;
use crate::spec::cursor::{Cursor, Fields};
use crate::spec::flow::Flow;
use crate::spec::link::{self, Link};
use crate::spec::node::Value;
use crate::spec::queue::Queue;
use crate::spec::{aqm, queue};

/// More links in a row than this are none that anybody means.
const MAX_LINKS: usize = 1000;

/// Links whose queues are not in bytes yet, in order.
pub(crate) struct Chain<'a> {
    links: Vec<(Fields<'a>, Link)>,
    /// None for `[link]`.
    names: Vec<String>,
}

impl<'a> Chain<'a> {
    /// `root` are the keys of the whole file.
    pub(crate) fn read(root: &Fields<'a>) -> Result<Self, Problem> {
        let at = root.need("link", "the bottleneck: [link] with its rate, delay and queue")?;
        if !matches!(at.node().value, Value::Array(_)) {
            let fields = at.table(link::KEYS)?;
            let link = Link::read(&fields)?;
            return Ok(Self { links: vec![(fields, link)], names: Vec::new() });
        }
        let keys: Vec<&str> = std::iter::once("name").chain(link::KEYS.iter().copied()).collect();
        let mut chain = Self { links: Vec::new(), names: Vec::new() };
        for table in at.filled_list()? {
            let fields = table.table(&keys)?;
            chain.names.push(chain.read_name(&fields)?);
            let link = Link::read(&fields)?;
            chain.links.push((fields, link));
        }
        match chain.links.len() {
            n if n > MAX_LINKS => Err(at.problem(format!("{n} links"), format!("at most {MAX_LINKS}"))),
            _ => Ok(chain),
        }
    }

    fn read_name(&self, fields: &Fields<'a>) -> Result<String, Problem> {
        let at = fields.need("name", "what routes call the link, like \"left\"")?;
        let name: String = at.read()?;
        match self.names.contains(&name) {
            true => Err(at.problem(format!("a second link `{name}`"), "give each a name of its own")),
            false => Ok(name),
        }
    }

    /// Where a table's `route` goes; without one, along the whole chain.
    pub(crate) fn route(&self, table: &Fields<'_>) -> Result<Route, Problem> {
        let Some(at) = table.get("route") else {
            return Ok(Route { first: 0, last: (self.links.len() - 1) as u16 });
        };
        if self.names.is_empty() {
            return Err(at.problem("the one [link] has no name", "a route is along links of [[link]]"));
        }
        let links = at.filled_list()?.iter().map(|c| self.number(c)).collect::<Result<Vec<_>, _>>()?;
        if let Some(gap) = links.windows(2).find(|pair| pair[1] != pair[0] + 1) {
            let wrong = format!("`{}` does not come next after `{}`", self.names[gap[1]], self.names[gap[0]]);
            let right = format!("neighbours in the order of the links: {}", self.names.join(", "));
            return Err(at.problem(wrong, right));
        }
        Ok(Route { first: links[0] as u16, last: links[links.len() - 1] as u16 })
    }

    fn number(&self, at: &Cursor<'_>) -> Result<usize, Problem> {
        let name: String = at.read()?;
        let known = || self.names.iter().map(String::as_str);
        known().position(|n| n == name).ok_or_else(|| at.unknown("link", &name, known()))
    }

    /// The propagation delay of a route.
    pub(crate) fn delay(&self, route: Route) -> Duration {
        let links = self.links.iter().enumerate().filter(|(i, _)| route.crosses(*i));
        links.fold(Duration::ZERO, |sum, (_, (_, link))| sum + link.config.delay)
    }

    /// The names, none for one `[link]`.
    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }

    /// Puts queues and their management into the units of the flows: the base RTT of the first that crosses a link, and
    /// the largest packet.
    pub(crate) fn resolve(&self, flows: &[Flow]) -> Result<Vec<LinkConfig>, Problem> {
        let packet = flows.iter().map(Flow::wire_bytes).max().unwrap_or(0);
        let links = self.links.iter().enumerate();
        let resolved = links.map(|(i, (fields, link))| {
            let first = flows.iter().find(|flow| flow.route.crosses(i));
            resolve(fields, link, first.map(|flow| flow.rtt), packet)
        });
        resolved.collect()
    }

    /// The usable buffer in time, if there is one link. In a row of them there is no one buffer.
    pub(crate) fn buffer(&self, configs: &[LinkConfig], packet: u32) -> Option<Duration> {
        let ([(_, Link { rate, .. })], [config]) = (&self.links[..], configs) else { return None };
        queue::in_time(config.limit, config.limit_counts, *rate, config.delay, packet)
    }
}

/// The same for one link, whose BDP is that of `rtt`.
pub(crate) fn resolve(
    fields: &Fields<'_>,
    link: &Link,
    rtt: Option<Duration>,
    packet: u32,
) -> Result<LinkConfig, Problem> {
    let mut config = link.config.clone();
    config.limit = limit(fields, link.queue, link.rate, rtt)?;
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

fn limit(fields: &Fields<'_>, queue: Queue, rate: Rate, rtt: Option<Duration>) -> Result<Limit, Problem> {
    match (queue, rtt) {
        (Queue::Bdp(_), None) => {
            let right = "give the queue in bytes, packets or ms";
            Err(fields.need("queue", right)?.problem("no flow crosses this link, so it has no BDP", right))
        }
        (_, rtt) => Ok(queue.limit(rate, rtt.unwrap_or(Duration::ZERO))),
    }
}

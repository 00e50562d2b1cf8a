//! The links of one direction: one `[link]`, or several `[[link]]` in a row, each with a name; and routes along them.
//! `[reverse]` is the same for the way back.

use ::link::LinkConfig;
use scenario::Route;
use units::Duration;

use crate::diagnostic::Diagnostic;
use crate::file::cursor::{Cursor, Fields};
use crate::file::link::{self, Link, Traffic};
use crate::file::node::Value;
use crate::file::queue;

/// More links in a row than this are none that anybody means.
const MAX_LINKS: usize = 1000;

/// Links whose queues are not in bytes yet, in order.
pub(crate) struct Chain<'a> {
    /// `link` or `reverse`.
    key: &'static str,
    /// The number of its first link among those of both directions.
    first: usize,
    links: Vec<(Fields<'a>, Link)>,
    /// None for `[link]`.
    names: Vec<String>,
}

/// Of the one `[link]`, which has no name.
pub(crate) fn keys_of_one() -> Vec<&'static str> {
    link::KEYS.iter().copied().filter(|key| *key != "name").collect()
}

impl<'a> Chain<'a> {
    /// Links whose table or tables stand at the cursor.
    pub(crate) fn read(key: &'static str, first: usize, at: &Cursor<'a>) -> Result<Self, Diagnostic> {
        if !matches!(at.node().value, Value::Array(_)) {
            let fields = at.table(&keys_of_one())?;
            let link = Link::read(&fields)?;
            return Ok(Self { key, first, links: vec![(fields, link)], names: Vec::new() });
        }
        let mut chain = Self { key, first, links: Vec::new(), names: Vec::new() };
        for table in at.filled_list()? {
            let fields = table.table(&link::KEYS)?;
            chain.names.push(chain.read_name(&fields)?);
            let link = Link::read(&fields)?;
            chain.links.push((fields, link));
        }
        match chain.links.len() {
            n if n > MAX_LINKS => Err(at.problem(format!("{n} links"), format!("at most {MAX_LINKS}"))),
            _ => Ok(chain),
        }
    }

    fn read_name(&self, fields: &Fields<'a>) -> Result<String, Diagnostic> {
        let at = fields.need("name", "what routes call the link, like \"left\"")?;
        let name: String = at.read()?;
        match self.names.contains(&name) {
            true => Err(second(&at, &name)),
            false => Ok(name),
        }
    }

    /// Refuses a name that a link of the other direction has too.
    pub(crate) fn check_names(&self, taken: &[String]) -> Result<(), Diagnostic> {
        for ((fields, _), name) in self.links.iter().zip(self.names()) {
            if taken.contains(&name) {
                return Err(second(&fields.get("name").unwrap_or_else(|| fields.cursor().clone()), &name));
            }
        }
        Ok(())
    }

    /// The number of the link behind its last.
    pub(crate) fn end(&self) -> usize {
        self.first + self.links.len()
    }

    /// Where a table's route goes; without one, along the whole chain.
    pub(crate) fn route(&self, at: Option<Cursor<'_>>) -> Result<Route, Diagnostic> {
        let route = |first: usize, last: usize| Route {
            first: (self.first + first) as u16,
            last: (self.first + last) as u16,
        };
        let Some(at) = at else { return Ok(route(0, self.links.len() - 1)) };
        let key = self.key;
        if self.names.is_empty() {
            let right = format!("a route is along links of [[{key}]]");
            return Err(at.problem(format!("the one [{key}] has no name"), right));
        }
        let links = at.filled_list()?.iter().map(|c| self.number(c)).collect::<Result<Vec<_>, _>>()?;
        if let Some(gap) = links.windows(2).find(|pair| pair[1] != pair[0] + 1) {
            let wrong = format!("`{}` does not come next after `{}`", self.names[gap[1]], self.names[gap[0]]);
            let right = format!("neighbours in the order of the links: {}", self.names.join(", "));
            return Err(at.problem(wrong, right));
        }
        Ok(route(links[0], links[links.len() - 1]))
    }

    fn number(&self, at: &Cursor<'_>) -> Result<usize, Diagnostic> {
        let name: String = at.read()?;
        let known = || self.names.iter().map(String::as_str);
        known().position(|n| n == name).ok_or_else(|| at.unknown_name("link", &name, known()))
    }

    /// The propagation delay of a route; that of the first steps.
    pub(crate) fn delay(&self, route: Route) -> Duration {
        let links = (self.first..).zip(&self.links).filter(|(i, _)| route.crosses(*i));
        links.fold(Duration::ZERO, |sum, (_, (_, link))| sum + link.config.delay)
    }

    /// The names of `[[link]]`; the one `[link]` has none, the one `[reverse]` is called so.
    pub(crate) fn names(&self) -> Vec<String> {
        match self.is_named() {
            false if self.key == "reverse" => vec![self.key.to_owned()],
            _ => self.names.clone(),
        }
    }

    /// Written `[[link]]`.
    pub(crate) fn is_named(&self) -> bool {
        !self.names.is_empty()
    }

    /// Puts queues and their management into the units of those that cross the links.
    pub(crate) fn resolve(&self, traffic: impl Fn(usize) -> Traffic) -> Result<Vec<LinkConfig>, Diagnostic> {
        let links = (self.first..).zip(&self.links);
        links.map(|(i, (fields, link))| link.resolve(fields, traffic(i))).collect()
    }

    /// The usable buffer in time, if there is one link. In a row of them, or with steps, there is no one buffer.
    pub(crate) fn buffer(&self, configs: &[LinkConfig], packet: u32) -> Option<Duration> {
        let ([(_, Link { rate, .. })], [config]) = (&self.links[..], configs) else { return None };
        if !config.limit_steps.is_empty() {
            return None;
        }
        queue::in_time(config.limit, config.limit_counts, *rate, config.delay, packet)
    }
}

fn second(at: &Cursor<'_>, name: &str) -> Diagnostic {
    at.problem(format!("a second link `{name}`"), "give each a name of its own")
}

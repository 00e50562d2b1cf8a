//! The links of one direction, and routes along them: one `[link]`, or several `[[link]]` in a row,
//! each with a name. `[reverse]` does the same for the return path.

use ::link::LinkConfig;
use scenario::Route;
use units::Duration;

use crate::diagnostic::Diagnostic;
use crate::file::cursor::{Cursor, Fields};
use crate::file::link::Traffic;
use crate::file::node::Value;
use crate::file::queue;
use crate::file::tables::network::{Link, Links};

/// Most links in a row.
const MAX_LINKS: usize = 1000;

/// The links in order, with queues not yet converted to bytes.
pub(crate) struct Chain<'a> {
    /// The key, `link` or `reverse`.
    key: &'static str,
    /// Number of its first link, counted over both directions.
    first: usize,
    links: Vec<(Fields<'a>, Link)>,
    /// Names of the links, empty for a single `[link]`.
    names: Vec<String>,
}

/// Returns the keys of a single `[link]`, which has no name.
pub(crate) fn unnamed_keys() -> Vec<&'static str> {
    Link::known().iter().copied().filter(|key| *key != "name").collect()
}

impl<'a> Chain<'a> {
    /// Reads the table or tables at the cursor.
    pub(crate) fn read(key: &'static str, first: usize, at: &Cursor<'a>) -> Result<Self, Diagnostic> {
        if !matches!(at.node().value, Value::Array(_)) {
            let fields = at.table(&unnamed_keys())?;
            let link = Link::read_whole(&fields)?;
            return Ok(Self { key, first, links: vec![(fields, link)], names: Vec::new() });
        }
        let mut chain = Self { key, first, links: Vec::new(), names: Vec::new() };
        for table in at.filled_list()? {
            let fields = table.table(Link::known())?;
            chain.names.push(chain.read_name(&fields)?);
            let link = Link::read_whole(&fields)?;
            chain.links.push((fields, link));
        }
        match chain.links.len() {
            n if n > MAX_LINKS => {
                Err(at.problem(format!("{n} links are too many"), format!("at most {MAX_LINKS}")))
            }
            _ => Ok(chain),
        }
    }

    fn read_name(&self, fields: &Fields<'a>) -> Result<String, Diagnostic> {
        let at = fields.need("name", "write the link's name in routes, like \"left\"")?;
        let name: String = at.read()?;
        match self.names.contains(&name) {
            true => Err(duplicate(&at, &name)),
            false => Ok(name),
        }
    }

    /// Refuses names that links of the other direction already have.
    pub(crate) fn check_names(&self, taken: &[String]) -> Result<(), Diagnostic> {
        for ((fields, _), name) in self.links.iter().zip(self.names()) {
            if taken.contains(&name) {
                return Err(duplicate(&fields.get("name").unwrap_or_else(|| fields.cursor().clone()), &name));
            }
        }
        Ok(())
    }

    /// Returns the number after that of the last link.
    pub(crate) fn end(&self) -> usize {
        self.first + self.links.len()
    }

    /// Reads a route. Without the key, it covers the whole chain.
    pub(crate) fn route(&self, at: Option<Cursor<'_>>) -> Result<Route, Diagnostic> {
        let route = |first: usize, last: usize| Route {
            first: (self.first + first) as u16,
            last: (self.first + last) as u16,
        };
        let Some(at) = at else { return Ok(route(0, self.links.len() - 1)) };
        let key = self.key;
        if self.names.is_empty() {
            let right = format!("write [[{key}]] and give each link a name");
            return Err(
                at.problem(format!("a route needs named links, but there is a single [{key}]"), right)
            );
        }
        let links = at.filled_list()?.iter().map(|c| self.number(c)).collect::<Result<Vec<_>, _>>()?;
        if let Some(gap) = links.windows(2).find(|pair| pair[1] != pair[0] + 1) {
            let wrong = format!("`{}` does not directly follow `{}`", self.names[gap[1]], self.names[gap[0]]);
            let right = format!("list adjacent links in their order: {}", self.names.join(", "));
            return Err(at.problem(wrong, right));
        }
        Ok(route(links[0], links[links.len() - 1]))
    }

    fn number(&self, at: &Cursor<'_>) -> Result<usize, Diagnostic> {
        let name: String = at.read()?;
        let known = || self.names.iter().map(String::as_str);
        known().position(|n| n == name).ok_or_else(|| at.unknown_name("link", &name, known()))
    }

    /// Returns the propagation delay of a route. If delays have steps, the first step counts.
    pub(crate) fn delay(&self, route: Route) -> Duration {
        let links = (self.first..).zip(&self.links).filter(|(i, _)| route.crosses(*i));
        links.fold(Duration::ZERO, |sum, (_, (_, link))| sum + link.delay.first())
    }

    /// Returns the names of the links. A single `[link]` has none, a single `[reverse]` is named
    /// `reverse`.
    pub(crate) fn names(&self) -> Vec<String> {
        match self.names.is_empty() {
            true if self.key == "reverse" => vec![self.key.to_owned()],
            _ => self.names.clone(),
        }
    }

    /// Returns the word for a route along return links, none for forward links.
    pub(crate) fn direction(&self) -> Option<&'static str> {
        (self.key == "reverse").then_some("backward")
    }

    /// Returns the names of a route's links, if the file gives them.
    pub(crate) fn names_along(&self, route: Route) -> Option<Vec<String>> {
        let [first, last] = [route.first, route.last].map(|link| usize::from(link) - self.first);
        self.names.get(first..=last).map(<[String]>::to_vec)
    }

    /// Converts queues and their management to the units of the traffic on each link.
    pub(crate) fn resolve(
        &self,
        traffic: impl Fn(usize) -> Traffic,
    ) -> Result<(Links, Vec<LinkConfig>), Diagnostic> {
        let links = (self.first..).zip(&self.links);
        let all = links.map(|(i, (fields, link))| link.resolve(fields, traffic(i)));
        let (mut tables, configs): (Vec<Link>, _) = all.collect::<Result<Vec<_>, _>>()?.into_iter().unzip();
        let single = if self.names.is_empty() { tables.pop() } else { None };
        Ok((single.map_or(Links::Chain(tables), |link| Links::One(Box::new(link))), configs))
    }

    /// Refuses queues, once resolved, that no full packet fits into.
    pub(crate) fn check_room(
        &self,
        configs: &[LinkConfig],
        traffic: impl Fn(usize) -> Traffic,
    ) -> Result<(), Diagnostic> {
        let mut all = (self.first..).zip(self.links.iter().zip(configs));
        all.try_for_each(|(i, ((fields, link), config))| link.check_room(fields, config, traffic(i)))
    }

    /// Returns the usable buffer as a time, if there is a single link. Several links, or steps,
    /// have no single buffer.
    pub(crate) fn buffer(&self, configs: &[LinkConfig], packet: u32) -> Option<Duration> {
        let ([(_, link)], [config]) = (&self.links[..], configs) else { return None };
        if !config.limit_steps.is_empty() {
            return None;
        }
        queue::in_time(config.limit, config.limit_counts, link.nominal_rate(), config.delay, packet)
    }
}

fn duplicate(at: &Cursor<'_>, name: &str) -> Diagnostic {
    at.problem(format!("duplicate link name `{name}`"), "give each link its own name")
}

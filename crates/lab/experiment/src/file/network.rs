//! The links of both directions, and the routes along them.
//!
//! Links are numbered from the forward ones to those of `[reverse]`, as in [`scenario::Scenario`].

use congestion::Registry;
use scenario::Route;
use units::Duration;

use crate::diagnostic::Diagnostic;
use crate::diagnostics::Diagnostics;
use crate::file::chain::Chain;
use crate::file::cursor::{Cursor, Fields};
use crate::file::node::{self, Node, Value};
use crate::library::{Library, NETWORKS, Source};

/// Key of a shipped network.
const NETWORK: &str = "network";
/// Keys of links.
const LINKS: [&str; 2] = ["link", "reverse"];

/// Links with queues not yet converted to bytes.
pub(crate) struct Network<'a> {
    pub(crate) forward: Chain<'a>,
    pub(crate) reverse: Option<Chain<'a>>,
}

/// Replaces `network = "lte"` by the links of this shipped network.
pub(super) fn named(file: &str, controllers: &Registry, mut document: Node) -> Result<Node, Diagnostics> {
    let Some(at) = Cursor::root(file, controllers, &document).get(NETWORK) else { return Ok(document) };
    let name: String = at.read()?;
    let networks = Library.networks();
    let names = || networks.iter().map(|network| &network.name[NETWORKS.len()..]);
    let Some(found) = names().position(|known| known == name) else {
        let known: Vec<&str> = names().collect();
        return Err(at.unknown("network", &name, known).into());
    };
    let Source { file: shipped, text, .. } = &networks[found];
    let links = node::parse(&shipped.display().to_string(), text)?;
    let (Value::Table(own), Value::Table(links)) = (&mut document.value, links.value) else {
        return Ok(document);
    };
    if let Some(both) = own.iter().find(|entry| LINKS.contains(&&*entry.key)) {
        let wrong = format!("`network` and `{}` cannot be combined", both.key);
        return Err(both.at.problem(file, &both.key, wrong, "remove one of them").into());
    }
    own.retain(|entry| entry.key != NETWORK);
    own.extend(links.into_iter().filter(|entry| LINKS.contains(&&*entry.key)));
    Ok(document)
}

/// A path: forward route and return route, with their words in a file.
#[derive(Clone, Debug)]
pub(crate) struct Way {
    pub(crate) there: Route,
    /// Route along the links of the return path, if there are any.
    pub(crate) back: Option<Route>,
    /// Propagation delay of the forward links.
    delay_there: Duration,
    delay_back: Duration,
    /// Word for a route along the links of `[reverse]`.
    pub(crate) direction: Option<&'static str>,
    /// Names of the links, if the file gives them.
    pub(crate) route: Option<Vec<String>>,
    pub(crate) back_route: Option<Vec<String>>,
}

impl Way {
    /// Returns the smallest possible RTT.
    pub(crate) fn least_rtt(&self) -> Duration {
        self.delay_there + self.delay_back
    }

    /// Returns the RTT of the links. Without return links, the return delay equals the forward
    /// delay.
    pub(crate) fn default_rtt(&self) -> Duration {
        if self.back.is_some() { self.least_rtt() } else { self.delay_there * 2 }
    }
}

impl<'a> Network<'a> {
    /// Reads the links from the keys of the whole file.
    pub(crate) fn read(root: &Fields<'a>) -> Result<Self, Diagnostic> {
        let at = root.need("link", "write [link] with the rate, delay and queue of the bottleneck")?;
        let forward = Chain::read("link", 0, &at)?;
        let reverse = root.get("reverse").map(|at| Chain::read("reverse", forward.end(), &at)).transpose()?;
        if let Some(reverse) = &reverse {
            reverse.check_names(&forward.names())?;
        }
        Ok(Self { forward, reverse })
    }

    /// Returns the path of a table's packets: along the links of its `direction` and `route`, and
    /// back over those of the other direction, or over its `back-route`.
    pub(crate) fn way(&self, table: &Fields<'_>) -> Result<Way, Diagnostic> {
        let (there, back) = self.chains(table)?;
        let route = there.route(table.get("route"))?;
        let mut way = Way {
            there: route,
            back: None,
            delay_there: there.delay(route),
            delay_back: Duration::ZERO,
            direction: there.direction(),
            route: there.names_along(route),
            back_route: None,
        };
        match (back, table.get("back-route")) {
            (Some(back), at) => {
                let route = back.route(at)?;
                (way.back, way.delay_back) = (Some(route), back.delay(route));
                way.back_route = back.names_along(route);
                Ok(way)
            }
            (None, Some(at)) => Err(at.problem("there are no links on the return path", "add [reverse]")),
            (None, None) => Ok(way),
        }
    }

    /// Returns the links of a table's direction, and those of the other direction.
    fn chains(&self, table: &Fields<'_>) -> Result<(&Chain<'a>, Option<&Chain<'a>>), Diagnostic> {
        let Some(at) = table.get("direction") else { return Ok((&self.forward, self.reverse.as_ref())) };
        let backward = at.word("direction", &[("forward", false), ("backward", true)])?;
        match (backward, &self.reverse) {
            (false, reverse) => Ok((&self.forward, reverse.as_ref())),
            (true, Some(reverse)) => Ok((reverse, Some(&self.forward))),
            (true, None) => {
                let right = "add [reverse], with the keys of [link]";
                Err(at.problem("there are no links in that direction", right))
            }
        }
    }
}

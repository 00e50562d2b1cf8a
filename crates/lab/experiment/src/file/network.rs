//! The links of both directions, and the routes along them.
//!
//! Links are numbered from the forward ones to those of `[reverse]`, as in [`scenario::Scenario`].

use link::LinkConfig;
use scenario::Route;
use units::Duration;

use crate::diagnostic::Diagnostic;
use crate::file::chain::Chain;
use crate::file::cursor::Fields;
use crate::file::link::Traffic;
use crate::file::tables::network::Links;

/// Links with queues not yet converted to bytes.
pub(crate) struct Network<'a> {
    forward: Chain<'a>,
    reverse: Option<Chain<'a>>,
}

/// Links in the units of their traffic, as tables of a manifest and for a run.
#[derive(Clone, Debug)]
pub(crate) struct Resolved {
    pub(crate) link: Links,
    /// Links in order, at least one.
    pub(crate) forward: Vec<LinkConfig>,
    pub(crate) reverse_link: Option<Links>,
    /// Links of the return path, in order.
    pub(crate) reverse: Vec<LinkConfig>,
}

/// A path: forward route and return route.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Way {
    pub(crate) there: Route,
    /// Route along the links of the return path, if there are any.
    pub(crate) back: Option<Route>,
    /// Propagation delay of the forward links.
    pub(crate) delay_there: Duration,
    pub(crate) delay_back: Duration,
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
        let mut way =
            Way { there: route, back: None, delay_there: there.delay(route), delay_back: Duration::ZERO };
        match (back, table.get("back-route")) {
            (Some(back), at) => {
                let route = back.route(at)?;
                (way.back, way.delay_back) = (Some(route), back.delay(route));
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

    /// Reports whether a route is along the return links.
    pub(crate) fn is_backward(&self, route: Route) -> bool {
        usize::from(route.first) >= self.forward.end()
    }

    /// Returns the word for a route along the return links, none for the forward links.
    pub(crate) fn direction(&self, route: Route) -> Option<&'static str> {
        self.is_backward(route).then_some("backward")
    }

    /// Returns the names of a route's links, if the file gives them.
    pub(crate) fn names_along(&self, route: Route) -> Option<Vec<String>> {
        let chain = if self.is_backward(route) { self.reverse.as_ref()? } else { &self.forward };
        chain.names_along(route)
    }

    /// Returns the names of the forward links, none for a single `[link]`.
    pub(crate) fn names(&self) -> Vec<String> {
        self.forward.names()
    }

    /// Returns the names of the return links.
    pub(crate) fn reverse_names(&self) -> Vec<String> {
        self.reverse.as_ref().map_or(Vec::new(), Chain::names)
    }

    /// Converts queues and their management to the units of the traffic: the base RTT of the first
    /// flow that crosses a link, and the largest packet.
    pub(crate) fn resolve(&self, traffic: impl Fn(usize) -> Traffic) -> Result<Resolved, Diagnostic> {
        let (link, forward) = self.forward.resolve(&traffic)?;
        let reverse = self.reverse.as_ref().map(|chain| chain.resolve(&traffic)).transpose()?;
        let (reverse_link, reverse) = reverse.unzip();
        Ok(Resolved { link, forward, reverse_link, reverse: reverse.unwrap_or_default() })
    }

    /// Returns the usable buffer as a time, if there is a single forward link. Several links, or
    /// steps, have no single buffer.
    pub(crate) fn buffer(&self, configs: &[LinkConfig], packet: u32) -> Option<Duration> {
        self.forward.buffer(configs, packet)
    }
}

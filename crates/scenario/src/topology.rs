//! One run, fully decided: what the experiment file says after units, sweeps and seeds have been resolved.

use link::LinkConfig;
use units::{Duration, Time};

use crate::cross_traffic::{ProbeConfig, UdpConfig};
use crate::flow::FlowConfig;
use crate::route::Route;
use crate::window::{Window, Windowed};

/// A chain of links, mostly of one: then every flow crosses the same bottleneck. And perhaps one back.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// Seed of every random stream.
    pub seed: u64,
    /// The run ends here at the latest.
    pub duration: Duration,
    /// The bottleneck, or the first link of the chain, forward direction.
    pub link: LinkConfig,
    /// The links behind it, in order.
    pub beyond: Vec<LinkConfig>,
    /// The names of the links, if there are several.
    pub link_names: Vec<String>,
    /// The links of the other direction, in the order in which packets coming back cross them; without any the way
    /// back is a pure delay. Their numbers follow those of the forward links.
    pub reverse: Vec<LinkConfig>,
    /// Their names, one each.
    pub reverse_names: Vec<String>,
    /// The senders.
    pub flows: Vec<FlowConfig>,
    /// A ping beside them.
    pub probe: Option<ProbeConfig>,
    /// Unresponsive traffic beside them.
    pub udp: Vec<UdpConfig>,
    /// Metrics count only what happens in this window; without it, each flow from its start to its end.
    pub measure: Option<(Time, Time)>,
    /// Other windows with counts of their own: name, from, to.
    pub windows: Vec<(String, Time, Time)>,
    /// Interval of the recorded time series; none are recorded without it.
    pub series: Option<Duration>,
    /// Record every packet event of every flow (for qlog).
    pub trace: bool,
}

impl Scenario {
    /// These flows over one link, with seed 1; measured as a whole, without series.
    pub fn new(link: LinkConfig, flows: impl IntoIterator<Item = FlowConfig>, duration: Duration) -> Self {
        Self {
            seed: 1,
            duration,
            link,
            beyond: Vec::new(),
            link_names: Vec::new(),
            reverse: Vec::new(),
            reverse_names: Vec::new(),
            flows: flows.into_iter().collect(),
            probe: None,
            udp: Vec::new(),
            measure: None,
            windows: Vec::new(),
            series: None,
            trace: false,
        }
    }

    /// The links that lead forward, in order.
    pub fn forward(&self) -> impl Iterator<Item = &LinkConfig> {
        std::iter::once(&self.link).chain(&self.beyond)
    }

    /// Every link by its number: those that lead forward, then those of the other direction.
    pub fn links(&self) -> impl Iterator<Item = &LinkConfig> {
        self.forward().chain(&self.reverse)
    }

    /// The number of the first link of the other direction, if there is one.
    pub fn first_reverse(&self) -> u16 {
        1 + self.beyond.len() as u16
    }

    /// The route, ending where its chain does.
    pub fn bounded(&self, route: Route) -> Route {
        let reverse = self.first_reverse();
        let end = if route.first < reverse { reverse } else { reverse + self.reverse.len() as u16 };
        Route { last: route.last.min(end - 1), ..route }
    }

    /// The propagation delay of a route.
    pub fn delay(&self, route: Route) -> Duration {
        let route = self.bounded(route);
        let links = self.links().enumerate().filter(|(i, _)| route.crosses(*i));
        links.fold(Duration::ZERO, |sum, (_, link)| sum + link.delay)
    }

    /// From when to when metrics count.
    pub fn window(&self) -> Window {
        let (from, to) = self.measure.unwrap_or((Time::ZERO, Time::NEVER));
        Window { from, to }
    }

    /// Those beside the measuring one.
    pub fn other_windows(&self) -> impl Iterator<Item = Window> {
        self.windows.iter().map(|(_, from, to)| Window { from: *from, to: *to })
    }

    /// Counts for all of them.
    pub fn windowed<T: Default>(&self) -> Windowed<T> {
        Windowed::new(self.window(), self.other_windows())
    }

    /// How much of the measuring window a run had that ended at `end`.
    pub fn measured(&self, end: Time) -> Duration {
        let Window { from, to } = self.window();
        to.min(end) - from
    }
}

//! One run, fully specified: the experiment file after units, sweeps and seeds have been resolved.

use link::LinkConfig;
use units::{Duration, Time};

use crate::cross_traffic::{ProbeConfig, UdpConfig};
use crate::flow::FlowConfig;
use crate::route::Route;
use crate::window::{Window, Windowed};

/// A chain of links, usually a single bottleneck that every flow crosses, with an optional chain
/// for the return path.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// Seed of every random stream.
    pub seed: u64,
    /// Time at which the run ends, unless every flow is a transfer that is complete before.
    pub duration: Duration,
    /// The bottleneck, or the first link of the forward chain.
    pub link: LinkConfig,
    /// Links behind it, in order.
    pub beyond: Vec<LinkConfig>,
    /// Names of the links, if there are several.
    pub link_names: Vec<String>,
    /// Links of the other direction, in the order in which returning packets cross them. If empty,
    /// the return path is a pure delay. They are numbered after the forward links.
    pub reverse: Vec<LinkConfig>,
    /// Names of those links, one each.
    pub reverse_names: Vec<String>,
    /// Flows of the run.
    pub flows: Vec<FlowConfig>,
    /// Ping beside the flows.
    pub probe: Option<ProbeConfig>,
    /// Unresponsive traffic beside the flows.
    pub udp: Vec<UdpConfig>,
    /// Window in which metrics count. `None` measures each flow from its start to its end.
    pub measure: Option<(Time, Time)>,
    /// Additional windows with their own counts: name, from, to.
    pub windows: Vec<(String, Time, Time)>,
    /// Interval of the time series. `None` records none.
    pub series: Option<Duration>,
    /// Records every packet event of every flow (for qlog).
    pub trace: bool,
}

impl Scenario {
    /// Creates a run of these flows over one link, with seed 1, measured as a whole, without
    /// series.
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

    /// Returns the forward links, in order.
    pub fn forward(&self) -> impl Iterator<Item = &LinkConfig> {
        std::iter::once(&self.link).chain(&self.beyond)
    }

    /// Returns every link by its number: the forward links, then those of the other direction.
    pub fn links(&self) -> impl Iterator<Item = &LinkConfig> {
        self.forward().chain(&self.reverse)
    }

    /// Returns the name of a link's random streams. The first of a chain has no number, because its
    /// name predates chains.
    pub fn link_streams(&self, link: usize) -> String {
        let first = usize::from(self.first_reverse());
        let (chain, place) = if link < first { ("link", link) } else { ("reverse", link - first) };
        if place == 0 { chain.to_owned() } else { format!("{chain}.{place}") }
    }

    /// Returns the number of the first link of the other direction, if there is one.
    pub fn first_reverse(&self) -> u16 {
        1 + self.beyond.len() as u16
    }

    /// Returns the route, ending at the last link of its chain.
    pub fn bounded(&self, route: Route) -> Route {
        let reverse = self.first_reverse();
        let end = if route.first < reverse { reverse } else { reverse + self.reverse.len() as u16 };
        Route { last: route.last.min(end - 1), ..route }
    }

    /// Returns the propagation delay of a route.
    pub fn delay(&self, route: Route) -> Duration {
        let route = self.bounded(route);
        let links = self.links().enumerate().filter(|(i, _)| route.crosses(*i));
        links.fold(Duration::ZERO, |sum, (_, link)| sum + link.delay)
    }

    /// Returns the measuring window.
    pub fn window(&self) -> Window {
        let (from, to) = self.measure.unwrap_or((Time::ZERO, Time::NEVER));
        Window { from, to }
    }

    /// Returns the windows other than the measuring one.
    pub fn other_windows(&self) -> impl Iterator<Item = Window> {
        self.windows.iter().map(|(_, from, to)| Window { from: *from, to: *to })
    }

    /// Creates counts for all windows.
    pub fn windowed<T: Default>(&self) -> Windowed<T> {
        Windowed::new(self.window(), self.other_windows())
    }

    /// Returns the part of the measuring window covered by a run that ended at `end`.
    pub fn measured(&self, end: Time) -> Duration {
        let Window { from, to } = self.window();
        to.min(end) - from
    }
}

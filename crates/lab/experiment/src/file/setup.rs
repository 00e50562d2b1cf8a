//! Reads the part of an experiment file that a run needs, after varied keys have their values:
//! network, flows, times.

use std::collections::BTreeMap;

use link::{Limit, LinkConfig};
use scenario::{FlowConfig, Route, Scenario};
use serde::Serializer;
use units::{Bytes, Duration, Rng, Time};

use crate::diagnostic::Diagnostic;
use crate::file::chain::Chain;
use crate::file::cursor::{Cursor, Fields};
use crate::file::flow;
use crate::file::groups::{MEASURE, RUN};
use crate::file::link::Traffic;
use crate::file::network::Network;
use crate::file::node::Entry;
use crate::file::probe::{self, Probe};
use crate::file::tables::define::table;
use crate::file::tables::flow::Flow;
use crate::file::tables::network::{Links, Window};
use crate::file::udp::{self, Udp};
use crate::file::values::{self, within};

/// Most samples in the time series of a run.
const MAX_SAMPLES: u64 = 1_000_000;

table! {
    /// Keys that a run needs. Keys that are resolved when the file is read stay empty.
    pub(crate) Run(links: &Network<'_>) {
        /// Length of the run, required here or in `[vary]`. The run ends earlier only if every flow
        /// is a transfer that is complete. Windows then end with the run.
        duration: Duration => "write the length of the run, like \"60 s\"", |at| {
            let wrong = |_: &Duration| "the run lasts 0 s".to_owned();
            within(|time| *time > Duration::ZERO, wrong, "must be longer, like \"60 s\"")(at)
        };
        /// Bytes that each flow transfers, like `"100 MB"`. Default: unlimited data.
        transfer: Option<Bytes> = None, values::transfer;
        /// Sampling interval of the time series, default `"100 ms"`, or `"off"`.
        #[schemars(with = "String")]
        #[serde(serialize_with = "or_off")]
        series: Option<Duration> = None => later;
        /// Name of a shipped network, like `"lte"`, whose links stand in place of `[link]` and
        /// `[reverse]`. `ackclock networks` lists them.
        #[serde(skip_serializing_if = "Option::is_none")]
        network: Option<String> = None => later;
        /// The bottleneck, or several links in series, each with a name.
        link: Links = Links::Chain(Vec::new()) => later;
        /// Links of the return path, with the keys of `[link]`. Without them the return path is a
        /// constant delay.
        reverse: Option<Links> = None => later;
        /// The flows. With `count`, one table stands for several flows that differ only in their
        /// start.
        flow: Vec<Flow> => "write at least one [[flow]] with its controller",
            |at| flow::read_all(at, links, transfer, duration);
        /// A ping that runs alongside the flows, as in Flent.
        probe: Option<Probe> = None, |at| probe::read(at, links).map(Some);
        /// UDP traffic that does not respond to congestion.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        udp: Vec<Udp> = Vec::new(), |at: &Cursor<'_>| {
            at.tables()?.iter().map(|source| udp::read(source, links, duration)).collect::<Result<_, _>>()
        };
        /// Measuring window. Rates, losses, RTTs, `utilization`, Jain's index and shares are
        /// measured only in this window. Counters of loss recovery and `completion` cover the whole
        /// run.
        measure: Option<Window> = None, |at| read_window(at, duration).map(Some);
        /// Additional windows by name, for metrics like `goodput @ before`.
        #[schemars(with = "BTreeMap<String, Window>")]
        #[serde(serialize_with = "by_name", skip_serializing_if = "Vec::is_empty")]
        windows: Vec<(String, Window)> = Vec::new(), |at| read_windows(at, duration);
    }
}

/// A run without its seed. Flows with a count are still together.
#[derive(Clone, Debug)]
pub(crate) struct Setup {
    /// Keys with every default, as in a manifest.
    pub(crate) run: Run,
    forward: Vec<LinkConfig>,
    reverse: Vec<LinkConfig>,
    /// Names of the links, if there are several.
    pub(crate) link_names: Vec<String>,
    /// Names of the return links, one each.
    pub(crate) reverse_names: Vec<String>,
    /// Problem of a queue that no full packet fits into. A corner of a grid may have one.
    pub(crate) no_room: Option<Diagnostic>,
}

impl Setup {
    /// Reads a run from the keys of the whole file.
    pub(crate) fn read(root: &Fields<'_>) -> Result<Self, Diagnostic> {
        let network = Network::read(root)?;
        let mut run = Run::read(root, &network)?;
        run.series = read_series(root, run.duration)?;
        // Each flow has its own by now.
        run.transfer = None;
        let (link, forward) = network.forward.resolve(|link| run.traffic(link))?;
        let reverse = network.reverse.as_ref().map(|chain| chain.resolve(|link| run.traffic(link)));
        let (reverse_link, reverse) = reverse.transpose()?.unzip();
        let reverse = reverse.unwrap_or_default();
        let traffic = |link| run.traffic(link);
        let back = || network.reverse.as_ref().map_or(Ok(()), |chain| chain.check_room(&reverse, traffic));
        let no_room = network.forward.check_room(&forward, traffic).and_then(|()| back()).err();
        (run.link, run.reverse) = (link, reverse_link);
        let first = run.flow.iter().find(|flow| flow.direction.is_none()).unwrap_or(&run.flow[0]);
        let buffer = network.forward.buffer(&forward, first.wire_bytes());
        // The queue is at fault, not the share of it.
        resolve_shares(root, &mut run.flow, &forward, buffer)
            .map_err(|wrong| no_room.clone().unwrap_or(wrong))?;
        Ok(Self {
            run,
            forward,
            reverse,
            no_room,
            link_names: network.forward.names(),
            reverse_names: network.reverse.as_ref().map_or(Vec::new(), Chain::names),
        })
    }

    /// Returns the flows with a count above 0.
    pub(crate) fn present(&self) -> impl Iterator<Item = &Flow> {
        self.run.flow.iter().filter(|flow| flow.count > 0)
    }

    /// Returns the window with this name.
    fn window(&self, name: &str) -> (Time, Time) {
        let whole = (Time::ZERO, Time::NEVER);
        let own = || self.run.windows.iter().find(|(known, _)| known == name).map(|(_, window)| *window);
        match name {
            RUN => whole,
            MEASURE => self.run.measure.map_or(whole, Window::span),
            _ => own().map_or(whole, Window::span),
        }
    }

    /// Returns the scenario, with these windows in addition to the measuring window.
    pub(crate) fn scenario(&self, seed: u64, windows: &[String]) -> Scenario {
        let window = |name: &String| {
            let (from, to) = self.window(name);
            (name.clone(), from, to)
        };
        Scenario {
            windows: windows.iter().map(window).collect(),
            seed,
            duration: self.run.duration,
            link: self.forward[0].clone(),
            beyond: self.forward[1..].to_vec(),
            link_names: self.link_names.clone(),
            reverse: self.reverse.clone(),
            reverse_names: self.reverse_names.clone(),
            flows: self.expand(seed),
            probe: self.run.probe.as_ref().map(|probe| probe.config),
            udp: self.run.udp.iter().map(|source| source.config.clone()).collect(),
            measure: self.run.measure.map(Window::span),
            series: self.run.series,
            trace: false,
        }
    }

    /// Expands counts to single flows. Flows with the same label are numbered from 1.
    fn expand(&self, seed: u64) -> Vec<FlowConfig> {
        let mut jitter = Rng::stream(seed, "start-jitter");
        let mut likes: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
        for flow in &self.run.flow {
            likes.entry(&flow.config.group).or_default().0 += flow.count;
        }
        let mut all = Vec::new();
        for flow in &self.run.flow {
            for number in 0..flow.count {
                let (count, used) = likes.entry(&flow.config.group).or_default();
                *used += 1;
                let group = &flow.config.group;
                let label = if *count > 1 { format!("{group} #{used}") } else { group.clone() };
                all.push(flow.config(number, label, jitter.unit()));
            }
        }
        all
    }
}

impl Run {
    /// Returns the traffic that crosses a link.
    fn traffic(&self, link: usize) -> Traffic {
        let crossing = || self.flow.iter().filter(|flow| largest_packet(flow, link).is_some());
        // Flows with a count of 0 are skipped, unless all have it.
        let first = crossing().find(|flow| flow.count > 0).or_else(|| crossing().next());
        let present = self.flow.iter().filter(|flow| flow.count > 0);
        let flows = present.clone().filter_map(|flow| largest_packet(flow, link));
        let before_search = present.filter_map(|flow| packet_before_search(flow, link));
        let crosses = |route: Option<Route>| route.is_some_and(|route| route.crosses(link));
        let probe = self.probe.iter().map(|probe| probe.config);
        let pings = probe.filter(|p| p.route.crosses(link) || crosses(p.back)).map(|p| p.size);
        let udp = self.udp.iter().map(|source| &source.config);
        let udp = udp.filter(|udp| udp.route.crosses(link)).map(|udp| udp.size);
        Traffic {
            rtt: first.map(|flow| flow.config.rtt),
            packet: flows.chain(pings).chain(udp).max().unwrap_or(0),
            first: before_search.max().unwrap_or(0),
        }
    }
}

/// Returns the largest packet that a flow sends over a link: data or feedback.
fn largest_packet(flow: &Flow, link: usize) -> Option<u32> {
    let data = flow.config.route.crosses(link).then(|| flow.wire_bytes());
    let feedback = flow.config.back.filter(|back| back.route.crosses(link)).map(|back| back.size);
    data.max(feedback)
}

/// Returns the full packet that a flow sends over a link before it searches for larger ones.
fn packet_before_search(flow: &Flow, link: usize) -> Option<u32> {
    let FlowConfig { transport, recovery, route, .. } = &flow.config;
    let larger = transport.mds() - recovery.first_datagram(transport.mds().into()) as u32;
    route.crosses(link).then(|| flow.wire_bytes() - larger)
}

/// Replaces shares of the buffer by delays, and refuses them if there is no buffer.
fn resolve_shares(
    root: &Fields<'_>,
    flows: &mut [Flow],
    links: &[LinkConfig],
    buffer: Option<Duration>,
) -> Result<(), Diagnostic> {
    for (flow, table) in flows.iter_mut().zip(root.need("flow", "")?.tables()?) {
        let Some(share) = flow.shares.first() else { continue };
        let at = table.get("controller").unwrap_or(table).below(share);
        let backward = flow.direction.is_some();
        let Some(buffer) = buffer.filter(|b| *b > Duration::ZERO && !backward) else {
            let wrong = format!("`% of buffer` is undefined: {}", no_buffer(links, backward));
            return Err(
                at.problem(wrong, "write a delay like \"20 ms\", or give the link a queue like \"4 BDP\"")
            );
        };
        let resolved = flow.shares.resolve(&flow.config.algorithm, buffer);
        flow.config.algorithm = resolved.map_err(|wrong| at.problem(wrong, ""))?;
        flow.controller = Some(flow.config.algorithm.clone());
    }
    Ok(())
}

/// Explains why there is no buffer.
fn no_buffer(links: &[LinkConfig], backward: bool) -> String {
    match links[0].limit {
        _ if backward => "the flow does not cross [link]".to_owned(),
        _ if links.len() > 1 => "there are several links".to_owned(),
        _ if !links[0].limit_steps.is_empty() => "the queue has steps".to_owned(),
        Limit::Unlimited => "the queue is unlimited".to_owned(),
        limit => format!("packets in propagation alone fill the limit of {limit}"),
    }
}

impl Window {
    /// Returns the times of the run.
    fn span(self) -> (Time, Time) {
        (Time::ZERO + self.from, Time::ZERO + self.to)
    }
}

fn read_window(cursor: &Cursor<'_>, duration: Duration) -> Result<Window, Diagnostic> {
    let fields = cursor.table(Window::known())?;
    let window = Window::read(&fields, duration)?;
    let Window { from, to } = window;
    if to > duration {
        let wrong = format!("the window ends at {to}, after the run");
        return Err(fields.at("to").problem(wrong, format!("the run ends at {duration}")));
    }
    if from >= to {
        let wrong = format!("the window goes from {from} to {to}");
        return Err(fields.at("from").problem(wrong, "`from` must be before `to`"));
    }
    Ok(window)
}

/// Reads `[windows]`, each with a name.
fn read_windows(cursor: &Cursor<'_>, duration: Duration) -> Result<Vec<(String, Window)>, Diagnostic> {
    let read = |(entry, below): (&Entry, Cursor<'_>)| {
        let name = &entry.key;
        if [RUN, MEASURE].contains(&name.as_str()) || name.contains(" @ ") {
            let right = format!("`{RUN}` and `{MEASURE}` are predefined, and a name cannot contain ` @ `");
            return Err(below.invalid(format!("invalid window name `{name}`"), right));
        }
        Ok((name.clone(), read_window(&below, duration)?))
    };
    cursor.entries()?.into_iter().map(read).collect()
}

fn read_series(root: &Fields<'_>, duration: Duration) -> Result<Option<Duration>, Diagnostic> {
    let right = "set `series` to an interval like \"100 ms\", or to \"off\"";
    let cursor = root.get("series");
    let interval = match &cursor {
        Some(cursor) if cursor.node().as_str() == Some("off") => return Ok(None),
        Some(cursor) => cursor.read().map_err(|problem| problem.with_right(right))?,
        None => Duration::from_millis(100),
    };
    if duration.0.checked_div(interval.0).is_some_and(|samples| samples <= MAX_SAMPLES) {
        return Ok(Some(interval));
    }
    let wrong = format!("a sample every {interval} for {duration} is more than {MAX_SAMPLES} samples");
    // Without the key, the duration is at fault.
    Err(cursor.unwrap_or_else(|| root.at("duration")).problem(wrong, right))
}

/// Writes an interval, or the word for none.
fn or_off<S: Serializer>(interval: &Option<Duration>, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(&interval.map_or("off".to_owned(), |interval| interval.to_string()))
}

/// Writes the windows as a table.
fn by_name<S: Serializer>(windows: &[(String, Window)], to: S) -> Result<S::Ok, S::Error> {
    to.collect_map(windows.iter().map(|(name, window)| (name, window)))
}

//! Reads the part of an experiment file that a run needs, after varied keys have their values:
//! network, flows, times.

use std::collections::BTreeMap;

use congestion::PathInfo;
use link::{Limit, LinkConfig};
use recovery::AckEvery;
use scenario::{FlowConfig, ProbeConfig, Scenario, Transport, UdpConfig};
use units::{Duration, Rng, Time};

use crate::diagnostic::Diagnostic;
use crate::file::cursor::{Cursor, Fields};
use crate::file::flow::{self, MAX_FLOWS};
use crate::file::groups::{MEASURE, RUN};
use crate::file::load::Load;
use crate::file::network::{Network, Resolved};
use crate::file::node::Entry;
use crate::file::tables::flow::Flow;
use crate::file::tables::network::{Probe, Udp, Window};
use crate::file::unknown_rows::{UnknownRows, each};
use crate::file::{probe, udp, values};

/// Most samples in the time series of a run.
const MAX_SAMPLES: u64 = 1_000_000;

/// A run without its seed. Flows with a count are still together.
#[derive(Clone, Debug)]
pub(crate) struct Setup {
    pub(crate) duration: Duration,
    pub(crate) measure: Option<Window>,
    /// Additional windows by name.
    pub(crate) windows: Vec<(String, Window)>,
    pub(crate) series: Option<Duration>,
    pub(crate) links: Resolved,
    /// Names of the links, if there are several.
    pub(crate) link_names: Vec<String>,
    /// Names of the return links, one each.
    pub(crate) reverse_names: Vec<String>,
    /// Flows, including those with a count of 0.
    pub(crate) flows: Vec<Flow>,
    pub(crate) probe: Option<ProbeConfig>,
    pub(crate) udp: Vec<UdpConfig>,
    /// Their tables with every default, for the manifest.
    pub(crate) probe_table: Option<Probe>,
    pub(crate) udp_tables: Vec<Udp>,
}

impl Setup {
    /// Reads a run from the keys of the whole file.
    pub(crate) fn read(root: &Fields<'_>) -> Result<Self, Diagnostic> {
        let duration = read_duration(root)?;
        let network = Network::read(root)?;
        let mut flows = read_flows(root, &network, duration)?;
        let probe = root.get("probe").map(|c| probe::read(&c, &network)).transpose()?;
        let (probe_table, probe) = probe.unzip();
        let udp = each(root, "udp", UnknownRows::Refused, |c| udp::read(c, &network, duration))?;
        let (udp_tables, udp): (Vec<_>, Vec<_>) = udp.into_iter().unzip();
        let links = {
            let load = Load { flows: &flows, probe: probe.as_ref(), udp: &udp };
            network.resolve(|link| load.on(link))?
        };
        let first = flows.iter().find(|flow| !network.is_backward(flow.config.route)).unwrap_or(&flows[0]);
        let buffer = network.buffer(&links.forward, first.wire_bytes());
        resolve_shares(root, &mut flows, &links.forward, &network, buffer)?;
        check_needs(root, &flows)?;
        flows.iter_mut().for_each(|flow| flow.controller = Some(flow.config.algorithm.clone()));
        let series = read_series(root, duration)?;
        Ok(Self {
            duration,
            measure: root.get("measure").map(|c| read_window(&c, duration)).transpose()?,
            windows: read_windows(root, duration)?,
            series,
            link_names: network.names(),
            reverse_names: network.reverse_names(),
            links,
            flows,
            probe,
            udp,
            probe_table,
            udp_tables,
        })
    }

    /// Returns the flows with a count above 0.
    pub(crate) fn present(&self) -> impl Iterator<Item = &Flow> {
        self.flows.iter().filter(|flow| flow.count > 0)
    }

    /// Returns the window with this name.
    fn window(&self, name: &str) -> (Time, Time) {
        let whole = (Time::ZERO, Time::NEVER);
        let own = || self.windows.iter().find(|(known, _)| known == name).map(|(_, window)| *window);
        match name {
            RUN => whole,
            MEASURE => self.measure.map_or(whole, Window::span),
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
            duration: self.duration,
            link: self.links.forward[0].clone(),
            beyond: self.links.forward[1..].to_vec(),
            link_names: self.link_names.clone(),
            reverse: self.links.reverse.clone(),
            reverse_names: self.reverse_names.clone(),
            flows: self.expand(seed),
            probe: self.probe,
            udp: self.udp.clone(),
            measure: self.measure.map(Window::span),
            series: self.series,
            trace: false,
        }
    }

    /// Expands counts to single flows. Flows with the same label are numbered from 1.
    fn expand(&self, seed: u64) -> Vec<FlowConfig> {
        let mut jitter = Rng::stream(seed, "start-jitter");
        let mut likes: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
        for flow in &self.flows {
            likes.entry(&flow.config.group).or_default().0 += flow.count;
        }
        let mut all = Vec::new();
        for flow in &self.flows {
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

fn read_duration(root: &Fields<'_>) -> Result<Duration, Diagnostic> {
    let cursor = root.need("duration", "write the length of the run, like \"60 s\"")?;
    match cursor.read()? {
        Duration::ZERO => Err(cursor.invalid("the run lasts 0 s", "must be longer, like \"60 s\"")),
        duration => Ok(duration),
    }
}

fn read_flows(root: &Fields<'_>, network: &Network<'_>, duration: Duration) -> Result<Vec<Flow>, Diagnostic> {
    let cursor = root.need("flow", "write at least one [[flow]] with its controller")?;
    let transfer = root.get("transfer").map_or(Ok(None), |c| values::transfer(&c))?;
    let tables = cursor.tables()?;
    if tables.is_empty() {
        return Err(cursor.problem("no flows", "add at least one [[flow]] with its controller"));
    }
    let mut flows = Vec::new();
    let mut count = 0_u64;
    for table in &tables {
        let flow = flow::read(table, network, transfer)?;
        count = count.saturating_add(flow.count);
        if count > MAX_FLOWS {
            return Err(table.problem(format!("{count} flows are too many"), format!("at most {MAX_FLOWS}")));
        }
        check_start(table, &flow, duration)?;
        flows.push(flow);
    }
    if count == 0 {
        let at = tables[0].table(Flow::known())?.get("count").unwrap_or_else(|| cursor.clone());
        return Err(at.problem("no flow has a count above 0", "at least one flow must run"));
    }
    Ok(flows)
}

fn check_start(cursor: &Cursor<'_>, flow: &Flow, duration: Duration) -> Result<(), Diagnostic> {
    let last = flow.last_start();
    let (end, ends) = match flow.stop {
        Some(stop) if stop < duration => (stop, "the flows stop"),
        _ => (duration, "the run ends"),
    };
    if last < end {
        return Ok(());
    }
    let fields = cursor.table(Flow::known())?;
    let keys = ["stagger", "start", "start-jitter"];
    let at = keys.iter().find_map(|key| fields.get(key)).unwrap_or_else(|| cursor.clone());
    Err(at.problem(format!("the last flow starts at {last}"), format!("must be before {end}, when {ends}")))
}

/// Replaces shares of the buffer by delays, and refuses them if there is no buffer.
fn resolve_shares(
    root: &Fields<'_>,
    flows: &mut [Flow],
    links: &[LinkConfig],
    network: &Network<'_>,
    buffer: Option<Duration>,
) -> Result<(), Diagnostic> {
    for (flow, cursor) in flows.iter_mut().zip(root.need("flow", "")?.tables()?) {
        let Some(share) = flow.shares.first() else { continue };
        let backward = network.is_backward(flow.config.route);
        let buffer = buffer.filter(|b| *b > Duration::ZERO && !backward);
        let controller = cursor.table(Flow::known())?.need("controller", "")?;
        let at = controller.below(share);
        let Some(buffer) = buffer else {
            let right = "write a delay like \"20 ms\", or give the link a queue like \"4 BDP\"";
            return Err(
                at.problem(format!("`% of buffer` is undefined: {}", no_buffer(links, backward)), right)
            );
        };
        let resolved = flow.shares.resolve(&flow.config.algorithm, buffer);
        flow.config.algorithm = resolved.map_err(|wrong| at.problem(wrong, ""))?;
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

/// Refuses controllers of one-way delay without receive times: they would do nothing, or something
/// else under their name.
fn check_needs(root: &Fields<'_>, flows: &[Flow]) -> Result<(), Diagnostic> {
    for (flow, cursor) in flows.iter().zip(root.need("flow", "")?.tables()?) {
        let FlowConfig { algorithm, ack, transport, .. } = &flow.config;
        let (name, needs) = (algorithm.name(), algorithm.build(PathInfo::default()).needs());
        let at = || cursor.table(Flow::known())?.need("controller", "");
        if needs.receive_times && ack.timestamps == 0 {
            // A controller with a delay threshold needs no receive times if the threshold is off.
            let off = if algorithm.docs().iter().any(|p| p.name == "threshold") {
                ", or threshold = \"off\""
            } else {
                ""
            };
            return Err(at()?.problem(
                format!("{name} needs the receive times of its packets, which this flow's receiver does not report"),
                format!("set ack.timestamps = 1, or transport = \"quic\", which reports them{off}"),
            ));
        }
        // TCP reports one receive time per ACK.
        let each = ack.ack_every == AckEvery::Constant(1) || matches!(transport, Transport::Quic { .. });
        if needs.every_receive_time && !each {
            return Err(at()?.problem(
                format!("{name} needs the receive time of every packet, but TCP reports one per ACK"),
                "set ack.ack-every = 1",
            ));
        }
    }
    Ok(())
}

impl Window {
    /// Returns the times of the run.
    fn span(self) -> (Time, Time) {
        (Time::ZERO + self.from, Time::ZERO + self.to)
    }
}

fn read_window(cursor: &Cursor<'_>, duration: Duration) -> Result<Window, Diagnostic> {
    let fields = cursor.table(Window::known())?;
    let mut window = Window::read(&fields)?;
    if fields.get("to").is_none() {
        window.to = duration;
    }
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
fn read_windows(root: &Fields<'_>, duration: Duration) -> Result<Vec<(String, Window)>, Diagnostic> {
    let Some(cursor) = root.get("windows") else { return Ok(Vec::new()) };
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
        Some(cursor) => cursor.read()?,
        None => Duration::from_millis(100),
    };
    let samples = duration.0.checked_div(interval.0);
    if samples.is_some_and(|n| n <= MAX_SAMPLES) {
        return Ok(Some(interval));
    }
    let wrong = format!("a sample every {interval} for {duration} is more than {MAX_SAMPLES} samples");
    // Without the key, the duration is at fault.
    match cursor.or_else(|| root.get("duration")) {
        Some(at) => Err(at.problem(wrong, right)),
        None => Ok(Some(interval)),
    }
}

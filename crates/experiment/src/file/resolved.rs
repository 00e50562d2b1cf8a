//! One run as an experiment file of its own, with every default written out: what its manifest keeps.

use std::collections::BTreeMap;

use congestion::Algorithm;
use link::{Aqm, Limit, LimitCounts, LinkConfig, RateModel, Reorder, Steps};
use recovery::{AckConfig, Clock, Config};
use scenario::{Application, Connection, Route, Transport, UdpConfig};
use serde::ser::Error as _;
use serde::{Serialize, Serializer};
use units::{Bytes, Duration, Percent, Rate, Time};

use crate::file::flow::{Flow, Stop};
use crate::file::setup::Setup;

/// Keys in the order in which a person reads them.
#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct File<'a> {
    title: &'a str,
    source: &'a str,
    note: String,
    duration: Duration,
    repetitions: u32,
    seed: i64,
    series: String,
    measure: Option<Measure>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    windows: BTreeMap<&'a str, Measure>,
    link: Links<'a>,
    reverse: Option<Links<'a>>,
    probe: Option<Probe<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    udp: Vec<Udp<'a>>,
    flow: Vec<FlowTable<'a>>,
}

#[derive(Serialize)]
struct Measure {
    from: Duration,
    to: Duration,
}

/// `[link]` or `[[link]]`.
#[derive(Serialize)]
#[serde(untagged)]
enum Links<'a> {
    One(Box<Link<'a>>),
    Chain(Vec<Link<'a>>),
}

/// A value, or all its steps.
#[derive(Serialize)]
#[serde(untagged)]
enum Changing<T> {
    Never(T),
    Steps(Vec<(Duration, T)>),
}

impl<T: Copy> Changing<T> {
    fn of(first: T, later: &Steps<T>) -> Self {
        if later.is_empty() {
            return Self::Never(first);
        }
        let later = later.0.iter().map(|&(at, value)| (at - Time::ZERO, value));
        Self::Steps(std::iter::once((Duration::ZERO, first)).chain(later).collect())
    }
}

#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct Probe<'a> {
    route: Option<&'a [String]>,
    back_route: Option<&'a [String]>,
    interval: Duration,
    size: Bytes,
    rtt: Duration,
}

#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct Udp<'a> {
    label: &'a str,
    direction: Option<&'static str>,
    route: Option<&'a [String]>,
    size: Bytes,
    start: Duration,
    stop: Option<Duration>,
    on_off: Option<OnOff>,
    rate: RateModel,
}

#[derive(Serialize)]
struct OnOff {
    on: Duration,
    off: Duration,
    random: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct Link<'a> {
    name: Option<&'a str>,
    burst: Bytes,
    delay: Changing<Duration>,
    queue: Changing<Limit>,
    limit_counts: LimitCounts,
    jitter: Duration,
    loss: Percent,
    bleach: bool,
    reorder: Option<Reorder>,
    aqm: &'a Aqm,
    rate: &'a RateModel,
}

#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct FlowTable<'a> {
    label: &'a str,
    transport: &'static str,
    direction: Option<&'static str>,
    route: Option<&'a [String]>,
    back_route: Option<&'a [String]>,
    count: u64,
    start: Duration,
    stagger: Duration,
    start_jitter: Duration,
    stop: Option<Duration>,
    lasts: Option<Duration>,
    transfer: Option<Bytes>,
    application: AppTable,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pauses: Vec<(Duration, Duration)>,
    rtt: Duration,
    handshake: bool,
    controller: Named<'a>,
    packet: Packet,
    recovery: &'a Config,
    ack: &'a AckConfig,
    clock: &'a Clock,
}

/// Keys in the order of the file's documentation.
#[derive(Serialize)]
#[serde(tag = "name", rename_all = "kebab-case", rename_all_fields = "kebab-case")]
enum AppTable {
    Bulk,
    Media {
        fps: u32,
        min_rate: Rate,
        max_rate: Rate,
        start_rate: Rate,
        reaction: Duration,
        variation: Percent,
        audio: Rate,
        max_queue: Duration,
    },
    OnOff {
        object: (Bytes, Bytes),
        idle: Duration,
        begins: &'static str,
        connection: Connection,
    },
}

#[derive(Default, Serialize)]
struct Packet {
    datagram: Option<Bytes>,
    header: Option<Bytes>,
    mss: Option<Bytes>,
    overhead: Bytes,
    ack: Option<Bytes>,
}

/// What the file says of its runs.
pub(crate) struct Head<'a> {
    pub(crate) title: &'a str,
    pub(crate) source: &'a str,
    /// Which of its runs this is.
    pub(crate) note: String,
    pub(crate) seed: u64,
}

/// The file. Optional values that are not there have no key, for want of a word that means "none".
pub(crate) fn table(head: Head<'_>, setup: &Setup) -> Result<toml::Table, toml::ser::Error> {
    let file = File {
        title: head.title,
        source: head.source,
        note: head.note,
        duration: setup.duration,
        repetitions: 1,
        // TOML integers have a sign; a seed past the middle is written as it is read: not at all larger.
        seed: i64::try_from(head.seed).unwrap_or(i64::MAX),
        series: setup.series.map_or_else(|| "off".to_owned(), |interval| interval.to_string()),
        measure: setup.measure.map(|(from, to)| Measure { from, to }),
        windows: setup
            .windows
            .iter()
            .map(|(name, from, to)| (name.as_str(), Measure { from: *from, to: *to }))
            .collect(),
        link: links(&setup.links, &setup.link_names),
        reverse: (!setup.reverse.is_empty()).then(|| links(&setup.reverse, reverse_names(setup))),
        probe: setup.probe.map(|p| Probe {
            route: route(setup, p.route),
            back_route: p.back.and_then(|back| route(setup, back)),
            interval: p.interval,
            size: Bytes(u64::from(p.size)),
            rtt: p.rtt,
        }),
        udp: setup.udp.iter().map(|source| udp(setup, source)).collect(),
        flow: setup.flows.iter().map(|f| flow(setup, f)).collect(),
    };
    toml::Table::try_from(file)
}

fn links<'a>(links: &'a [LinkConfig], names: &'a [String]) -> Links<'a> {
    match names {
        [] => Links::One(Box::new(link(&links[0], None))),
        names => {
            Links::Chain(links.iter().zip(names).map(|(config, name)| link(config, Some(name))).collect())
        }
    }
}

/// Those that the file gives.
fn reverse_names(setup: &Setup) -> &[String] {
    if setup.reverse_named { &setup.reverse_names } else { &[] }
}

fn is_backward(setup: &Setup, route: Route) -> bool {
    usize::from(route.first) >= setup.links.len()
}

fn direction(setup: &Setup, route: Route) -> Option<&'static str> {
    is_backward(setup, route).then_some("backward")
}

fn route(setup: &Setup, route: Route) -> Option<&[String]> {
    let (first, names) = match is_backward(setup, route) {
        false => (0, &setup.link_names[..]),
        true => (setup.links.len(), reverse_names(setup)),
    };
    let last = names.len().min(usize::from(route.last) + 1 - first);
    names.get(usize::from(route.first) - first..last).filter(|names| !names.is_empty())
}

fn link<'a>(config: &'a LinkConfig, name: Option<&'a str>) -> Link<'a> {
    Link {
        name,
        rate: &config.rate,
        burst: config.burst,
        delay: Changing::of(config.delay, &config.delay_steps),
        queue: Changing::of(config.limit, &config.limit_steps),
        limit_counts: config.limit_counts,
        jitter: config.jitter,
        loss: Percent(config.loss * 100.0),
        bleach: config.bleach,
        aqm: &config.aqm,
        reorder: config.reorder,
    }
}

fn udp<'a>(setup: &'a Setup, source: &'a UdpConfig) -> Udp<'a> {
    Udp {
        label: &source.label,
        direction: direction(setup, source.route),
        route: route(setup, source.route),
        size: Bytes(u64::from(source.size)),
        start: source.start - Time::ZERO,
        stop: source.stop.map(|time| time - Time::ZERO),
        on_off: source.on_off.map(|o| OnOff { on: o.on, off: o.off, random: o.random }),
        rate: RateModel::Steps(source.rate.clone()),
    }
}

fn flow<'a>(setup: &'a Setup, flow: &'a Flow) -> FlowTable<'a> {
    let (transport, packet) = packet(flow.transport);
    let ack = flow.back.map(|back| Bytes(u64::from(back.size)));
    FlowTable {
        label: &flow.label,
        transport,
        direction: direction(setup, flow.route),
        route: route(setup, flow.route),
        back_route: flow.back.and_then(|back| route(setup, back.route)),
        count: flow.count,
        start: flow.start,
        stagger: flow.stagger,
        start_jitter: flow.start_jitter,
        stop: if let Stop::At(time) = flow.stop { Some(time) } else { None },
        lasts: if let Stop::After(span) = flow.stop { Some(span) } else { None },
        transfer: flow.transfer,
        application: application(&flow.application),
        pauses: flow.pauses.iter().map(|(from, to)| (*from - Time::ZERO, *to - Time::ZERO)).collect(),
        rtt: flow.rtt,
        handshake: flow.handshake,
        controller: Named(&flow.controller.algorithm),
        packet: Packet { ack, ..packet },
        recovery: &flow.recovery,
        ack: &flow.ack,
        clock: &flow.clock,
    }
}

/// An algorithm with its name before its parameters.
struct Named<'a>(&'a Algorithm);

impl Serialize for Named<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let Self(algorithm) = self;
        let params = toml::Table::try_from(algorithm).map_err(S::Error::custom)?;
        let name = ("name".to_owned(), toml::Value::String(algorithm.name().to_owned()));
        to.collect_map(std::iter::once(name).chain(params))
    }
}

fn application(application: &Application) -> AppTable {
    match application {
        Application::Bulk => AppTable::Bulk,
        Application::Media(media) => AppTable::Media {
            fps: media.fps,
            min_rate: media.min_rate,
            max_rate: media.max_rate,
            start_rate: media.start_rate,
            reaction: media.reaction,
            variation: Percent(media.variation * 100.0),
            audio: media.audio,
            max_queue: media.max_queue,
        },
        Application::OnOff(objects) => AppTable::OnOff {
            object: (objects.smallest, objects.largest),
            idle: objects.idle,
            begins: if objects.begins_on { "on" } else { "off" },
            connection: objects.connection,
        },
    }
}

fn packet(transport: Transport) -> (&'static str, Packet) {
    let size = |bytes: u32| Bytes(u64::from(bytes));
    match transport {
        Transport::Quic { datagram, header, overhead } => {
            let (datagram, header) = (Some(size(datagram)), Some(size(header)));
            ("quic", Packet { datagram, header, overhead: size(overhead), ..Packet::default() })
        }
        Transport::Tcp { mss, overhead } => {
            ("tcp", Packet { mss: Some(size(mss)), overhead: size(overhead), ..Packet::default() })
        }
    }
}

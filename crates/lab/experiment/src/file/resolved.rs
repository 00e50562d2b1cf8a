//! Writes one run as an experiment file with every default written out, for its manifest.

use link::LinkConfig;
use scenario::{Application, Route, Transport};
use units::{Bytes, Percent, Time};

use crate::file::flow::{Flow, Stop};
use crate::file::setup::Setup;
use crate::file::tables::flow::{AppTable, FlowTable, Named, Packet};
use crate::file::tables::network::{Changing, Link, Links};
use crate::file::tables::{File, Window};

/// The descriptive keys of the file.
pub(crate) struct Head<'a> {
    pub(crate) title: &'a str,
    pub(crate) source: &'a str,
    /// Identification of the run.
    pub(crate) note: String,
    pub(crate) seed: u64,
}

/// Returns the file. Absent optional values have no key, because TOML has no null.
pub(crate) fn table(head: Head<'_>, setup: &Setup) -> Result<toml::Table, toml::ser::Error> {
    let file = File {
        title: head.title,
        source: head.source,
        note: head.note,
        duration: setup.duration,
        repetitions: 1,
        // TOML integers are signed. A seed beyond their range becomes the largest integer.
        seed: i64::try_from(head.seed).unwrap_or(i64::MAX),
        series: setup.series.map_or_else(|| "off".to_owned(), |interval| interval.to_string()),
        measure: setup.measure.map(|(from, to)| Window { from, to }),
        windows: setup
            .windows
            .iter()
            .map(|(name, from, to)| (name.as_str(), Window { from: *from, to: *to }))
            .collect(),
        link: links(&setup.links, &setup.link_names),
        reverse: (!setup.reverse.is_empty()).then(|| links(&setup.reverse, reverse_names(setup))),
        probe: setup.probe_table.as_ref(),
        udp: &setup.udp_tables,
        flow: setup.flows.iter().map(|f| flow(setup, f)).collect(),
        transfer: None,
        vary: None,
        table: None,
        published: None,
        reference: None,
        claim: None,
        miss: None,
        bias: None,
        chart: None,
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

/// Returns the names of the return links, if the file gives them.
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
        delay: Changing::new(config.delay, &config.delay_steps),
        rtt: None,
        queue: Changing::new(config.limit, &config.limit_steps),
        limit_counts: config.limit_counts,
        jitter: config.jitter,
        loss: Percent(config.loss * 100.0),
        bleach: config.bleach,
        aqm: &config.aqm,
        reorder: config.reorder,
        drop: &config.drop,
        blackhole: config.blackhole.iter().map(|(from, to)| (*from - Time::ZERO, *to - Time::ZERO)).collect(),
        corrupt: (config.corrupt > 0.0).then_some(Percent(config.corrupt * 100.0)),
        duplicate: (config.duplicate > 0.0).then_some(Percent(config.duplicate * 100.0)),
    }
}

fn flow<'a>(setup: &'a Setup, flow: &'a Flow) -> FlowTable<'a> {
    let config = &flow.config;
    let (transport, packet) = packet(config.transport);
    let ack = config.back.map(|back| Bytes(u64::from(back.size)));
    FlowTable {
        label: &config.group,
        controller: Named(&config.algorithm),
        slow_start: None,
        transport,
        stack: None,
        direction: direction(setup, config.route),
        route: route(setup, config.route),
        back_route: config.back.and_then(|back| route(setup, back.route)),
        count: flow.count,
        start: flow.start,
        stagger: flow.stagger,
        start_jitter: flow.start_jitter,
        stop: if let Stop::At(time) = flow.stop { Some(time) } else { None },
        lasts: if let Stop::After(span) = flow.stop { Some(span) } else { None },
        transfer: config.transfer.map(Bytes),
        application: application(&config.application),
        pauses: config.pauses.iter().map(|(from, to)| (*from - Time::ZERO, *to - Time::ZERO)).collect(),
        rebind: &config.rebind,
        rtt: config.rtt,
        packet: Packet { ack, ..packet },
        config,
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

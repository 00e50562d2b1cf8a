//! The connections as a run: an experiment with a flow for each, in a world that has the outcome
//! already. Its results folder, tables and charts are those of any run.

use std::path::Path;

use experiment::file::Experiment;
use experiment::place::Place;
use experiment::printable::{is_terminal_control, printable};
use logs::account::{Connection, Seen};
use logs::event::Protocol;
use results::summary::Results;
use study::Options;
use toml::{Table, Value};
use units::{Duration, Time};

use super::Question;
use super::world::{Logs, untold};
use crate::lab::Stored;
use crate::{Failure, Lab};

/// Number of samples of the time series that a chart can show.
const SAMPLES: u64 = 2000;
/// Bytes of headers around a packet that logs leave out: IPv4, UDP; TCP with timestamps.
const OVERHEAD: [i64; 2] = [28, 52];
/// Metrics of the table, as far as they are known.
const TABLE: [&str; 9] = [
    "wire_throughput",
    "goodput",
    "rtt_mean",
    "rtt_p95",
    "retransmissions",
    "declared_lost",
    "spurious_losses",
    "reductions",
    "owd_mean",
];

/// The connections as a run.
pub(super) struct Run {
    pub(super) connections: Vec<Connection>,
    pub(super) labels: Vec<String>,
    name: String,
    title: String,
    interval: Duration,
    ticks: u64,
}

impl Run {
    pub(super) fn new(question: &Question, connections: Vec<Connection>) -> Self {
        let end = connections.iter().map(|connection| connection.span.1).max().unwrap_or(Time::ZERO);
        // Whole milliseconds, at least two round trips of data per sample.
        let interval = Duration::from_millis(((end - Time::ZERO).0 / SAMPLES / 1_000_000).max(1));
        let ticks = (end - Time::ZERO).0 / interval.0 + 1;
        let (name, title) = names(question);
        Self { labels: labels(&connections), connections, name, title, interval, ticks }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn title(&self) -> &str {
        &self.title
    }

    /// Stores the run. Returns its results, and where they are.
    pub(super) fn store(self, lab: &Lab<'_>) -> Result<(Results, Stored), Failure> {
        let text = toml::to_string(&self.experiment()).map_err(|e| Failure::bad(e.to_string()))?;
        let experiment = Experiment::parse(&self.name, Path::new("analyse"), &text)?;
        let world = Logs::new(self.connections.into());
        let places = lab.options.places.clone().with(Place::SIM, world);
        // The logs may have changed, which no manifest tells.
        let options = Options { places, fresh: true, ..lab.options.clone() };
        let (mut results, stored) = lab.run(&experiment, &options)?;
        // The network of a log is not known.
        results.networks.clear();
        Ok((results, stored))
    }

    /// Returns the experiment: a flow for each connection.
    fn experiment(&self) -> Table {
        let smallest = self.connections.iter().filter_map(|connection| connection.min_rtt).min();
        let rtt = smallest.unwrap_or(Duration::from_millis(1)).max(Duration::from_micros(1));
        let flows =
            self.labels.iter().zip(&self.connections).map(|(label, connection)| flow(label, connection));
        let link = table([
            // A random rate has no line in charts.
            ("rate", Value::Table(table([("median", "1 Gbit/s".into())]))),
            ("rtt", format!("{} ms", rtt.as_millis_f64()).into()),
            ("queue", "unlimited".into()),
        ]);
        table([
            ("title", self.title.as_str().into()),
            ("note", NOTE.into()),
            ("duration", format!("{} ms", (self.interval * self.ticks).as_millis_f64()).into()),
            ("series", format!("{} ms", self.interval.as_millis_f64()).into()),
            ("link", Value::Table(link)),
            ("flow", Value::Array(flows.map(Value::Table).collect())),
            ("table", Value::Table(table([("metrics", self.metrics().into())]))),
            ("chart", Value::Array(self.charts().into_iter().map(Value::Table).collect())),
        ])
    }

    fn metrics(&self) -> Vec<String> {
        let untold = untold(&self.connections);
        let known: Vec<&str> = TABLE.into_iter().filter(|word| !untold.contains(word)).collect();
        // A table needs a metric, even one without a value.
        let known = if known.is_empty() { vec![TABLE[0]] } else { known };
        known.into_iter().map(str::to_owned).collect()
    }

    fn charts(&self) -> Vec<Table> {
        let line = |title: &str, y: &[&str]| {
            let y: Vec<Value> = y.iter().map(|column| (*column).into()).collect();
            table([("mark", "line".into()), ("title", title.into()), ("y", y.into())])
        };
        let mut charts = Vec::new();
        let has = |of: fn(&Connection) -> bool| self.connections.iter().any(of);
        let is_sender = |connection: &Connection| connection.seen != Seen::Receiver;
        if has(Connection::has_window) {
            let mut chart = line("Congestion window and bytes in flight", &["cwnd_bytes", "bytes_in_flight"]);
            chart.insert("ticks".to_owned(), vec!["lost_packets"].into());
            charts.push(chart);
        } else if has(is_sender) {
            charts.push(line("Bytes in flight", &["bytes_in_flight"]));
        }
        if has(|connection| connection.record.totals.rtt.count() > 0) {
            charts.push(line("Round-trip time", &["latest_rtt_ms"]));
        }
        charts.push(line("Goodput", &["goodput_mbit_s"]));
        if has(is_sender) {
            charts.push(line("Retransmissions since the start", &["repeated_packets"]));
        }
        charts.extend(self.sequences());
        charts
    }

    /// Returns sequence diagrams of the largest connection: its beginning and its first loss.
    fn sequences(&self) -> Vec<Table> {
        let Some(connection) = self.connections.first() else { return Vec::new() };
        let one_log = if connection.seen == Seen::Both {
            ""
        } else {
            " (the other end: half of the smallest RTT away)"
        };
        let titles = ["The first packets", "Around the first loss"].map(|title| format!("{title}{one_log}"));
        let end = if connection.seen == Seen::Receiver { 1 } else { 0 };
        let parts = connection.excerpts[end].iter().zip(titles);
        let spans = parts.filter_map(|(part, title)| Some((part.first()?.0, part.last()?.0, title)));
        let sequence = |(from, to, title): (Time, Time, String)| {
            let ms = |at: Time| Value::from(format!("{} ms", (at - Time::ZERO).as_millis_f64()));
            table([
                ("mark", "sequence".into()),
                ("title", title.into()),
                ("between", vec![ms(from), ms(to.max(from + Duration::from_millis(1)))].into()),
            ])
        };
        spans.map(sequence).collect()
    }
}

/// Note of every stored analysis.
const NOTE: &str = "Read from logs. The network is not known: its rate and queue here mean nothing, \
                    and its round-trip time is the smallest sample.";

fn table<const N: usize>(entries: [(&str, Value); N]) -> Table {
    entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

/// Returns the packet sizes of a connection, as a file has them.
pub(crate) fn packet(connection: &Connection) -> Table {
    let (full, payload) = connection.full;
    let full = i64::try_from(full).unwrap_or(1200).clamp(100, 65_000);
    let payload = i64::try_from(payload).unwrap_or(0).min(full);
    let bytes = |count: i64| Value::from(format!("{count} bytes"));
    match connection.protocol {
        Protocol::Quic => table([
            ("datagram", bytes(full)),
            ("header", bytes((full - payload).min(full - 1))),
            ("overhead", bytes(OVERHEAD[0])),
        ]),
        Protocol::Tcp => table([("mss", bytes(full)), ("overhead", bytes(OVERHEAD[1]))]),
    }
}

fn flow(label: &str, connection: &Connection) -> Table {
    let known =
        connection.controller.as_deref().filter(|name| congestion::Registry::default().get(name).is_some());
    let mut flow = table([
        ("label", label.into()),
        // A controller that only the log knows is none that runs here.
        ("controller", known.unwrap_or("fixed-window").into()),
        ("start", format!("{} ms", (connection.span.0 - Time::ZERO).as_millis_f64()).into()),
        ("packet", Value::Table(packet(connection))),
    ]);
    if connection.protocol == Protocol::Tcp {
        flow.insert("transport".to_owned(), "tcp".into());
    }
    flow
}

/// Returns a name for the results, and a title.
fn names(question: &Question) -> (String, String) {
    let files: Vec<String> = question
        .files
        .iter()
        .map(|file| file.file_name().unwrap_or(file.as_os_str()).to_string_lossy().into_owned())
        .collect();
    let first = files.first().map_or("log", |first| first.split('.').next().unwrap_or(first));
    let slug: String = first
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' })
        .take(60)
        .collect();
    let slug = slug.trim_matches('-');
    let slug = if slug.is_empty() { "log" } else { slug };
    let files: Vec<String> = files.iter().map(|file| printable(file).into_owned()).collect();
    let title = match files.as_slice() {
        [one] => one.clone(),
        [one, other] => format!("{one} and {other}"),
        [one, rest @ ..] => format!("{one} and {} more logs", rest.len()),
        [] => String::new(),
    };
    (format!("analyse/{slug}"), title)
}

/// Returns a label for each connection: its name, or the file's where names repeat, with a number
/// where those do.
fn labels(connections: &[Connection]) -> Vec<String> {
    let clean = |name: &str| -> String {
        let name: String =
            name.chars().filter(|c| !is_terminal_control(*c) && !c.is_control()).take(60).collect();
        if name.trim().is_empty() { "connection".to_owned() } else { name.trim().to_owned() }
    };
    let names: Vec<String> = connections.iter().map(|connection| clean(&connection.name)).collect();
    let repeats = |name: &str| names.iter().filter(|other| *other == name).count() > 1;
    let named = |(connection, name): (&Connection, &String)| match connection.files.first() {
        // The files tell them apart.
        Some(file) if repeats(name) => {
            let file = Path::new(file).file_name().unwrap_or_default().to_string_lossy();
            clean(&file)
        }
        _ => name.clone(),
    };
    let names: Vec<String> = connections.iter().zip(&names).map(named).collect();
    let repeats = |name: &str| names.iter().filter(|other| *other == name).count() > 1;
    let numbered = |(number, name): (usize, &String)| match repeats(name) {
        true => format!("{name}, {}", number + 1),
        false => name.clone(),
    };
    names.iter().enumerate().map(numbered).collect()
}

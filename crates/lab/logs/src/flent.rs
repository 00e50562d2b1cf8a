//! Reads data files of flent (`.flent.gz`).
//!
//! Each series of a TCP flow is a connection, and so is each series of a ping. Goodput is the mean
//! rate of netperf's or iperf's intervals, in Mbit/s. An upload is counted where it is sent. Sums
//! and means of flows are left out, as are series of other units. `ss` gives the window in packets.
//! The file does not have their size, so that the window is a variable of the controller.

use std::collections::BTreeMap;
use std::io::Read;
use std::time::UNIX_EPOCH;

use quic::Side;
use serde::Deserialize;
use serde_json::Value;
use units::{Duration, Time};

use crate::event::{About, Event, Gap, Interval, Metrics, Protocol, Sink, Source};
use crate::{Error, whole};

/// Largest time in a file, in seconds: a century.
const LONGEST: f64 = 3.2e9;
/// Words of series that are computed from others.
const COMPUTED: [&str; 5] = ["total", "avg", "sum", "fairness", "mean"];

#[derive(Deserialize)]
struct File {
    metadata: Metadata,
    #[serde(default)]
    x_values: Vec<Option<f64>>,
    #[serde(default)]
    results: BTreeMap<String, Vec<Option<f64>>>,
    #[serde(default)]
    raw_values: BTreeMap<String, Vec<Raw>>,
}

#[derive(Deserialize)]
struct Metadata {
    #[serde(rename = "NAME")]
    name: Option<String>,
    #[serde(rename = "TITLE")]
    title: Option<String>,
    #[serde(rename = "T0")]
    begin: Option<String>,
    #[serde(rename = "TIME")]
    time: Option<String>,
    #[serde(rename = "FLENT_VERSION", alias = "NETPERF_WRAPPER_VERSION")]
    version: Option<String>,
    #[serde(rename = "DATA_FILENAME")]
    file: Option<String>,
    #[serde(rename = "SERIES_META", default)]
    series: BTreeMap<String, BTreeMap<String, Value>>,
}

/// One measurement, at `t` seconds since 1970.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Raw {
    t: Option<f64>,
    val: Option<f64>,
    /// Length of the interval, in seconds.
    dur: Option<f64>,
    /// Window of `ss`, in packets.
    tcp_cwnd: Option<f64>,
    /// Smoothed RTT and its variation, in ms.
    tcp_rtt: Option<f64>,
    tcp_rtt_var: Option<f64>,
    /// Pacing rate, in Mbit/s.
    tcp_pacing_rate: Option<f64>,
}

/// Meaning of a series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Goodput of a flow that this end sends.
    Flow(Side),
    /// RTT in ms.
    Ping,
}

/// Reports whether a file whose first bytes these are is of flent.
pub fn looks_like(first: &[u8]) -> bool {
    let text = String::from_utf8_lossy(first);
    let text = text.trim_start();
    text.starts_with('{')
        && text.contains("\"metadata\"")
        && ["\"FLENT_VERSION\"", "\"NETPERF_WRAPPER_VERSION\"", "\"DATA_FILENAME\"", "\"x_values\""]
            .iter()
            .any(|word| text.contains(word))
}

/// Reads a data file of flent.
///
/// # Errors
/// Fails if it is no such file, or holds neither a TCP flow nor a ping.
pub fn read(input: impl Read, name: &str, sink: &mut dyn Sink) -> Result<(), Error> {
    let (bytes, is_cut) = whole::contents(input, name)?;
    let failure = |message: &str| Error { file: name.to_owned(), at: None, message: message.to_owned() };
    if is_cut {
        return Err(failure("it ends too early, and flent's format cannot be read in parts"));
    }
    let file: File = serde_json::from_slice(&bytes).map_err(|error| whole::wrong(name, "flent", &error))?;
    let mut found = false;
    for (series, kind) in file.series() {
        let id = sink.open(file.about(name, series, kind));
        found = true;
        match file.raw_values.get(series).filter(|raw| !raw.is_empty()) {
            Some(raw) => measured(raw, kind, id, sink),
            None => file.interpolated(series, kind, id, sink),
        }
    }
    if found { Ok(()) } else { Err(failure("it has neither a TCP flow nor a ping")) }
}

fn kind(series: &str) -> Option<Kind> {
    let name = series.to_ascii_lowercase();
    let has = |word: &str| name.contains(word);
    if COMPUTED.iter().any(|word| has(word)) {
        return None;
    }
    match () {
        () if name.starts_with("ping") => Some(Kind::Ping),
        () if !name.starts_with("tcp") => None,
        () if has("download") || has("down") => Some(Kind::Flow(Side::Server)),
        () if has("upload") || has("up") => Some(Kind::Flow(Side::Client)),
        () => None,
    }
}

impl File {
    fn series(&self) -> impl Iterator<Item = (&str, Kind)> {
        let names = self
            .results
            .keys()
            .chain(self.raw_values.keys().filter(|name| !self.results.contains_key(*name)));
        names.filter_map(|name| Some((name.as_str(), kind(name)?))).filter(|(name, kind)| {
            let units = self.setting(name, "UNITS").unwrap_or_default().to_ascii_lowercase();
            let expected = if *kind == Kind::Ping { "ms" } else { "mbits/s" };
            units.is_empty() || units == expected
        })
    }

    fn setting(&self, series: &str, name: &str) -> Option<&str> {
        self.metadata.series.get(series)?.get(name)?.as_str()
    }

    fn about(&self, name: &str, series: &str, kind: Kind) -> About {
        let metadata = &self.metadata;
        let title = [&metadata.title, &metadata.name].into_iter().flatten().find(|title| !title.is_empty());
        About {
            name: format!("{}: {series}", title.map_or(name, String::as_str)),
            identity: metadata.file.as_ref().map(|file| format!("{file}: {series}")).unwrap_or_default(),
            protocol: Protocol::Tcp,
            source: Source::Intervals,
            vantage: Some(Side::Client),
            parameters: None,
            controller: self
                .setting(series, "CONG_CONTROL")
                .or_else(|| self.setting(series, "TCP_CONG_CONTROL"))
                .filter(|_| kind != Kind::Ping)
                .map(str::to_owned),
            program: metadata.version.as_ref().map(|version| format!("flent {version}")),
        }
    }

    /// Reports a series without raw values: those that flent interpolated to equal steps.
    fn interpolated(&self, series: &str, kind: Kind, id: usize, sink: &mut dyn Sink) {
        let begin =
            [&self.metadata.begin, &self.metadata.time].into_iter().flatten().find_map(|date| seconds(date));
        let begin = begin.unwrap_or(0.0);
        let mut before = 0.0;
        let values = self.results.get(series).map(Vec::as_slice).unwrap_or_default();
        let mut last = begin;
        for (x, value) in self.x_values.iter().zip(values) {
            let (Some(x), Some(value)) = (*x, *value) else { continue };
            let raw = Raw { t: Some(begin + x), val: Some(value), dur: Some(x - before), ..Raw::default() };
            (before, last) = (x, begin + x);
            raw.report(kind, id, time(begin + x), sink);
        }
        let text = "the file has no raw values: these are interpolated to equal steps";
        sink.event(id, time(last), &Event::Gap(Gap::Other(text.to_owned())));
    }
}

/// Reports a series as it was measured, in the order of time.
fn measured(raw: &[Raw], kind: Kind, id: usize, sink: &mut dyn Sink) {
    let mut sorted: Vec<(Time, &Raw)> =
        raw.iter().filter_map(|raw| Some((time(raw.t.filter(|t| t.is_finite())?), raw))).collect();
    sorted.sort_by_key(|(at, _)| *at);
    for (at, raw) in &sorted {
        raw.report(kind, id, *at, sink);
    }
    if let Some((at, _)) = sorted.last().filter(|_| sorted.iter().any(|(_, raw)| raw.tcp_cwnd.is_some())) {
        let text = "flent has windows in packets, and not their size: see the variable `cwnd_packets`";
        sink.event(id, *at, &Event::Gap(Gap::Other(text.to_owned())));
    }
    if sorted.len() < raw.len() {
        let gap = Gap::Unreadable((raw.len() - sorted.len()) as u64, "a measurement has no time".to_owned());
        sink.event(id, sorted.last().map_or(Time::ZERO, |(at, _)| *at), &Event::Gap(gap));
    }
}

impl Raw {
    fn report(&self, kind: Kind, id: usize, at: Time, sink: &mut dyn Sink) {
        let length = Duration::from_secs_f64(self.dur.unwrap_or(0.0).clamp(0.0, LONGEST));
        match (kind, self.val.filter(|value| value.is_finite() && *value >= 0.0)) {
            (Kind::Ping, Some(value)) => {
                let ping = Interval { rtt: ms(Some(value)), is_ping: true, ..Interval::default() };
                sink.event(id, at, &Event::Interval(ping));
            }
            (Kind::Flow(from), Some(value)) if length > Duration::ZERO => {
                let bytes = Some(libm::round(value * 1e6 / 8.0 * length.as_secs_f64()) as u64);
                let is_sent = from == Side::Client;
                let flow = Interval { from: Some(from), length, bytes, is_sent, ..Interval::default() };
                sink.event(id, at, &Event::Interval(flow));
            }
            _ => {}
        }
        let rate = self.tcp_pacing_rate.filter(|rate| *rate >= 0.0);
        let packets = self.tcp_cwnd.filter(|packets| packets.is_finite());
        let variables: Vec<(String, f64)> =
            packets.map(|packets| ("cwnd_packets".to_owned(), packets)).into_iter().collect();
        let metrics = Metrics {
            smoothed_rtt: ms(self.tcp_rtt),
            rttvar: ms(self.tcp_rtt_var),
            pacing_rate: rate.map(|rate| libm::round(rate * 1e6) as u64),
            variables: &variables,
            ..Metrics::default()
        };
        if metrics != Metrics::default() {
            sink.event(id, at, &Event::Metrics(metrics));
        }
    }
}

fn ms(value: Option<f64>) -> Option<Duration> {
    value.filter(|ms| (0.0..=LONGEST).contains(ms)).map(|ms| Duration::from_secs_f64(ms * 1e-3))
}

fn time(seconds: f64) -> Time {
    Time::ZERO + Duration::from_secs_f64(seconds.clamp(0.0, LONGEST))
}

/// Returns the seconds since 1970 of a date in the form of RFC 3339, whose `Z` may be missing.
fn seconds(date: &str) -> Option<f64> {
    let time = humantime::parse_rfc3339_weak(date).ok()?;
    Some(time.duration_since(UNIX_EPOCH).ok()?.as_secs_f64())
}

#[cfg(test)]
mod tests;

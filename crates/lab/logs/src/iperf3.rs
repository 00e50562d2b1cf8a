//! Reads the JSON of iperf3: `--json` of the client or the server, and `--json-stream`.
//!
//! Each stream is a connection. Its intervals come first, as the end that wrote the file counts
//! them: bytes sent or received, and at a sender retransmissions, window and RTT. Then comes one
//! interval for the whole test with the bytes, and maybe retransmissions, of the other end.
//! Intervals that `--omit` leaves out are left out here. UDP and SCTP are refused: they have
//! neither a window nor acknowledgements.

use std::io::Read;

use quic::Side;
use serde::Deserialize;
use serde_json::value::RawValue;
use units::{Duration, Time};

use crate::event::{About, Event, Gap, Interval, Protocol, Sink, Source};
use crate::{Error, whole};

/// Largest time in a file, in seconds: a century.
const LONGEST: f64 = 3.2e9;

#[derive(Default, Deserialize)]
#[serde(default)]
struct Test {
    start: Start,
    intervals: Vec<Streams>,
    end: End,
    error: Option<String>,
    #[serde(skip)]
    is_cut: bool,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Start {
    connected: Vec<Connected>,
    connecting_to: Option<serde::de::IgnoredAny>,
    accepted_connection: Option<serde::de::IgnoredAny>,
    version: Option<String>,
    timestamp: Stamp,
    cookie: String,
    test_start: Settings,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Stamp {
    timesecs: f64,
}

#[derive(Clone, Default, Deserialize)]
#[serde(default)]
struct Connected {
    socket: i64,
    local_host: String,
    local_port: u32,
    remote_host: String,
    remote_port: u32,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Settings {
    protocol: String,
    reverse: i64,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Streams {
    streams: Vec<Measured>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Measured {
    socket: i64,
    end: f64,
    seconds: f64,
    bytes: f64,
    retransmits: Option<f64>,
    snd_cwnd: Option<f64>,
    /// RTT and its variation, in microseconds.
    rtt: Option<f64>,
    rttvar: Option<f64>,
    omitted: bool,
    sender: Option<bool>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct End {
    streams: Vec<Totals>,
    sender_tcp_congestion: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Totals {
    sender: Option<Measured>,
    receiver: Option<Measured>,
}

/// Line of `--json-stream`.
#[derive(Deserialize)]
struct Line<'a> {
    event: &'a str,
    #[serde(borrow)]
    data: &'a RawValue,
}

/// Reports whether a file whose first bytes these are is of iperf3.
pub fn looks_like(first: &[u8]) -> bool {
    let text = String::from_utf8_lossy(first);
    let text = text.trim_start();
    text.starts_with('{')
        && (text.contains("\"start\"") && (text.contains("\"test_start\"") || text.contains("\"iperf 3")))
}

/// Reads a file of iperf3. It may hold several tests.
///
/// # Errors
/// Fails if it is no such file, or holds no interval of TCP.
pub fn read(input: impl Read, name: &str, sink: &mut dyn Sink) -> Result<(), Error> {
    let (bytes, is_cut) = whole::contents(input, name)?;
    let mut tests = tests(&bytes, name)?;
    if let Some(last) = tests.last_mut() {
        last.is_cut |= is_cut;
    }
    let mut found = 0;
    for test in &tests {
        found += test.report(name, sink);
    }
    if found > 0 {
        return Ok(());
    }
    let protocol =
        tests.iter().map(|test| test.start.test_start.protocol.as_str()).find(|name| *name != "TCP");
    let message =
        match (protocol.filter(|name| !name.is_empty()), tests.iter().find_map(|test| test.error.clone())) {
            (Some(protocol), _) => {
                format!("it is a test of {protocol}, without window and ACKs: give one of TCP")
            }
            (None, Some(error)) => format!("the test failed: {error}"),
            (None, None) => "it has no interval of iperf3".to_owned(),
        };
    Err(Error { file: name.to_owned(), at: None, message })
}

fn tests(bytes: &[u8], name: &str) -> Result<Vec<Test>, Error> {
    let mut tests: Vec<Test> = Vec::new();
    for value in serde_json::Deserializer::from_slice(bytes).into_iter::<&RawValue>() {
        let value = match value {
            Ok(value) => value.get(),
            Err(error) if error.is_eof() && !tests.is_empty() => {
                tests.iter_mut().last().into_iter().for_each(|test| test.is_cut = true);
                break;
            }
            Err(error) => return Err(whole::wrong(name, "iperf3", &error)),
        };
        let failed = |error: serde_json::Error| whole::wrong(name, "iperf3", &error);
        let Ok(line) = serde_json::from_str::<Line<'_>>(value) else {
            tests.push(serde_json::from_str(value).map_err(failed)?);
            continue;
        };
        if line.event == "start" || tests.is_empty() {
            tests.push(Test::default());
        }
        let Some(test) = tests.last_mut() else { continue };
        match line.event {
            "start" => test.start = serde_json::from_str(line.data.get()).map_err(failed)?,
            "interval" => test.intervals.push(serde_json::from_str(line.data.get()).map_err(failed)?),
            "end" => test.end = serde_json::from_str(line.data.get()).map_err(failed)?,
            "error" => test.error = serde_json::from_str(line.data.get()).ok(),
            _ => {}
        }
    }
    Ok(tests)
}

impl Test {
    /// Reports the streams of a test of TCP. Returns their number.
    fn report(&self, name: &str, sink: &mut dyn Sink) -> usize {
        if self.start.test_start.protocol != "TCP" || self.intervals.iter().all(|i| i.streams.is_empty()) {
            return 0;
        }
        for connected in &self.start.connected {
            let id = sink.open(self.about(name, connected));
            self.stream(connected.socket, id, sink);
        }
        self.start.connected.len()
    }

    /// Returns the end that wrote the file.
    fn side(&self) -> Option<Side> {
        match (&self.start.connecting_to, &self.start.accepted_connection) {
            (Some(_), _) => Some(Side::Client),
            (None, Some(_)) => Some(Side::Server),
            (None, None) => None,
        }
    }

    fn about(&self, name: &str, connected: &Connected) -> About {
        let Connected { local_host, local_port, remote_host, remote_port, .. } = connected;
        let ports = [local_port.min(remote_port), local_port.max(remote_port)];
        let identity = match self.start.cookie.as_str() {
            "" => String::new(),
            cookie => format!("{cookie}:{}-{}", ports[0], ports[1]),
        };
        About {
            name: match local_host.as_str() {
                "" => name.to_owned(),
                host => format!("{host}:{local_port} to {remote_host}:{remote_port}"),
            },
            identity,
            protocol: Protocol::Tcp,
            source: Source::Intervals,
            vantage: self.side(),
            parameters: None,
            controller: self.end.sender_tcp_congestion.clone(),
            program: self.start.version.clone(),
        }
    }

    fn stream(&self, socket: i64, id: usize, sink: &mut dyn Sink) {
        let here = self.side();
        let mut omitted = 0;
        let mut is_sender = None;
        let mut newest = Time::ZERO;
        for measured in self.intervals.iter().flat_map(|interval| &interval.streams) {
            if measured.socket != socket {
                continue;
            }
            if measured.omitted {
                omitted += 1;
                continue;
            }
            // Old versions do not say it.
            let sends = measured
                .sender
                .unwrap_or((self.start.test_start.reverse == 0) == (here == Some(Side::Client)));
            is_sender = Some(sends);
            let from = here.map(|side| if sends { side } else { side.peer() });
            newest = newest.max(self.time(measured.end));
            sink.event(id, newest, &Event::Interval(measured.interval(from, sends)));
        }
        self.other_end(socket, id, is_sender, sink);
        let end = self.time(self.length());
        let mut gap = |gap| sink.event(id, end, &Event::Gap(gap));
        if omitted > 0 {
            gap(Gap::Other(format!("{omitted} intervals are left out, as `--omit` told iperf3")));
        }
        if let Some(error) = &self.error {
            gap(Gap::Other(format!("iperf3 reports: {error}")));
        }
        if self.is_cut || (self.end.streams.is_empty() && self.error.is_none()) {
            gap(Gap::Truncated);
        }
    }

    /// Reports the bytes of the end that did not write the file.
    fn other_end(&self, socket: i64, id: usize, is_sender: Option<bool>, sink: &mut dyn Sink) {
        let Some(is_sender) = is_sender else { return };
        for totals in &self.end.streams {
            let other = if is_sender { &totals.receiver } else { &totals.sender };
            let Some(other) = other.as_ref().filter(|other| other.socket == socket && other.bytes > 0.0)
            else {
                continue;
            };
            let from = self.side().map(|side| if is_sender { side } else { side.peer() });
            sink.event(id, self.time(self.length()), &Event::Interval(other.interval(from, !is_sender)));
        }
    }

    /// Returns the end of the last interval, at either end.
    fn length(&self) -> f64 {
        let totals = self.end.streams.iter().flat_map(|totals| [&totals.sender, &totals.receiver]);
        let intervals = self.intervals.iter().flat_map(|interval| &interval.streams);
        intervals.chain(totals.flatten()).map(|measured| measured.end).fold(0.0, f64::max)
    }

    fn time(&self, seconds: f64) -> Time {
        let date = (self.start.timestamp.timesecs.clamp(0.0, LONGEST) * 1e9) as u64;
        Time(date) + Duration::from_secs_f64(seconds.clamp(0.0, LONGEST))
    }
}

impl Measured {
    fn interval(&self, from: Option<Side>, is_sent: bool) -> Interval {
        let time = |us: Option<f64>| us.filter(|us| *us > 0.0).map(|us| Duration::from_secs_f64(us * 1e-6));
        Interval {
            from,
            length: Duration::from_secs_f64(self.seconds.clamp(0.0, LONGEST)),
            bytes: Some(self.bytes as u64),
            is_sent,
            retransmissions: self.retransmits.map(|count| count as u64),
            cwnd: self.snd_cwnd.map(|bytes| bytes as u64),
            rtt: time(self.rtt),
            rttvar: time(self.rttvar),
            is_ping: false,
        }
    }
}

#[cfg(test)]
mod tests;

//! What a sender says of its congestion window, from its qlog.
//!
//! As stacks write it: one JSON document with traces, or records of JSON text (RFC 7464), one a line. Two events are read, whatever the version
//! calls their category: `metrics_updated`, with `congestion_window` or, of aioquic, `cwnd`, and `packet_sent`. A log has a clock of its own; the
//! numbers of packets tie it to the emulator's:
//!
//! ```text
//! offset = median over 1-RTT packets of (time of leaving in the capture) - (time of packet_sent in the log)
//! ```
//!
//! What cannot be read is left out: a program that is killed leaves half a line.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;

use serde::Deserialize;
use serde_json::value::RawValue;
use units::Time;

/// Bytes of a log at most; of a longer one of records the beginning counts, of a document nothing.
const MOST: u64 = 1 << 30;
/// Before a record of JSON text.
const RECORD: char = '\u{1e}';

/// A log's entries, in its own milliseconds.
#[derive(Debug, Default)]
struct Log {
    windows: Vec<(f64, u64)>,
    sent: Vec<(f64, u64)>,
}

#[derive(Deserialize)]
struct Document<'a> {
    #[serde(borrow)]
    traces: Vec<Trace<'a>>,
}

#[derive(Deserialize)]
struct Trace<'a> {
    #[serde(borrow)]
    events: Vec<Event<'a>>,
}

#[derive(Deserialize)]
struct Event<'a> {
    time: f64,
    name: &'a str,
    #[serde(borrow)]
    data: &'a RawValue,
}

#[derive(Deserialize)]
struct Metrics {
    #[serde(alias = "cwnd")]
    congestion_window: f64,
}

#[derive(Deserialize)]
struct Sent<'a> {
    #[serde(borrow)]
    header: Header<'a>,
}

#[derive(Deserialize)]
struct Header<'a> {
    packet_type: &'a str,
    packet_number: u64,
}

/// The windows of the connection, in one of these files, whose packets left at these times by their 1-RTT numbers, in the emulator's time; empty where
/// the log is not there or does not tell.
pub(crate) fn windows(files: impl Iterator<Item = File>, left: &BTreeMap<u64, Time>) -> Vec<(Time, u64)> {
    files
        .filter_map(|file| read(file).ok())
        .map(|text| Log::parse(&text).in_time_of(left))
        .max_by_key(Vec::len)
        .unwrap_or_default()
}

fn read(file: File) -> std::io::Result<String> {
    let mut bytes = Vec::new();
    file.take(MOST).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

impl Log {
    fn parse(text: &str) -> Self {
        let mut log = Self::default();
        if let Ok(document) = serde_json::from_str::<Document<'_>>(text) {
            document.traces.iter().flat_map(|trace| &trace.events).for_each(|event| log.take(event));
        } else {
            let records = text.lines().map(|line| line.trim_start_matches(RECORD));
            let events = records.filter_map(|line| serde_json::from_str::<Event<'_>>(line).ok());
            events.for_each(|event| log.take(&event));
        }
        log
    }

    fn take(&mut self, event: &Event<'_>) {
        let data = event.data.get();
        if event.name.ends_with("metrics_updated") {
            // Some have an RTT alone.
            let metrics = serde_json::from_str::<Metrics>(data);
            self.windows.extend(metrics.map(|metrics| (event.time, metrics.congestion_window as u64)));
        } else if event.name.ends_with("packet_sent") {
            let sent = serde_json::from_str::<Sent<'_>>(data).map(|sent| sent.header);
            let of_data = sent.ok().filter(|header| header.packet_type.eq_ignore_ascii_case("1RTT"));
            self.sent.extend(of_data.map(|header| (event.time, header.packet_number)));
        }
    }

    fn in_time_of(&self, left: &BTreeMap<u64, Time>) -> Vec<(Time, u64)> {
        let nanos = |ms: f64| (ms * 1e6) as i64;
        let pairs = self.sent.iter().filter_map(|(ms, number)| Some((left.get(number)?, nanos(*ms))));
        let mut offsets: Vec<i64> = pairs.map(|(at, sent)| at.0 as i64 - sent).collect();
        offsets.sort_unstable();
        let Some(offset) = offsets.get(offsets.len() / 2) else { return Vec::new() };
        // What is before the emulator began is before every packet.
        let at = |ms: f64| Time((nanos(ms) + offset).max(0) as u64);
        let mut windows: Vec<(Time, u64)> =
            self.windows.iter().map(|(ms, bytes)| (at(*ms), *bytes)).collect();
        windows.sort_by_key(|(at, _)| *at);
        windows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Packets 7, 8, 9 left at 107, 108 and 140 ms: the log's zero is at 100 ms, and the third waited behind it.
    fn left() -> BTreeMap<u64, Time> {
        [(7, 107), (8, 108), (9, 140)].map(|(number, ms)| (number, Time::from_millis(ms))).into()
    }

    const EVENTS: [&str; 7] = [
        r#"{"time":1,"name":"transport:packet_sent","data":{"header":{"packet_type":"initial","packet_number":7}}}"#,
        r#"{"time":2.5,"name":"recovery:metrics_updated","data":{"congestion_window":12000,"smoothed_rtt":3}}"#,
        r#"{"time":7,"name":"transport:packet_sent","data":{"header":{"packet_type":"1RTT","packet_number":7},"frames":[]}}"#,
        r#"{"time":8,"name":"transport:packet_sent","data":{"header":{"packet_type":"1RTT","packet_number":8}}}"#,
        r#"{"time":9,"name":"transport:packet_sent","data":{"header":{"packet_type":"1RTT","packet_number":9}}}"#,
        r#"{"time":9,"name":"recovery:metrics_updated","data":{"latest_rtt":3}}"#,
        r#"{"time":20,"name":"quic:metrics_updated","data":{"cwnd":6000.0}}"#,
    ];

    fn expected() -> Vec<(Time, u64)> {
        vec![(Time(102_500_000), 12_000), (Time(120_000_000), 6000)]
    }

    #[test]
    fn records_a_line() {
        let head = r#"{"qlog_format":"JSON-SEQ","trace":{"vantage_point":{"type":"server"}}}"#;
        let text = format!("\u{1e}{head}\n\u{1e}{}\n\u{1e}{{\"time\":30,\"na", EVENTS.join("\n\u{1e}"));
        assert_eq!(Log::parse(&text).in_time_of(&left()), expected());
    }

    #[test]
    fn one_document() {
        let text = format!("{{\"qlog_version\":\"0.3\",\"traces\":[{{\"events\":[{}]}}]}}", EVENTS.join(","));
        assert_eq!(Log::parse(&text).in_time_of(&left()), expected());
    }

    #[test]
    fn of_another_connection_or_nothing() {
        let of_others = [(1, Time::ZERO)].into();
        assert_eq!(Log::parse(&EVENTS.join("\n")).in_time_of(&of_others), []);
        for text in ["", "{", "[]", "{\"traces\":[]}", "no qlog"] {
            assert_eq!(Log::parse(text).in_time_of(&left()), [], "{text}");
        }
        assert_eq!(windows(std::iter::empty(), &left()), []);
    }
}

//! Reads a sender's congestion window from its qlog.
//!
//! Two formats are accepted: one JSON document with traces, and JSON text sequences (RFC 7464) with
//! one record per line. Two events are read, whatever category name the version gives them:
//! `packet_sent` and `metrics_updated`. The window is in `congestion_window` or, in aioquic's logs,
//! in `cwnd`. A log has its own clock. Packet numbers map it to the emulator's time:
//!
//! ```text
//! offset = median over 1-RTT packets of (time of leaving in the capture) - (time of packet_sent in the log)
//! ```
//!
//! Unreadable entries are skipped, because a killed program leaves half a line.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;

use serde::Deserialize;
use serde_json::value::RawValue;
use units::Time;

/// Largest part of a log that is read, in bytes. A longer sequence of records is cut there; a
/// longer document is ignored.
const MAX_LOG: u64 = 1 << 30;
/// Record separator of JSON text sequences.
const RECORD: char = '\u{1e}';

/// Entries of a log. Times are in milliseconds of the log's clock.
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

/// Returns the congestion windows of a connection, in the emulator's time. `departures` maps its
/// 1-RTT packet numbers to the times of departure, and so selects the right file. The result is
/// empty if no file belongs to the connection or has windows.
pub(crate) fn windows(
    files: impl Iterator<Item = File>,
    departures: &BTreeMap<u64, Time>,
) -> Vec<(Time, u64)> {
    files
        .filter_map(|file| read(file).ok())
        .map(|text| Log::parse(&text).in_time_of(departures))
        .max_by_key(Vec::len)
        .unwrap_or_default()
}

fn read(file: File) -> std::io::Result<String> {
    let mut bytes = Vec::new();
    file.take(MAX_LOG).read_to_end(&mut bytes)?;
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
            // Some of these events have only an RTT.
            let metrics = serde_json::from_str::<Metrics>(data);
            self.windows.extend(metrics.map(|metrics| (event.time, metrics.congestion_window as u64)));
        } else if event.name.ends_with("packet_sent") {
            let sent = serde_json::from_str::<Sent<'_>>(data).map(|sent| sent.header);
            let of_data = sent.ok().filter(|header| header.packet_type.eq_ignore_ascii_case("1RTT"));
            self.sent.extend(of_data.map(|header| (event.time, header.packet_number)));
        }
    }

    fn in_time_of(&self, departures: &BTreeMap<u64, Time>) -> Vec<(Time, u64)> {
        let nanos = |ms: f64| (ms * 1e6) as i64;
        let pairs = self.sent.iter().filter_map(|(ms, number)| Some((departures.get(number)?, nanos(*ms))));
        let mut offsets: Vec<i64> = pairs.map(|(at, sent)| at.0 as i64 - sent).collect();
        offsets.sort_unstable();
        let Some(offset) = offsets.get(offsets.len() / 2) else { return Vec::new() };
        // Times before the start of the emulator become zero: they precede every packet.
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

    /// Departures of packets 7, 8 and 9 at 107, 108 and 140 ms. The log's clock is zero at 100 ms;
    /// the third packet was delayed after it was logged.
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

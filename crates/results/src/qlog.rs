//! A flow's packet events as qlog files (`.sqlog`) for [qvis](https://qvis.quictools.info): the sender's, and beside it the
//! receiver's, `far.rs`.
//!
//! The format is JSON-SEQ (RFC 7464) of qlog 0.3 with names like `transport:packet_sent`: the newest that qvis
//! loads. It knows neither the later header (`file_schema`) nor the later names (`quic:packet_sent`).
//!
//! Serialised by hand, without the crate `qlog`: since 0.17 it writes the later names, and 0.16, the last with these,
//! keeps times and RTTs as `f32`, which after 17 minutes of a run resolves only 62 microseconds.
//!
//! What a reader must know beyond the standard:
//! - `metrics_updated` repeats only what changed. Standard fields are in ms, bytes, bit/s; the controller's own
//!   variables have the prefix `cc_` and the controller's units (BBR has its own `min_rtt`, in seconds). Its
//!   `ssthresh`, if it has one, is the standard field.
//! - `congestion_state_updated` tells `recovery` from every reduction until a packet sent later is acknowledged (TCP:
//!   everything sent before it); `slow_start` and `congestion_avoidance` are told apart by `ssthresh`, and without
//!   one every state outside recovery is `congestion_avoidance`. An undone reduction is not told.
//! - `packet_received` is an ACK, numbered as the receiver's file numbers it (on the wire: in order of arrival); the trace does
//!   not have its size. A QUIC range
//!   begins at its first packet that was not acknowledged before, because a receiver repeats everything since the
//!   last gap and qvis visits each packet of each range. For TCP packet numbers count transmissions, `acked_ranges`
//!   has those that the cumulative ACK covers for the first time, and `cumulative` is its byte.
//! - `packet_lost` has the packet's `raw.length`, because qvis shows it.
//! - A packet of a handshake is an `initial`, of TCP too; the reply has the number of what it answers.
//! - A trace without events gives a header alone, which qvis refuses.

mod far;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufWriter, Write};

use congestion::Cause;
use scenario::trace::{Ack, Event, Handshake, Metrics, Trace, trigger};
use serde::{Serialize, Serializer};
use serde_json::Number;
use units::{Duration, Time};

/// What the header says about a flow.
#[derive(Clone, Debug, PartialEq)]
pub struct Meta {
    /// Of the experiment.
    pub title: String,
    /// The flow's label.
    pub flow: String,
    /// Name of the controller.
    pub algorithm: String,
    /// Decides how acknowledgements are read.
    pub transport: Transport,
    /// Of the run.
    pub seed: u64,
    /// First packet; the log's times count from here.
    pub start: Time,
}

/// What the flow speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// Acknowledgements list packet numbers.
    Quic,
    /// Acknowledgements are cumulative bytes.
    Tcp,
}

impl From<&scenario::Transport> for Transport {
    fn from(transport: &scenario::Transport) -> Self {
        match transport {
            scenario::Transport::Quic { .. } => Self::Quic,
            scenario::Transport::Tcp { .. } => Self::Tcp,
        }
    }
}

/// Writes the log of one flow's sender.
///
/// # Errors
/// What `out` refuses.
pub fn write(out: impl Write, meta: &Meta, trace: &Trace) -> io::Result<()> {
    let mut log = Log {
        out: Out::new(out, meta),
        transport: meta.transport,
        sent: Sent::default(),
        metrics: BTreeMap::new(),
        state: None,
        recovery: None,
    };
    // The peer that sends the data, as in a download.
    log.out.header(meta, &VantagePoint { name: &meta.flow, r#type: "server" })?;
    for (time, event) in trace {
        log.event(*time, event)?;
    }
    log.out.flush()
}

/// Writes the log of one flow's receiver.
///
/// # Errors
/// What `out` refuses.
pub fn write_far(out: impl Write, meta: &Meta, trace: &Trace) -> io::Result<()> {
    far::write(Out::new(out, meta), meta, trace)
}

#[derive(Serialize)]
struct Header<'a> {
    qlog_version: &'static str,
    qlog_format: &'static str,
    title: &'a str,
    description: &'a str,
    trace: TraceHeader<'a>,
}

#[derive(Serialize)]
struct TraceHeader<'a> {
    vantage_point: &'a VantagePoint<'a>,
    title: &'a str,
    description: &'a str,
    configuration: Configuration<'a>,
    common_fields: CommonFields,
}

#[derive(Serialize)]
struct VantagePoint<'a> {
    name: &'a str,
    r#type: &'static str,
}

#[derive(Serialize)]
struct Configuration<'a> {
    time_offset: f64,
    algorithm: &'a str,
    seed: u64,
}

#[derive(Serialize)]
struct CommonFields {
    protocol_type: [&'static str; 1],
    time_format: &'static str,
    reference_time: f64,
}

#[derive(Serialize)]
struct Entry<D> {
    time: f64,
    name: &'static str,
    data: D,
}

/// The data of `packet_sent`, `packet_received` and `packet_lost`.
#[derive(Serialize)]
struct Packet {
    header: PacketHeader,
    #[serde(skip_serializing_if = "Option::is_none")]
    raw: Option<Raw>,
    #[serde(skip_serializing_if = "Option::is_none")]
    frames: Option<[Frame; 1]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ecn: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    trigger: Option<&'static str>,
}

impl Packet {
    fn new(packet_number: u64, length: Option<u32>) -> Self {
        let header = PacketHeader { packet_type: "1RTT", packet_number };
        Self { header, raw: length.map(|length| Raw { length }), frames: None, ecn: None, trigger: None }
    }

    fn with(frame: Frame, packet_number: u64, length: Option<u32>) -> Self {
        Self { frames: Some([frame]), ..Self::new(packet_number, length) }
    }

    fn of_handshake(packet: &Handshake) -> Self {
        let header = PacketHeader { packet_type: "initial", packet_number: packet.number };
        Self { header, ..Self::new(packet.number, Some(packet.bytes)) }
    }
}

#[derive(Serialize)]
struct PacketHeader {
    packet_type: &'static str,
    packet_number: u64,
}

#[derive(Serialize)]
struct Raw {
    length: u32,
}

#[derive(Serialize)]
#[serde(tag = "frame_type", rename_all = "snake_case")]
enum Frame {
    Stream {
        stream_id: u64,
        offset: u64,
        length: u32,
    },
    Ack {
        #[serde(skip_serializing_if = "Option::is_none")]
        ack_delay: Option<f64>,
        acked_ranges: Vec<(u64, u64)>,
        #[serde(skip_serializing_if = "Option::is_none")]
        cumulative: Option<u64>,
    },
}

#[derive(Serialize)]
struct StateChange {
    #[serde(skip_serializing_if = "Option::is_none")]
    old: Option<State>,
    new: State,
    #[serde(skip_serializing_if = "Option::is_none")]
    trigger: Option<&'static str>,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum State {
    SlowStart,
    CongestionAvoidance,
    Recovery,
}

/// Prefix and name of a metric.
type Key = (&'static str, &'static str);

/// Metrics in a JSON object.
struct Fields(Vec<(Key, Number)>);

impl Serialize for Fields {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer
            .collect_map(self.0.iter().map(|((prefix, name), value)| (format!("{prefix}{name}"), value)))
    }
}

/// Prefix of the controller's own variables.
const OWN: &str = "cc_";

/// In qlog's words where it has one.
fn cause_word(cause: Cause) -> &'static str {
    match cause {
        Cause::Loss => "loss",
        Cause::Ecn => "ECN",
        Cause::Delay => "delay",
        Cause::PersistentCongestion => "persistent_congestion",
        _ => "timeout",
    }
}

/// Milliseconds, the float nearest to the exact decimal, so that it prints with six decimals at most.
fn ms(duration: Duration) -> f64 {
    duration.0 as f64 / 1e6
}

/// Packets on their way. Packet numbers are in the order of sending.
#[derive(Default)]
struct Sent {
    next_pn: u64,
    highest: u64,
    /// Packet number to size and end of its stream data, until acknowledged; lost ones too.
    packets: BTreeMap<u64, (u32, u64)>,
    /// End of stream data and packet number: neither lost nor acknowledged. Only for TCP.
    by_end: BTreeSet<(u64, u64)>,
}

impl Sent {
    fn add(&mut self, transport: Transport, pn: u64, bytes: u32, end: u64) {
        self.next_pn = self.next_pn.max(pn.saturating_add(1));
        self.highest = self.highest.max(end);
        self.packets.insert(pn, (bytes, end));
        if transport == Transport::Tcp {
            self.by_end.insert((end, pn));
        }
    }

    /// Returns the packet's size. It may still be acknowledged.
    fn lose(&mut self, pn: u64) -> Option<u32> {
        let &(bytes, end) = self.packets.get(&pn)?;
        self.by_end.remove(&(end, pn));
        Some(bytes)
    }

    /// The first packet from this one on that is not acknowledged.
    fn pending_from(&self, pn: u64) -> Option<u64> {
        self.packets.range(pn..).next().map(|(&pn, _)| pn)
    }

    /// Cuts off what each range repeats; its last packet remains.
    fn acknowledge(&mut self, ranges: &[(u64, u64)]) -> Vec<(u64, u64)> {
        let mut news = Vec::with_capacity(ranges.len());
        for &(first, last) in ranges {
            let pending = self.pending_from(first);
            news.push((pending.map_or(last, |pn| pn.min(last)), last));
            while let Some(pn) = self.pending_from(first).filter(|&pn| pn <= last) {
                self.packets.remove(&pn);
            }
        }
        news
    }

    /// Ranges of packet numbers that a cumulative ACK covers for the first time.
    fn cover(&mut self, cumulative: u64) -> Vec<(u64, u64)> {
        let mut pns = BTreeSet::new();
        while let Some(&(end, pn)) = self.by_end.first()
            && end <= cumulative
        {
            self.by_end.pop_first();
            self.packets.remove(&pn);
            pns.insert(pn);
        }
        ranges(pns)
    }
}

/// Ascending numbers as ranges.
fn ranges(numbers: impl IntoIterator<Item = u64>) -> Vec<(u64, u64)> {
    let mut ranges: Vec<(u64, u64)> = Vec::new();
    for number in numbers {
        match ranges.last_mut() {
            Some(last) if last.1.checked_add(1) == Some(number) => last.1 = number,
            _ => ranges.push((number, number)),
        }
    }
    ranges
}

/// A file that begins with its header.
struct Out<W: Write> {
    out: BufWriter<W>,
    start: Time,
}

impl<W: Write> Out<W> {
    fn new(out: W, meta: &Meta) -> Self {
        Self { out: BufWriter::new(out), start: meta.start }
    }

    fn record(&mut self, record: &impl Serialize) -> io::Result<()> {
        self.out.write_all(b"\x1e")?;
        serde_json::to_writer(&mut self.out, record)?;
        self.out.write_all(b"\n")
    }

    fn entry(&mut self, time: Time, name: &'static str, data: impl Serialize) -> io::Result<()> {
        let time = ms(time - self.start);
        self.record(&Entry { time, name, data })
    }

    fn header(&mut self, meta: &Meta, vantage_point: &VantagePoint<'_>) -> io::Result<()> {
        let protocol = match meta.transport {
            Transport::Quic => "QUIC",
            Transport::Tcp => "TCP",
        };
        let description = format!("{} over {protocol}, seed {}", meta.algorithm, meta.seed);
        self.record(&Header {
            qlog_version: "0.3",
            qlog_format: "JSON-SEQ",
            title: &meta.title,
            description: &description,
            trace: TraceHeader {
                vantage_point,
                title: vantage_point.name,
                description: &description,
                configuration: Configuration {
                    time_offset: 0.0,
                    algorithm: &meta.algorithm,
                    seed: meta.seed,
                },
                common_fields: CommonFields {
                    protocol_type: [protocol],
                    time_format: "relative",
                    reference_time: ms(meta.start - Time::ZERO),
                },
            },
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

struct Log<W: Write> {
    out: Out<W>,
    transport: Transport,
    sent: Sent,
    /// As last written.
    metrics: BTreeMap<Key, Number>,
    state: Option<State>,
    /// The recovery period ends with this packet number (QUIC) or byte (TCP).
    recovery: Option<u64>,
}

impl<W: Write> Log<W> {
    fn event(&mut self, time: Time, event: &Event) -> io::Result<()> {
        match event {
            Event::Sent { pn, bytes, offset, len } => {
                self.sent.add(self.transport, *pn, *bytes, offset.saturating_add(u64::from(*len)));
                let frame = Frame::Stream { stream_id: 0, offset: *offset, length: *len };
                self.out.entry(time, "transport:packet_sent", Packet::with(frame, *pn, Some(*bytes)))
            }
            Event::Acked(ack) => self.on_ack(time, ack),
            Event::Lost { pn, detection } => {
                let mut packet = Packet::new(*pn, self.sent.lose(*pn));
                packet.trigger = Some(trigger(*detection));
                self.out.entry(time, "recovery:packet_lost", packet)
            }
            Event::Reduced(cause) => {
                self.recovery = Some(match self.transport {
                    Transport::Quic => self.sent.next_pn,
                    Transport::Tcp => self.sent.highest,
                });
                self.change(time, State::Recovery, Some(cause_word(*cause)))
            }
            Event::Metrics(metrics) => self.on_metrics(time, metrics),
            Event::Opens(packet) => {
                self.out.entry(time, "transport:packet_sent", Packet::of_handshake(packet))
            }
            Event::Opened(packet) => {
                self.out.entry(time, "transport:packet_received", Packet::of_handshake(packet))
            }
            // Of the other end.
            Event::Received { .. } | Event::Acks(_) => Ok(()),
        }
    }

    fn on_ack(&mut self, time: Time, Ack { number, ranges, delay }: &Ack) -> io::Result<()> {
        let newest = ranges.iter().map(|r| r.1).max();
        if self.recovery.is_some_and(|end| newest.is_some_and(|newest| newest >= end)) {
            self.recovery = None;
        }
        let frame = match self.transport {
            Transport::Quic => Frame::Ack {
                ack_delay: Some(ms(*delay)),
                acked_ranges: self.sent.acknowledge(ranges),
                cumulative: None,
            },
            Transport::Tcp => {
                let acked_ranges = self.sent.cover(newest.unwrap_or(0));
                Frame::Ack { ack_delay: None, acked_ranges, cumulative: newest }
            }
        };
        self.out.entry(time, "transport:packet_received", Packet::with(frame, *number, None))
    }

    fn on_metrics(&mut self, time: Time, metrics: &Metrics) -> io::Result<()> {
        let mut changed = Vec::new();
        let mut put = |key: Key, value: Option<Number>| {
            if let Some(value) = value
                && self.metrics.get(&key) != Some(&value)
            {
                self.metrics.insert(key, value.clone());
                changed.push((key, value));
            }
        };
        let real = |d: Duration| if d == Duration::MAX { None } else { Number::from_f64(ms(d)) };
        put(("", "congestion_window"), Some(metrics.cwnd.into()));
        put(("", "bytes_in_flight"), Some(metrics.bytes_in_flight.into()));
        put(("", "smoothed_rtt"), real(metrics.smoothed_rtt));
        put(("", "min_rtt"), real(metrics.min_rtt));
        put(("", "latest_rtt"), metrics.latest_rtt.and_then(real));
        put(("", "rtt_variance"), real(metrics.rttvar));
        put(("", "pacing_rate"), metrics.pacing_rate.map(Number::from));
        let own: BTreeMap<&'static str, f64> = metrics.inner.iter().copied().collect();
        for (&name, &value) in &own {
            if name != SSTHRESH {
                put((OWN, name), Number::from_f64(value));
            } else if value.is_finite() {
                put(("", name), Some((value as u64).into()));
            }
        }
        if !changed.is_empty() {
            self.out.entry(time, "recovery:metrics_updated", Fields(changed))?;
        }
        let threshold = own.get(SSTHRESH).copied().filter(|s| !s.is_nan());
        match threshold {
            _ if self.recovery.is_some() => Ok(()),
            // The window is a whole number of bytes, the threshold need not be one.
            Some(threshold) if (metrics.cwnd as f64) < threshold.floor() => {
                self.change(time, State::SlowStart, None)
            }
            None if self.state.is_none() => Ok(()),
            _ => self.change(time, State::CongestionAvoidance, None),
        }
    }

    fn change(&mut self, time: Time, new: State, trigger: Option<&'static str>) -> io::Result<()> {
        if self.state == Some(new) && trigger.is_none() {
            return Ok(());
        }
        let old = self.state.replace(new);
        self.out.entry(time, "recovery:congestion_state_updated", StateChange { old, new, trigger })
    }
}

/// The one variable of controllers that is a standard field.
const SSTHRESH: &str = "ssthresh";

#[cfg(test)]
mod tests {
    use congestion::Detection;
    use link::{Limit, LinkConfig};
    use recovery::AckConfig;
    use scenario::{FlowConfig, Record, Scenario, Watch};
    use serde_json::{Value, json};
    use units::Rate;

    use super::*;

    fn meta(transport: Transport) -> Meta {
        Meta {
            title: "a \"title\"\n\u{1e} of two lines".to_owned(),
            flow: "näive \\ flow".to_owned(),
            algorithm: "new-reno".to_owned(),
            transport,
            seed: u64::MAX,
            start: Time::from_millis(1000),
        }
    }

    fn log(meta: &Meta, trace: &Trace) -> Vec<u8> {
        let mut out = Vec::new();
        write(&mut out, meta, trace).unwrap();
        out
    }

    /// Every record: separator, one line of JSON, newline.
    fn records(log: &[u8]) -> Vec<Value> {
        let text = std::str::from_utf8(log).unwrap();
        assert!(text.starts_with('\u{1e}') && text.ends_with('\n'));
        let parse = |line: &str| serde_json::from_str(line.strip_suffix('\n').unwrap()).unwrap();
        let records: Vec<Value> = text[1..].split('\u{1e}').map(parse).collect();
        assert_eq!(text.lines().count(), records.len());
        records
    }

    fn named<'a>(records: &'a [Value], name: &str) -> Vec<&'a Value> {
        records.iter().filter(|r| r["name"] == name).map(|r| &r["data"]).collect()
    }

    fn assert_monotone(events: &[Value]) {
        let times: Vec<f64> = events.iter().map(|e| e["time"].as_f64().unwrap()).collect();
        assert!(times.is_sorted() && times.iter().all(|t| t.is_finite() && *t >= 0.0));
    }

    fn sent(at: u64, pn: u64, offset: u64) -> (Time, Event) {
        (Time(at), Event::Sent { pn, bytes: 1252, offset, len: 1215 })
    }

    fn acked(at: u64, number: u64, ranges: Vec<(u64, u64)>) -> (Time, Event) {
        (Time(at), Event::Acked(Ack { number, ranges, delay: Duration::from_micros(1500) }))
    }

    fn metrics(at: u64, cwnd: u64, inner: Vec<(&'static str, f64)>) -> (Time, Event) {
        let metrics = Metrics {
            cwnd,
            bytes_in_flight: 1252,
            latest_rtt: Some(Duration(50_000_001)),
            smoothed_rtt: Duration::from_millis(51),
            min_rtt: Duration::MAX,
            rttvar: Duration::from_millis(2),
            pacing_rate: None,
            inner,
        };
        (Time(at), Event::Metrics(metrics))
    }

    #[test]
    fn the_header_is_that_of_qvis_and_escaped() {
        let meta = meta(Transport::Quic);
        let header = &records(&log(&meta, &Trace::new()))[0];
        assert_eq!(header["qlog_version"], "0.3");
        assert_eq!(header["qlog_format"], "JSON-SEQ");
        assert_eq!(header["title"], meta.title);
        let trace = &header["trace"];
        assert_eq!(trace["title"], meta.flow);
        assert_eq!(trace["vantage_point"], json!({ "name": meta.flow, "type": "server" }));
        let configuration = json!({ "time_offset": 0.0, "algorithm": "new-reno", "seed": u64::MAX });
        assert_eq!(trace["configuration"], configuration);
        let common =
            json!({ "protocol_type": ["QUIC"], "time_format": "relative", "reference_time": 1000.0 });
        assert_eq!(trace["common_fields"], common);
    }

    #[test]
    fn every_event_has_its_record() {
        let start = 1_000_000_000;
        let trace = vec![
            sent(start, 0, 0),
            sent(start + 123_456, 1, 1215),
            sent(start + 123_456, 2, 2430),
            acked(start + 50_000_000, 0, vec![(1, 1)]),
            (Time(start + 50_000_000), Event::Lost { pn: 0, detection: Detection::TimeThreshold }),
            (Time(start + 50_000_000), Event::Reduced(Cause::Loss)),
            metrics(
                start + 50_000_000,
                5000,
                vec![("ssthresh", 5000.7), ("bwe", f64::NAN), ("min_rtt", 0.05)],
            ),
            sent(start + 60_000_000, 3, 0),
            metrics(
                start + 61_000_000,
                5000,
                vec![("ssthresh", f64::INFINITY), ("bwe", 1.5), ("min_rtt", 0.05)],
            ),
            acked(start + 110_000_000, 2, vec![(1, 3)]),
            metrics(start + 110_000_000, 6000, vec![("ssthresh", 5000.7)]),
        ];
        let records = records(&log(&meta(Transport::Quic), &trace));
        assert_monotone(&records[1..]);
        assert_eq!(
            records[2],
            json!({ "time": 0.123456, "name": "transport:packet_sent", "data": {
                "header": { "packet_type": "1RTT", "packet_number": 1 },
                "raw": { "length": 1252 },
                "frames": [{ "frame_type": "stream", "stream_id": 0, "offset": 1215, "length": 1215 }],
            }})
        );
        assert_eq!(
            named(&records, "transport:packet_received"),
            [
                &json!({ "header": { "packet_type": "1RTT", "packet_number": 0 },
                    "frames": [{ "frame_type": "ack", "ack_delay": 1.5, "acked_ranges": [[1, 1]] }] }),
                &json!({ "header": { "packet_type": "1RTT", "packet_number": 2 },
                    "frames": [{ "frame_type": "ack", "ack_delay": 1.5, "acked_ranges": [[2, 3]] }] }),
            ]
        );
        assert_eq!(
            named(&records, "recovery:packet_lost"),
            [&json!({ "header": { "packet_type": "1RTT", "packet_number": 0 },
                "raw": { "length": 1252 }, "trigger": "time_threshold" })]
        );
        // Only what changed; no NaN, no infinity, no sample that never was.
        assert_eq!(
            named(&records, "recovery:metrics_updated"),
            [
                &json!({ "congestion_window": 5000, "bytes_in_flight": 1252, "smoothed_rtt": 51.0,
                    "latest_rtt": 50.000001, "rtt_variance": 2.0, "ssthresh": 5000, "cc_min_rtt": 0.05 }),
                &json!({ "cc_bwe": 1.5 }),
                &json!({ "congestion_window": 6000 }),
            ]
        );
        assert_eq!(
            named(&records, "recovery:congestion_state_updated"),
            [
                &json!({ "new": "recovery", "trigger": "loss" }),
                &json!({ "old": "recovery", "new": "congestion_avoidance" }),
            ]
        );
    }

    #[test]
    fn quic_acks_begin_with_what_is_new() {
        let mut trace: Trace = (0..6).map(|pn| sent(0, pn, pn * 1215)).collect();
        trace.extend([
            acked(1, 1, vec![(0, 1), (3, 4)]),
            (Time(1), Event::Lost { pn: 2, detection: Detection::PacketThreshold }),
            acked(2, 2, vec![(0, 1), (3, 5)]),
            // The lost one arrives after all.
            acked(3, 3, vec![(0, 5)]),
        ]);
        let records = records(&log(&meta(Transport::Quic), &trace));
        let acks = named(&records, "transport:packet_received");
        let ranges: Vec<&Value> = acks.into_iter().map(|ack| &ack["frames"][0]["acked_ranges"]).collect();
        assert_eq!(ranges, [&json!([[0, 1], [3, 4]]), &json!([[1, 1], [5, 5]]), &json!([[2, 5]])]);
    }

    #[test]
    fn slow_start_is_told_by_its_threshold() {
        let inf = vec![("ssthresh", f64::INFINITY)];
        let trace = vec![
            metrics(0, 5000, inf.clone()),
            metrics(1, 6000, inf),
            metrics(2, 6000, vec![("ssthresh", 6000.0)]),
        ];
        assert_eq!(
            named(&records(&log(&meta(Transport::Quic), &trace)), "recovery:congestion_state_updated"),
            [&json!({ "new": "slow_start" }), &json!({ "old": "slow_start", "new": "congestion_avoidance" }),]
        );
    }

    #[test]
    fn tcp_acks_name_transmissions() {
        let trace = vec![
            sent(0, 0, 0),
            sent(0, 1, 1215),
            sent(0, 2, 2430),
            acked(1, 1, vec![(0, 0)]),
            (Time(2), Event::Lost { pn: 0, detection: Detection::PacketThreshold }),
            sent(2, 3, 0),
            sent(2, 4, 3645),
            acked(3, 3, vec![(0, 3645)]),
            acked(4, 4, vec![(0, 4000)]),
            acked(5, 5, vec![(0, 4860)]),
        ];
        let records = records(&log(&meta(Transport::Tcp), &trace));
        assert_eq!(records[0]["trace"]["common_fields"]["protocol_type"], json!(["TCP"]));
        let acks = named(&records, "transport:packet_received");
        let acks: Vec<&Value> = acks.into_iter().map(|ack| &ack["frames"][0]).collect();
        assert_eq!(
            acks,
            [
                &json!({ "frame_type": "ack", "acked_ranges": [], "cumulative": 0 }),
                &json!({ "frame_type": "ack", "acked_ranges": [[1, 3]], "cumulative": 3645 }),
                &json!({ "frame_type": "ack", "acked_ranges": [], "cumulative": 4000 }),
                &json!({ "frame_type": "ack", "acked_ranges": [[4, 4]], "cumulative": 4860 }),
            ]
        );
    }

    /// 10 Mbit/s, 50 ms, one bandwidth-delay product of buffer.
    fn simulate(algorithm: &str, transport: scenario::Transport, transfer: u64) -> (Meta, Record) {
        let (rate, rtt) = (Rate(10_000_000), Duration::from_millis(50));
        let limit = rate.bytes_in(rtt);
        let algorithm = congestion::Registry::default().get(algorithm).unwrap().algorithm();
        let flow = FlowConfig {
            ack: AckConfig::default(),
            transfer: Some(transfer),
            handshake: true,
            ..FlowConfig::new("one", algorithm.clone(), transport, rtt)
        };
        let limit = Limit::Bytes(units::Bytes(limit));
        let link = LinkConfig { limit, delay: rtt / 2, ..LinkConfig::plain(rate) };
        let scenario = Scenario { trace: true, ..Scenario::new(link, [flow], Duration::from_secs(600)) };
        let outcome = sim::run(&scenario, &Watch::default()).unwrap();
        let record = outcome.flows[0].clone();
        let meta = Meta {
            title: "test".to_owned(),
            flow: "one".to_owned(),
            algorithm: algorithm.name().to_owned(),
            transport: Transport::from(&transport),
            seed: 1,
            start: record.started,
        };
        (meta, record)
    }

    const QUIC: scenario::Transport = scenario::Transport::Quic { datagram: 1252, header: 37, overhead: 42 };
    const TCP: scenario::Transport = scenario::Transport::Tcp { mss: 1448, overhead: 52 };

    #[test]
    fn a_run_is_told_completely() {
        for (algorithm, transport) in [("new-reno", QUIC), ("cubic", QUIC), ("tcp-reno", TCP)] {
            let (meta, record) = simulate(algorithm, transport, 2_000_000);
            let records = records(&log(&meta, record.trace.as_ref().unwrap()));
            assert_monotone(&records[1..]);
            let count = |name: &str| named(&records, name).len() as u64;
            // The Initial or SYN is among them.
            assert_eq!(count("transport:packet_sent"), record.totals.packets, "{algorithm}");
            let lost = named(&records, "recovery:packet_lost");
            assert_eq!(lost.len() as u64, record.stats.lost(), "{algorithm}");
            assert!(!lost.is_empty(), "{algorithm}");
            let by = |word: &str| lost.iter().filter(|l| l["trigger"] == word).count() as u64;
            assert_eq!(by("reordering_threshold"), record.stats.lost_by_packet_threshold, "{algorithm}");
            assert_eq!(by("time_threshold"), record.stats.lost_by_time_threshold, "{algorithm}");

            let states = named(&records, "recovery:congestion_state_updated");
            assert_eq!(states[0]["new"], "slow_start", "{algorithm}");
            assert!(states.windows(2).all(|w| w[0]["new"] == w[1]["old"]), "{algorithm}");
            let reductions = states.iter().filter(|s| s["new"] == "recovery").count() as u64;
            assert_eq!(reductions, record.stats.loss_events + record.stats.collapses, "{algorithm}");
            assert!(states.iter().any(|s| s["old"] == "recovery"), "{algorithm}");
        }
    }

    /// What leaves one end under a name arrives at the other under the same, later: packets, ACKs, handshakes. What was lost on the
    /// way leaves and does not arrive.
    #[test]
    fn both_ends_tell_the_same() {
        for transport in [QUIC, TCP] {
            let (meta, record) = simulate("new-reno", transport, 1_000_000);
            let near = records(&log(&meta, record.trace.as_ref().unwrap()));
            let mut far = Vec::new();
            write_far(&mut far, &meta, record.far_trace.as_ref().unwrap()).unwrap();
            let far = records(&far);
            assert_monotone(&far[1..]);
            assert_eq!(
                far[0]["trace"]["vantage_point"],
                json!({ "name": "one, receiver", "type": "client" })
            );
            let key = |entry: &Value| {
                let header = &entry["data"]["header"];
                (header["packet_type"].to_string(), header["packet_number"].as_u64().unwrap())
            };
            let times = |records: &[Value], name: &str| -> BTreeMap<(String, u64), (f64, Value)> {
                let named = records.iter().filter(|r| r["name"] == name);
                named.map(|r| (key(r), (r["time"].as_f64().unwrap(), r["data"]["raw"].clone()))).collect()
            };
            let (sent, received) = ("transport:packet_sent", "transport:packet_received");
            for (from, to, lost) in [(&near, &far, record.totals.dropped), (&far, &near, 0)] {
                let (left, arrived) = (times(from, sent), times(to, received));
                // What is under way when the last byte arrives has left only.
                assert!(left.len() as u64 >= arrived.len() as u64 + lost && !arrived.is_empty());
                for (key, (at, raw)) in &arrived {
                    let (since, sent_raw) = &left[key];
                    assert!(at - since >= 24.999, "{key:?}: {since} {at}");
                    assert_eq!(raw, sent_raw, "{key:?}");
                }
            }
            let initials = times(&far, received);
            assert_eq!(initials.keys().filter(|key| key.0 == "\"initial\"").count(), 1);
        }
    }

    /// The receiver's file: marks, and for TCP which transmissions an ACK answers.
    #[test]
    fn the_far_end_in_its_own_words() {
        let received = |at: u64, pn: u64, marked: bool| {
            (Time(at), Event::Received { pn, bytes: 1252, offset: 1215 * pn, len: 1215, marked })
        };
        let acks = |at: u64, number: u64, ranges: Vec<(u64, u64)>| {
            (Time(at), Event::Acks(Ack { number, ranges, delay: Duration::from_micros(500) }))
        };
        let trace = vec![
            received(1, 0, false),
            received(2, 2, true),
            acks(2, 0, vec![(0, 0), (2, 2)]),
            received(3, 3, false),
            acks(3, 1, vec![(0, 0), (2, 3)]),
        ];
        let told = |transport| {
            let mut out = Vec::new();
            write_far(&mut out, &meta(transport), &trace).unwrap();
            records(&out)
        };
        let quic = told(Transport::Quic);
        let arrived = named(&quic, "transport:packet_received");
        assert_eq!(
            arrived[1],
            &json!({ "header": { "packet_type": "1RTT", "packet_number": 2 }, "raw": { "length": 1252 }, "ecn": "CE",
                "frames": [{ "frame_type": "stream", "stream_id": 0, "offset": 2430, "length": 1215 }] })
        );
        assert!(arrived[0].get("ecn").is_none());
        let ranges = |records: &[Value]| -> Vec<Value> {
            named(records, "transport:packet_sent")
                .iter()
                .map(|p| p["frames"][0]["acked_ranges"].clone())
                .collect()
        };
        assert_eq!(ranges(&quic), [json!([[0, 0], [2, 2]]), json!([[0, 0], [2, 3]])], "as in the frame");
        assert_eq!(
            ranges(&told(Transport::Tcp)),
            [json!([[0, 0], [2, 2]]), json!([[3, 3]])],
            "what it answers"
        );
    }
}

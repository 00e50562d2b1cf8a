//! qlog 0.3 (draft-ietf-quic-qlog-main-schema-02), with names like `transport:packet_sent`: the
//! newest version that [qvis](https://qvis.quictools.info) loads.
//!
//! Times count from the flow's start, which is `reference_time`. `packet_lost` has the packet's
//! `raw.length`, because qvis shows it. A packet that arrived marked has `ecn`.
//! `congestion_state_updated` into recovery has the cause of the reduction beside its data. The
//! cause is a `trigger` inside the data only if drafts and readers agree on the word, which is so
//! for `persistent_congestion`: some readers spell `ECN` differently, and they refuse `loss`.

use congestion::Cause;
use serde::Serialize;
use units::{Duration, Time};

use super::Meta;
use super::events::{Frame, Kind, Packet, Record, cause_name};
use super::json::Json;
use super::meta::VantagePoint;
use super::ranges::Ranges;

#[derive(Serialize)]
struct Header<'a> {
    qlog_version: &'static str,
    qlog_format: &'static str,
    title: &'a str,
    description: &'a str,
    trace: Trace<'a>,
}

#[derive(Serialize)]
struct Trace<'a> {
    vantage_point: &'a VantagePoint<'a>,
    title: &'a str,
    description: &'a str,
    configuration: Configuration<'a>,
    common_fields: CommonFields,
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

/// Returns the header record.
pub(super) fn header<'a>(
    meta: &'a Meta,
    vantage_point: &'a VantagePoint<'a>,
    description: &'a str,
) -> impl Serialize + 'a {
    Header {
        qlog_version: "0.3",
        qlog_format: "JSON-SEQ",
        title: &meta.title,
        description,
        trace: Trace {
            vantage_point,
            title: vantage_point.name,
            description,
            configuration: Configuration { time_offset: 0.0, algorithm: &meta.algorithm, seed: meta.seed },
            common_fields: CommonFields {
                protocol_type: [meta.transport.name()],
                time_format: "relative",
                // The float nearest to the exact decimal.
                reference_time: (meta.start - Time::ZERO).0 as f64 / 1e6,
            },
        },
    }
}

/// Writes the record of an event after its time.
pub(super) fn event(out: &mut Json, ranges: &mut Ranges, record: &Record<'_>) {
    match record {
        Record::Sent(of) => packet(out, ranges, b",\"name\":\"transport:packet_sent\",\"data\":{", of),
        Record::Received(of) => {
            packet(out, ranges, b",\"name\":\"transport:packet_received\",\"data\":{", of);
        }
        Record::Lost(of) => packet(out, ranges, b",\"name\":\"recovery:packet_lost\",\"data\":{", of),
        Record::Metrics(metrics) => {
            out.put(b",\"name\":\"recovery:metrics_updated\",\"data\":");
            metrics.write(out);
            out.put(b"}\n");
        }
        Record::State(change) => {
            out.put(b",\"name\":\"recovery:congestion_state_updated\"");
            if let Some(cause) = change.cause {
                out.put(b",\"cause\":");
                out.string(cause_name(cause));
            }
            out.put(b",\"data\":");
            change.write(out, change.cause.filter(|cause| *cause == Cause::PersistentCongestion));
            out.put(b"}\n");
        }
    }
}

fn packet<const N: usize>(out: &mut Json, known: &mut Ranges, begin: &[u8; N], packet: &Packet<'_>) {
    out.put(begin);
    match packet.kind {
        Kind::OneRtt => out.put(b"\"header\":{\"packet_type\":\"1RTT\",\"packet_number\":"),
        Kind::Initial => out.put(b"\"header\":{\"packet_type\":\"initial\",\"packet_number\":"),
    }
    out.whole(packet.number);
    // Includes the brace that closes the preceding object.
    if let Some(length) = packet.length {
        out.put(b"},\"raw\":{\"length\":");
        out.whole(length.into());
    }
    match &packet.frame {
        None => out.put(b"}"),
        Some(Frame::Stream { offset, length }) => {
            out.put(b"},\"frames\":[{\"frame_type\":\"stream\",\"stream_id\":0,\"offset\":");
            out.whole(*offset);
            out.put(b",\"length\":");
            out.whole((*length).into());
            out.put(b"}]");
        }
        Some(Frame::Ack { delay, ranges, cumulative }) => ack(out, known, *delay, ranges, *cumulative),
    }
    if packet.marked {
        out.put(b",\"ecn\":\"CE\"");
    }
    if let Some(trigger) = packet.trigger {
        out.put(b",\"trigger\":");
        out.string(trigger);
    }
    out.put(b"}}\n");
}

fn ack(
    out: &mut Json,
    known: &mut Ranges,
    delay: Option<Duration>,
    ranges: &[(u64, u64)],
    cumulative: Option<u64>,
) {
    out.put(b"},\"frames\":[{\"frame_type\":\"ack\"");
    if let Some(delay) = delay {
        out.put(b",\"ack_delay\":");
        out.ms(delay);
    }
    out.put(b",\"acked_ranges\":");
    known.write(out, ranges, |out, from, to| {
        out.put(b"[");
        out.whole(from);
        out.put(b",");
        out.whole(to);
        out.put(b"]");
    });
    if let Some(byte) = cumulative {
        out.put(b",\"cumulative\":");
        out.whole(byte);
    }
    out.put(b"}]");
}

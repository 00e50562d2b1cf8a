//! The current drafts (draft-ietf-quic-qlog-main-schema-13, draft-ietf-quic-qlog-quic-events-12),
//! with names like `quic:packet_sent`, as Cloudflare's crate `qlog` 0.18 reads them. In
//! quic-events-13 no event written here differs.
//!
//! - Times count from the start of the run, in all its files.
//! - Data without a field in the drafts are fields of the event beside `data`, where the drafts
//!   allow any: `ecn` of a packet that arrived with a CE mark, and `cause` of a reduction.
//!   `congestion_state_updated` has a `trigger` only for causes that the crate knows,
//!   `persistent_congestion` and `ecn`, because it refuses events with others. The reason for a
//!   loss is the `trigger` of `packet_lost`.
//! - `protocol_types`, `algorithm` and `seed` are in `common_fields`. TCP events have QUIC's names.
//! - RTTs and ACK delays have all their digits. The drafts ask for no more than a `float32` holds.

use congestion::Cause;
use serde::Serialize;
use units::Duration;

use super::Meta;
use super::events::{Frame, Kind, Packet, Record, cause_name};
use super::json::Json;
use super::meta::VantagePoint;
use super::ranges::Ranges;

#[derive(Serialize)]
struct Header<'a> {
    file_schema: &'static str,
    serialization_format: &'static str,
    title: &'a str,
    description: &'a str,
    trace: Trace<'a>,
}

#[derive(Serialize)]
struct Trace<'a> {
    title: &'a str,
    description: &'a str,
    common_fields: CommonFields<'a>,
    vantage_point: &'a VantagePoint<'a>,
    event_schemas: [&'static str; 1],
}

#[derive(Serialize)]
struct CommonFields<'a> {
    protocol_types: [&'static str; 1],
    time_format: &'static str,
    reference_time: ReferenceTime,
    algorithm: &'a str,
    seed: u64,
}

/// A monotonic clock without a date.
#[derive(Serialize)]
struct ReferenceTime {
    clock_type: &'static str,
    epoch: &'static str,
}

/// Returns the header record.
pub(super) fn header<'a>(
    meta: &'a Meta,
    vantage_point: &'a VantagePoint<'a>,
    description: &'a str,
) -> impl Serialize + 'a {
    Header {
        file_schema: "urn:ietf:params:qlog:file:sequential",
        serialization_format: "application/qlog+json-seq",
        title: &meta.title,
        description,
        trace: Trace {
            title: vantage_point.name,
            description,
            common_fields: CommonFields {
                protocol_types: [meta.transport.name()],
                time_format: "relative_to_epoch",
                reference_time: ReferenceTime { clock_type: "monotonic", epoch: "unknown" },
                algorithm: &meta.algorithm,
                seed: meta.seed,
            },
            vantage_point,
            event_schemas: ["urn:ietf:params:qlog:events:quic-12"],
        },
    }
}

/// Writes the record of an event after its time.
pub(super) fn event(out: &mut Json, ranges: &mut Ranges, record: &Record<'_>) {
    match record {
        Record::Sent(of) => packet(out, ranges, b",\"name\":\"quic:packet_sent\"", of, of.length),
        Record::Received(of) => packet(out, ranges, b",\"name\":\"quic:packet_received\"", of, of.length),
        // The drafts have no size for lost packets.
        Record::Lost(of) => packet(out, ranges, b",\"name\":\"quic:packet_lost\"", of, None),
        Record::Metrics(metrics) => {
            out.put(b",\"name\":\"quic:recovery_metrics_updated\",\"data\":");
            metrics.write(out);
            out.put(b"}\n");
        }
        Record::State(change) => {
            out.put(b",\"name\":\"quic:congestion_state_updated\"");
            if let Some(cause) = change.cause {
                out.put(b",\"cause\":");
                out.string(cause_name(cause));
            }
            out.put(b",\"data\":");
            change.write(out, change.cause.filter(|cause| is_typed(*cause)));
            out.put(b"}\n");
        }
    }
}

fn packet<const N: usize>(
    out: &mut Json,
    known: &mut Ranges,
    begin: &[u8; N],
    packet: &Packet<'_>,
    length: Option<u32>,
) {
    out.put(begin);
    if packet.marked {
        out.put(b",\"ecn\":\"CE\"");
    }
    match packet.kind {
        Kind::OneRtt => out.put(b",\"data\":{\"header\":{\"packet_type\":\"1RTT\",\"packet_number\":"),
        Kind::Initial => out.put(b",\"data\":{\"header\":{\"packet_type\":\"initial\",\"packet_number\":"),
    }
    out.whole(packet.number);
    // Includes the brace that closes the preceding object.
    if let Some(length) = length {
        out.put(b"},\"raw\":{\"length\":");
        out.whole(length.into());
    }
    match &packet.frame {
        None => out.put(b"}"),
        Some(Frame::Stream { offset, length }) => {
            out.put(b"},\"frames\":[{\"frame_type\":\"stream\",\"stream_id\":0,\"offset\":");
            out.whole(*offset);
            out.put(b",\"raw\":{\"length\":");
            out.whole((*length).into());
            out.put(b"}}]");
        }
        Some(Frame::Ack { delay, ranges, cumulative }) => ack(out, known, *delay, ranges, *cumulative),
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
    // The array needs a range. A single number has one element.
    if !ranges.is_empty() {
        out.put(b",\"acked_ranges\":");
        known.write(out, ranges, |out, from, to| {
            out.put(b"[");
            out.whole(from);
            if to != from {
                out.put(b",");
                out.whole(to);
            }
            out.put(b"]");
        });
    }
    if let Some(byte) = cumulative {
        out.put(b",\"cumulative\":");
        out.whole(byte);
    }
    out.put(b"}]");
}

/// Reports whether readers have a type for a cause.
fn is_typed(cause: Cause) -> bool {
    matches!(cause, Cause::Ecn | Cause::PersistentCongestion)
}

//! The drafts of today (draft-ietf-quic-qlog-main-schema-13, draft-ietf-quic-qlog-quic-events-12), names like `quic:packet_sent`, as
//! Cloudflare's crate `qlog` 0.18 reads them. No event written here has another form in quic-events-13.
//!
//! - Times count from the start of the run, in all its files.
//! - What the drafts have no field for is a field of the event beside `data`, where they allow any: `ecn` of a packet that
//!   arrived with a CE mark, and `cause` of a reduction. Of the causes `congestion_state_updated` has `trigger` for those that have a word
//!   in the crate, `persistent_congestion` and `ecn`, which refuses events with another; why a packet counts as lost stands in the
//!   `trigger` of `packet_lost`.
//! - `protocol_types`, `algorithm` and `seed` stand in `common_fields`. Events of TCP have the names of QUIC's.
//! - RTTs and ACK delays have all their digits; the drafts ask for no more than a `float32` holds.

use congestion::Cause;
use serde::ser::SerializeSeq;
use serde::{Serialize, Serializer};
use units::Duration;

use super::Meta;
use super::events::{
    Frame, Metrics, Packet, PacketHeader, Raw, Record, STREAM, State, StateChange, ms, word,
};
use super::meta::VantagePoint;

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

/// A clock without a date.
#[derive(Serialize)]
struct ReferenceTime {
    clock_type: &'static str,
    epoch: &'static str,
}

/// The first record.
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

#[derive(Serialize)]
struct Entry<'a> {
    time: f64,
    name: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    ecn: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cause: Option<&'static str>,
    data: Data<'a>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Data<'a> {
    Packet(PacketData<'a>),
    Metrics(&'a Metrics<'a>),
    State(StateData),
}

#[derive(Serialize)]
struct PacketData<'a> {
    header: &'a PacketHeader,
    #[serde(skip_serializing_if = "Option::is_none")]
    raw: Option<&'a Raw>,
    #[serde(skip_serializing_if = "Option::is_none")]
    frames: Option<[FrameData<'a>; 1]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    trigger: Option<&'static str>,
}

impl<'a> PacketData<'a> {
    fn new(packet: &'a Packet<'_>) -> Self {
        Self {
            header: &packet.header,
            raw: packet.raw.as_ref(),
            frames: packet.frame.as_ref().map(|frame| [FrameData::new(frame)]),
            trigger: packet.trigger,
        }
    }
}

#[derive(Serialize)]
#[serde(tag = "frame_type", rename_all = "snake_case")]
enum FrameData<'a> {
    Stream {
        stream_id: u64,
        offset: u64,
        raw: Raw,
    },
    Ack {
        #[serde(skip_serializing_if = "Option::is_none")]
        ack_delay: Option<f64>,
        /// Not without a range.
        #[serde(skip_serializing_if = "Option::is_none")]
        acked_ranges: Option<Ranges<'a>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        cumulative: Option<u64>,
    },
}

impl<'a> FrameData<'a> {
    fn new(frame: &'a Frame<'_>) -> Self {
        match frame {
            Frame::Stream { offset, length } => {
                Self::Stream { stream_id: STREAM, offset: *offset, raw: Raw { length: *length } }
            }
            Frame::Ack { delay, ranges, cumulative } => Self::Ack {
                ack_delay: *delay,
                acked_ranges: (!ranges.is_empty()).then_some(Ranges(ranges)),
                cumulative: *cumulative,
            },
        }
    }
}

/// `[from, to]` each, or `[number]` where both are the same.
struct Ranges<'a>(&'a [(u64, u64)]);

impl Serialize for Ranges<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(Some(self.0.len()))?;
        for &(from, to) in self.0 {
            if from == to {
                list.serialize_element(&[from])?;
            } else {
                list.serialize_element(&[from, to])?;
            }
        }
        list.end()
    }
}

#[derive(Serialize)]
struct StateData {
    #[serde(skip_serializing_if = "Option::is_none")]
    old: Option<State>,
    new: State,
    #[serde(skip_serializing_if = "Option::is_none")]
    trigger: Option<&'static str>,
}

/// The record of an event, `time` after the start of the run.
pub(super) fn event(time: Duration, record: &Record<'_>) -> impl Serialize {
    let (name, data) = match record {
        Record::Sent(packet) => ("quic:packet_sent", Data::Packet(PacketData::new(packet))),
        Record::Received(packet) => ("quic:packet_received", Data::Packet(PacketData::new(packet))),
        // The drafts have no size of a lost packet.
        Record::Lost(packet) => {
            ("quic:packet_lost", Data::Packet(PacketData { raw: None, ..PacketData::new(packet) }))
        }
        Record::Metrics(metrics) => ("quic:recovery_metrics_updated", Data::Metrics(metrics)),
        Record::State(StateChange { old, new, cause }) => {
            let data = StateData { old: *old, new: *new, trigger: cause.and_then(trigger) };
            ("quic:congestion_state_updated", Data::State(data))
        }
    };
    let (ecn, cause) = beside(record);
    Entry { time: ms(time), name, ecn, cause, data }
}

/// What stands beside the data: a mark, a cause.
fn beside(record: &Record<'_>) -> (Option<&'static str>, Option<&'static str>) {
    match record {
        Record::Received(packet) if packet.marked => (Some("CE"), None),
        Record::State(change) => (None, change.cause.map(word)),
        _ => (None, None),
    }
}

/// The causes that readers have a type for.
fn trigger(cause: Cause) -> Option<&'static str> {
    matches!(cause, Cause::Ecn | Cause::PersistentCongestion).then(|| word(cause))
}

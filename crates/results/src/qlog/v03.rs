//! qlog 0.3 (draft-ietf-quic-qlog-main-schema-02), names like `transport:packet_sent`: the newest that
//! [qvis](https://qvis.quictools.info) loads.
//!
//! Times count from the flow's start, which is `reference_time`. `packet_lost` has the packet's `raw.length`, because qvis
//! shows it, and a packet that arrived marked `ecn`. `congestion_state_updated` into recovery has the cause of the reduction beside its
//! data; as a `trigger` inside it only where drafts and readers have the same word, which is `persistent_congestion`: of `ECN` some readers
//! want another spelling, and a `loss` they refuse.

use congestion::Cause;
use serde::Serialize;
use units::{Duration, Time};

use super::Meta;
use super::events::{
    Frame, Metrics, Packet, PacketHeader, Raw, Record, STREAM, State, StateChange, ms, word,
};
use super::meta::VantagePoint;

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

/// The first record.
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
                reference_time: ms(meta.start - Time::ZERO),
            },
        },
    }
}

#[derive(Serialize)]
struct Entry<'a> {
    time: f64,
    name: &'static str,
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
    ecn: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    trigger: Option<&'static str>,
}

impl<'a> PacketData<'a> {
    fn new(packet: &'a Packet<'_>) -> Self {
        Self {
            header: &packet.header,
            raw: packet.raw.as_ref(),
            frames: packet.frame.as_ref().map(|frame| [FrameData::new(frame)]),
            ecn: packet.marked.then_some("CE"),
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
        length: u32,
    },
    Ack {
        #[serde(skip_serializing_if = "Option::is_none")]
        ack_delay: Option<f64>,
        acked_ranges: &'a [(u64, u64)],
        #[serde(skip_serializing_if = "Option::is_none")]
        cumulative: Option<u64>,
    },
}

impl<'a> FrameData<'a> {
    fn new(frame: &'a Frame<'_>) -> Self {
        match frame {
            Frame::Stream { offset, length } => {
                Self::Stream { stream_id: STREAM, offset: *offset, length: *length }
            }
            Frame::Ack { delay, ranges, cumulative } => {
                Self::Ack { ack_delay: *delay, acked_ranges: ranges, cumulative: *cumulative }
            }
        }
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

/// The record of an event, `time` after the flow's start.
pub(super) fn event(time: Duration, record: &Record<'_>) -> impl Serialize {
    let (name, data) = match record {
        Record::Sent(packet) => ("transport:packet_sent", Data::Packet(PacketData::new(packet))),
        Record::Received(packet) => ("transport:packet_received", Data::Packet(PacketData::new(packet))),
        Record::Lost(packet) => ("recovery:packet_lost", Data::Packet(PacketData::new(packet))),
        Record::Metrics(metrics) => ("recovery:metrics_updated", Data::Metrics(metrics)),
        Record::State(StateChange { old, new, cause }) => {
            let data = StateData { old: *old, new: *new, trigger: cause.and_then(trigger) };
            ("recovery:congestion_state_updated", Data::State(data))
        }
    };
    let cause = if let Record::State(change) = record { change.cause.map(word) } else { None };
    Entry { time: ms(time), name, cause, data }
}

fn trigger(cause: Cause) -> Option<&'static str> {
    (cause == Cause::PersistentCongestion).then(|| word(cause))
}

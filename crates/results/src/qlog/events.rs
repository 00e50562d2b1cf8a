//! The data of the events, as serde writes them.

use congestion::Cause;
use scenario::trace::Handshake;
use serde::{Serialize, Serializer};
use serde_json::Number;

/// The data of `packet_sent`, `packet_received` and `packet_lost`.
#[derive(Serialize)]
pub(super) struct Packet {
    pub(super) header: PacketHeader,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) raw: Option<Raw>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) frames: Option<[Frame; 1]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) ecn: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) trigger: Option<&'static str>,
}

impl Packet {
    pub(super) fn new(packet_number: u64, length: Option<u32>) -> Self {
        let header = PacketHeader { packet_type: "1RTT", packet_number };
        Self { header, raw: length.map(|length| Raw { length }), frames: None, ecn: None, trigger: None }
    }

    pub(super) fn with(frame: Frame, packet_number: u64, length: Option<u32>) -> Self {
        Self { frames: Some([frame]), ..Self::new(packet_number, length) }
    }

    pub(super) fn of_handshake(packet: &Handshake) -> Self {
        let header = PacketHeader { packet_type: "initial", packet_number: packet.number };
        Self { header, ..Self::new(packet.number, Some(packet.bytes)) }
    }
}

#[derive(Serialize)]
pub(super) struct PacketHeader {
    packet_type: &'static str,
    packet_number: u64,
}

#[derive(Serialize)]
pub(super) struct Raw {
    length: u32,
}

#[derive(Serialize)]
#[serde(tag = "frame_type", rename_all = "snake_case")]
pub(super) enum Frame {
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
pub(super) struct StateChange {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) old: Option<State>,
    pub(super) new: State,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) trigger: Option<&'static str>,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum State {
    SlowStart,
    CongestionAvoidance,
    Recovery,
}

/// Prefix and name of a metric.
pub(super) type Key = (&'static str, &'static str);

/// Metrics in a JSON object.
pub(super) struct Fields(pub(super) Vec<(Key, Number)>);

impl Serialize for Fields {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer
            .collect_map(self.0.iter().map(|((prefix, name), value)| (format!("{prefix}{name}"), value)))
    }
}

/// Prefix of the controller's own variables.
pub(super) const OWN: &str = "cc_";

/// In qlog's words where it has one.
pub(super) fn cause_word(cause: Cause) -> &'static str {
    match cause {
        Cause::Loss => "loss",
        Cause::Ecn => "ECN",
        Cause::Delay => "delay",
        Cause::PersistentCongestion => "persistent_congestion",
        _ => "timeout",
    }
}

/// Ascending numbers as ranges.
pub(super) fn ranges(numbers: impl IntoIterator<Item = u64>) -> Vec<(u64, u64)> {
    let mut ranges: Vec<(u64, u64)> = Vec::new();
    for number in numbers {
        match ranges.last_mut() {
            Some(last) if last.1.checked_add(1) == Some(number) => last.1 = number,
            _ => ranges.push((number, number)),
        }
    }
    ranges
}

//! Records in both dialects.
//!
//! In both, `calls` beside the data has the calls of the controller since the last event, for
//! `ackclock replay`: for each its time in nanoseconds of the run, the window after it in bytes, and
//! its argument ([`scenario::signal`]).
//!
//! **qlog 0.3** (draft-ietf-quic-qlog-main-schema-02) has names like `transport:packet_sent`. It is
//! the newest version that [qvis](https://qvis.quictools.info) loads.
//!
//! - Times count from the flow's start, which is `reference_time`.
//! - `packet_lost` has the packet's `raw.length`, because qvis shows it.
//! - A packet that arrived marked has `ecn` in its data.
//! - A loss of a stack that others observe has `basis` beside its data: where its rule is from.
//! - `congestion_state_updated` into recovery has the cause of the reduction beside its data. The
//!   cause is a `trigger` inside the data only if drafts and readers agree on the word, which is so
//!   for `persistent_congestion`: some readers spell `ECN` differently, and they refuse `loss`.
//!
//! **The current drafts** (draft-ietf-quic-qlog-main-schema-13,
//! draft-ietf-quic-qlog-quic-events-12) have names like `quic:packet_sent`, as Cloudflare's crate
//! `qlog` 0.18 reads them. In quic-events-13 no event written here differs.
//!
//! - Times count from the start of the run, in all its files.
//! - Data without a field in the drafts are fields of the event beside `data`, where the drafts
//!   allow any: `ecn` of a packet that arrived with a CE mark, `cause` of a reduction, and `basis` of
//!   a loss of a stack that others observe.
//!   `congestion_state_updated` has a `trigger` only for causes that the crate knows,
//!   `persistent_congestion` and `ecn`, because it refuses events with others. The reason for a
//!   loss is the `trigger` of `packet_lost`.
//! - `protocol_types`, `algorithm` and `seed` are in `common_fields`. TCP events have QUIC's names.
//! - RTTs and ACK delays have all their digits. The drafts ask for no more than a `float32` holds.

use congestion::Cause;
use scenario::signal::Call;
use units::Duration;

use super::Dialect;
use super::events::{Frame, Kind, Packet, Record, StateChange, cause_name};
use super::json::Json;

impl Dialect {
    /// Writes the record of an event after its time.
    pub(super) fn event(self, out: &mut Json, record: &Record<'_>, calls: &[Call]) {
        out.put(b",\"name\":\"");
        match (record, self) {
            (Record::Sent(_), Self::V03) => out.put(b"transport:packet_sent\""),
            (Record::Sent(_), Self::Current) => out.put(b"quic:packet_sent\""),
            (Record::Received(_), Self::V03) => out.put(b"transport:packet_received\""),
            (Record::Received(_), Self::Current) => out.put(b"quic:packet_received\""),
            (Record::Lost(_) | Record::Unnumbered { .. }, Self::V03) => out.put(b"recovery:packet_lost\""),
            (Record::Lost(_) | Record::Unnumbered { .. }, Self::Current) => out.put(b"quic:packet_lost\""),
            (Record::Metrics(_), Self::V03) => out.put(b"recovery:metrics_updated\""),
            (Record::Metrics(_), Self::Current) => out.put(b"quic:recovery_metrics_updated\""),
            (Record::State(_), Self::V03) => out.put(b"recovery:congestion_state_updated\""),
            (Record::State(_), Self::Current) => out.put(b"quic:congestion_state_updated\""),
            (Record::Remark(_), Self::V03) => out.put(b"generic:message\""),
            (Record::Remark(_), Self::Current) => out.put(b"loglevel:info\""),
        }
        if !calls.is_empty() {
            out.put(b",\"calls\":");
            out.value(calls);
        }
        match record {
            Record::Sent(packet) | Record::Received(packet) => self.packet(out, packet, packet.length),
            Record::Lost(packet) => self.packet(out, packet, packet.length.filter(|_| self == Self::V03)),
            Record::Unnumbered { trigger, basis } => {
                out.put(b",\"basis\":");
                out.string(basis);
                out.put(b",\"data\":{\"trigger\":");
                out.string(trigger);
                out.put(b"}");
            }
            Record::Remark(text) => {
                out.put(b",\"data\":{\"message\":");
                out.string(text);
                out.put(b"}");
            }
            Record::Metrics(metrics) => {
                out.put(b",\"data\":");
                metrics.write(out);
            }
            Record::State(change) => self.state(out, change),
        }
        out.put(b"}\n");
    }

    fn state(self, out: &mut Json, change: &StateChange) {
        if let Some(cause) = change.cause {
            out.put(b",\"cause\":");
            out.string(cause_name(cause));
        }
        out.put(b",\"data\":");
        change.write(out, change.cause.filter(|cause| self.has_trigger(*cause)));
    }

    /// Reports whether readers know a cause as a trigger.
    fn has_trigger(self, cause: Cause) -> bool {
        cause == Cause::PersistentCongestion || (self == Self::Current && cause == Cause::Ecn)
    }

    /// Writes the data of a packet. The current drafts have no size for lost packets.
    fn packet(self, out: &mut Json, packet: &Packet<'_>, length: Option<u32>) {
        if let Some(basis) = packet.basis {
            out.put(b",\"basis\":");
            out.string(basis);
        }
        if packet.marked && self == Self::Current {
            out.put(b",\"ecn\":\"CE\"");
        }
        out.put(b",\"data\":{\"header\":{\"packet_type\":");
        match packet.kind {
            Kind::OneRtt => out.put(b"\"1RTT\""),
            Kind::Initial => out.put(b"\"initial\""),
        }
        out.put(b",\"packet_number\":");
        out.whole(packet.number);
        // Includes the brace that closes the preceding object.
        if let Some(length) = length {
            out.put(b"},\"raw\":{\"length\":");
            out.whole(length.into());
        }
        out.put(b"}");
        match &packet.frame {
            None => {}
            Some(Frame::Stream { offset, length, more }) => {
                out.put(b",\"frames\":[");
                self.stream(out, *offset, *length);
                for &(offset, length) in *more {
                    out.put(b",");
                    self.stream(out, offset, length);
                }
                out.put(b"]");
            }
            Some(Frame::Ack { delay, ranges, cumulative }) => self.ack(out, *delay, ranges, *cumulative),
        }
        if packet.marked && self == Self::V03 {
            out.put(b",\"ecn\":\"CE\"");
        }
        if let Some(trigger) = packet.trigger {
            out.put(b",\"trigger\":");
            out.string(trigger);
        }
        out.put(b"}");
    }

    fn stream(self, out: &mut Json, offset: u64, length: u32) {
        out.put(b"{\"frame_type\":\"stream\",\"stream_id\":0,\"offset\":");
        out.whole(offset);
        match self {
            Self::V03 => out.put(b",\"length\":"),
            Self::Current => out.put(b",\"raw\":{\"length\":"),
        }
        out.whole(length.into());
        match self {
            Self::V03 => out.put(b"}"),
            Self::Current => out.put(b"}}"),
        }
    }

    fn ack(self, out: &mut Json, delay: Option<Duration>, ranges: &[(u64, u64)], cumulative: Option<u64>) {
        out.put(b",\"frames\":[{\"frame_type\":\"ack\"");
        if let Some(delay) = delay {
            out.put(b",\"ack_delay\":");
            out.ms(delay);
        }
        // In the current drafts the array needs a range.
        if self == Self::V03 || !ranges.is_empty() {
            out.put(b",\"acked_ranges\":");
            self.ranges(out, ranges);
        }
        if let Some(byte) = cumulative {
            out.put(b",\"cumulative\":");
            out.whole(byte);
        }
        out.put(b"}]");
    }

    /// Writes ranges as an array. In the current drafts a single number has one element.
    fn ranges(self, out: &mut Json, ranges: &[(u64, u64)]) {
        out.put(b"[");
        for (i, &(from, to)) in ranges.iter().enumerate() {
            if i > 0 {
                out.put(b",");
            }
            out.put(b"[");
            out.whole(from);
            if to != from || self == Self::V03 {
                out.put(b",");
                out.whole(to);
            }
            out.put(b"]");
        }
        out.put(b"]");
    }
}

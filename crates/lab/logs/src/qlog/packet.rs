//! Packets and their frames.

use std::fmt;

use quic::Space;
use serde::de::{Deserialize, Deserializer, SeqAccess, Visitor};
use units::Ecn;

use super::clock::Clock;
use super::value::{Ranges, Value};
use crate::event::{Ack, Control, Piece, Trigger};

/// Data of `packet_sent`, `packet_received` and `packet_lost`.
#[derive(Debug, Default, serde::Deserialize)]
#[serde(default)]
pub(super) struct Packet<'a> {
    #[serde(borrow)]
    header: Option<Header<'a>>,
    #[serde(borrow)]
    raw: Option<Raw<'a>>,
    frames: Option<Frames>,
    #[serde(borrow, alias = "type")]
    packet_type: Value<'a>,
    #[serde(borrow)]
    packet_number: Value<'a>,
    #[serde(borrow, alias = "packet_length")]
    packet_size: Value<'a>,
    #[serde(borrow)]
    pub(super) ecn: Value<'a>,
    #[serde(borrow)]
    pub(super) trigger: Value<'a>,
    /// Number of lost packets (mvfst).
    #[serde(borrow)]
    pub(super) lost_packets: Value<'a>,
}

#[derive(Debug, Default, serde::Deserialize)]
#[serde(default)]
struct Header<'a> {
    #[serde(borrow, alias = "type")]
    packet_type: Value<'a>,
    #[serde(borrow)]
    packet_number: Value<'a>,
    #[serde(borrow)]
    packet_size: Value<'a>,
    #[serde(borrow)]
    length: Value<'a>,
    #[serde(borrow)]
    payload_length: Value<'a>,
    #[serde(borrow)]
    spin_bit: Value<'a>,
}

#[derive(Debug, Default, serde::Deserialize)]
#[serde(default)]
struct Raw<'a> {
    #[serde(borrow)]
    length: Value<'a>,
    #[serde(borrow)]
    payload_length: Value<'a>,
}

#[derive(Debug, Default, serde::Deserialize)]
#[serde(default)]
struct Frame<'a> {
    // draft-00 calls the type of MAX_DATA `stream_type`.
    #[serde(borrow, alias = "stream_type")]
    frame_type: Value<'a>,
    #[serde(borrow, alias = "id")]
    stream_id: Value<'a>,
    #[serde(borrow)]
    offset: Value<'a>,
    #[serde(borrow)]
    length: Value<'a>,
    #[serde(borrow)]
    raw: Option<Raw<'a>>,
    #[serde(borrow)]
    fin: Value<'a>,
    acked_ranges: Option<Ranges>,
    #[serde(borrow)]
    ack_delay: Value<'a>,
    #[serde(borrow)]
    cumulative: Value<'a>,
    #[serde(borrow)]
    maximum: Value<'a>,
}

/// Type of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Type {
    Numbered(Space),
    /// Retry, or version negotiation.
    Unnumbered,
    Reset,
}

/// Contents of a packet's frames.
#[derive(Debug, Default)]
pub(super) struct Frames {
    pub(super) pieces: Vec<Piece>,
    pub(super) acks: Vec<Ack>,
    pub(super) limit: Option<u64>,
    pub(super) is_eliciting: bool,
    pub(super) is_padded: bool,
    pub(super) ends: bool,
}

impl Packet<'_> {
    pub(super) fn kind(&self) -> Type {
        let header = self.header.as_ref();
        let words = [header.map(|header| &header.packet_type), Some(&self.packet_type)];
        let Some(word) = words.into_iter().flatten().find_map(Value::text) else {
            return Type::Numbered(Space::Application);
        };
        let is = |other: &str| word.eq_ignore_ascii_case(other);
        if is("1RTT") || is("0RTT") {
            Type::Numbered(Space::Application)
        } else if is("initial") {
            Type::Numbered(Space::Initial)
        } else if is("handshake") {
            Type::Numbered(Space::Handshake)
        } else if is("stateless_reset") {
            Type::Reset
        } else if is("retry") || is("version_negotiation") {
            Type::Unnumbered
        } else {
            Type::Numbered(Space::Application)
        }
    }

    pub(super) fn number(&self) -> Option<u64> {
        let header = self.header.as_ref().and_then(|header| header.packet_number.whole());
        header.or_else(|| self.packet_number.whole())
    }

    /// Returns the size of the packet, or of its payload if that is all that the log has.
    pub(super) fn bytes(&self) -> Option<u32> {
        let (header, raw) = (self.header.as_ref(), self.raw.as_ref());
        let places = [
            raw.map(|raw| &raw.length),
            Some(&self.packet_size),
            header.map(|header| &header.packet_size),
            // quinn and noq write the size here.
            header.map(|header| &header.length),
            raw.map(|raw| &raw.payload_length),
            header.map(|header| &header.payload_length),
        ];
        places.into_iter().flatten().find_map(Value::whole).and_then(|bytes| u32::try_from(bytes).ok())
    }

    pub(super) fn spin(&self) -> Option<bool> {
        let spin = &self.header.as_ref()?.spin_bit;
        (*spin != Value::None).then(|| spin.flag())
    }

    /// Returns the contents of the frames, or nothing if the log does not have them. `unit` is that
    /// of ACK delays, in milliseconds.
    pub(super) fn take_frames(&mut self, unit: f64) -> Option<Frames> {
        let mut frames = self.frames.take()?;
        for delay in frames.acks.iter_mut().filter_map(|ack| ack.delay.as_mut()).filter(|_| unit != 1.0) {
            *delay = delay.mul_f64(unit);
        }
        Some(frames)
    }
}

impl<'de> Deserialize<'de> for Frames {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(AnyFrames)
    }
}

struct AnyFrames;

impl<'de> Visitor<'de> for AnyFrames {
    type Value = Frames;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of frames")
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Frames, A::Error> {
        let mut all = Frames::default();
        while let Some(frame) = seq.next_element::<Frame<'_>>()? {
            frame.add_to(&mut all);
        }
        Ok(all)
    }
}

impl Frame<'_> {
    fn add_to(self, all: &mut Frames) {
        let word = self.frame_type.text().unwrap_or_default();
        let is = |other: &str| word.eq_ignore_ascii_case(other);
        if is("stream") {
            all.is_eliciting = true;
            all.pieces.extend(self.piece());
        } else if is("ack") || is("ack_ecn") || is("path_ack") || is("ack_mp") {
            all.acks.push(Ack {
                delay: Clock::default().duration(&self.ack_delay),
                cumulative: self.cumulative.whole(),
                ranges: self.acked_ranges.unwrap_or_default().0,
                selective: Vec::new(),
            });
        } else if is("padding") {
            all.is_padded = true;
        } else if is("connection_close") || is("application_close") {
            all.ends = true;
        } else {
            all.is_eliciting = true;
            if is("max_data") {
                all.limit = self.maximum.whole().max(all.limit);
            }
        }
    }

    fn piece(&self) -> Option<Piece> {
        let raw = self.raw.as_ref();
        let lengths = [Some(&self.length), raw.map(|raw| &raw.payload_length), raw.map(|raw| &raw.length)];
        Some(Piece {
            stream: self.stream_id.whole().unwrap_or(0),
            offset: self.offset.whole().unwrap_or(0),
            len: lengths.into_iter().flatten().find_map(Value::whole)?,
            fin: self.fin.flag(),
        })
    }
}

impl Frames {
    /// Returns the bytes of stream data.
    pub(super) fn data(&self) -> u32 {
        let sum = self.pieces.iter().fold(0_u64, |sum, piece| sum.saturating_add(piece.len));
        u32::try_from(sum).unwrap_or(u32::MAX)
    }
}

/// Returns what a packet begins or ends.
pub(super) fn control(kind: Type, ends: bool) -> Control {
    match kind {
        Type::Reset => Control::Resets,
        _ if ends => Control::Ends,
        Type::Numbered(Space::Initial) => Control::Opens,
        _ => Control::None,
    }
}

/// Reads `ECT(0)`, `ect0`, `CE` and so on.
pub(super) fn ecn(word: &str) -> Option<Ecn> {
    let word: String = word.chars().filter(char::is_ascii_alphanumeric).collect();
    match word.to_ascii_lowercase().as_str() {
        "ce" => Some(Ecn::Ce),
        "ect0" => Some(Ecn::Ect0),
        "ect1" => Some(Ecn::Ect1),
        "notect" => Some(Ecn::NotEct),
        _ => None,
    }
}

/// Reads the rule that detected a loss, in the words of the drafts and of other stacks.
pub(super) fn trigger(word: &str) -> Option<Trigger> {
    let word = word.to_ascii_lowercase();
    let has = |parts: &[&str]| parts.iter().any(|part| word.contains(part));
    if has(&["reorder", "packet_threshold", "dup"]) {
        Some(Trigger::PacketThreshold)
    } else if has(&["time_threshold", "timethreshold", "rack"]) {
        Some(Trigger::TimeThreshold)
    } else if has(&["pto", "timeout", "rto", "timer"]) {
        Some(Trigger::Timeout)
    } else {
        None
    }
}

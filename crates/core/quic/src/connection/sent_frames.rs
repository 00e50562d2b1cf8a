//! Frames of a sent packet, as far as they matter once it is acknowledged or lost (RFC 9000 section
//! 13.3).

use std::ops::Range;
use std::sync::Arc;

use recovery::{AckReceipt, Payload};

use crate::streams::id::StreamId;
use crate::streams::outbox::Chunk;
use crate::streams::table::Control;
use crate::wire::codec::Writer;
use crate::wire::frame::Frame;

/// A frame of a sent packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SentFrame {
    /// ACK. Its receipt tells the receiver what need not be repeated.
    Ack(AckReceipt),
    /// CRYPTO in the space of the packet.
    Crypto(Chunk),
    /// STREAM.
    Stream(StreamId, Chunk),
    /// A frame about streams or credit.
    Control(Control),
    /// NEW_CONNECTION_ID with this sequence number.
    NewConnectionId(u64),
    /// RETIRE_CONNECTION_ID with this sequence number.
    RetireConnectionId(u64),
    /// NEW_TOKEN, by its index among the tokens of the connection.
    NewToken(usize),
    /// HANDSHAKE_DONE.
    HandshakeDone,
    /// DATAGRAM of this many bytes; never retransmitted.
    Datagram(usize),
    /// ACK_FREQUENCY.
    AckFrequency,
    /// PATH_CHALLENGE. Its own timer repeats it.
    PathChallenge,
    /// PATH_RESPONSE. The peer repeats its challenge.
    PathResponse,
    /// PING.
    Ping,
}

/// Frames of one sent packet. Cheap to clone.
#[derive(Clone, Debug)]
pub struct SentFrames(Frames);

/// Most packets carry one frame, which needs no allocation.
#[derive(Clone, Debug)]
enum Frames {
    One(SentFrame),
    Others(Arc<[SentFrame]>),
}

impl SentFrames {
    /// Stores these frames.
    pub fn new(items: &[SentFrame]) -> Self {
        Self(match *items {
            [item] => Frames::One(item),
            _ => Frames::Others(items.into()),
        })
    }

    /// Returns the frames.
    pub fn items(&self) -> &[SentFrame] {
        match &self.0 {
            Frames::One(item) => std::slice::from_ref(item),
            Frames::Others(items) => items,
        }
    }
}

impl Payload for SentFrames {
    /// Returns an empty range. QUIC finds packets by number, and retransmissions are new packets.
    fn range(&self) -> Range<u64> {
        0..0
    }
}

/// Writer of the frames of a packet, which notes those that matter later.
pub(super) struct FrameWriter<'a> {
    pub(super) w: Writer<'a>,
    pub(super) items: &'a mut Vec<SentFrame>,
}

impl FrameWriter<'_> {
    /// Writes a frame if it fits, and reports whether it did.
    pub(super) fn put(&mut self, frame: Frame<'_>, item: SentFrame) -> bool {
        let written = frame.encode(&mut self.w).is_ok();
        if written {
            self.items.push(item);
        }
        written
    }
}

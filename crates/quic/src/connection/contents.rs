//! What a packet carried, as far as somebody wants to know once it is acknowledged or lost (RFC 9000 section 13.3).

use std::ops::Range;
use std::sync::Arc;

use recovery::{AckReceipt, Payload};

use crate::streams::id::StreamId;
use crate::streams::outbox::Chunk;
use crate::streams::table::Control;

/// One frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Item {
    /// ACK: what it said, so that it need not be said again.
    Ack(AckReceipt),
    /// CRYPTO of the packet's own space.
    Crypto(Chunk),
    /// STREAM.
    Stream(StreamId, Chunk),
    /// A frame about streams or credit.
    Control(Control),
    /// NEW_CONNECTION_ID with this number.
    NewConnectionId(u64),
    /// RETIRE_CONNECTION_ID with this number.
    RetireConnectionId(u64),
    /// NEW_TOKEN, by its place among those of the connection.
    NewToken(usize),
    /// HANDSHAKE_DONE.
    HandshakeDone,
    /// DATAGRAM of so many bytes; never sent again.
    Datagram(usize),
    /// ACK_FREQUENCY.
    AckFrequency,
    /// PATH_CHALLENGE; its own timer repeats it.
    PathChallenge,
    /// PATH_RESPONSE; the peer asks again.
    PathResponse,
    /// PING.
    Ping,
}

/// What one packet carried. Cheap to copy.
#[derive(Clone, Debug)]
pub struct Contents(Frames);

/// Most packets carry one frame, which needs no memory of its own.
#[derive(Clone, Debug)]
enum Frames {
    One(Item),
    Others(Arc<[Item]>),
}

impl Contents {
    /// Of these frames.
    pub fn new(items: &[Item]) -> Self {
        Self(match *items {
            [item] => Frames::One(item),
            _ => Frames::Others(items.into()),
        })
    }

    /// The frames.
    pub fn items(&self) -> &[Item] {
        match &self.0 {
            Frames::One(item) => std::slice::from_ref(item),
            Frames::Others(items) => items,
        }
    }
}

impl Payload for Contents {
    /// Nobody asks: packets are found by their numbers, and repeats are packets of their own.
    fn range(&self) -> Range<u64> {
        0..0
    }
}

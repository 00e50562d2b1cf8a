//! Stream IDs (RFC 9000 section 2.1).

use std::fmt;

use crate::level::Side;
use crate::wire::frame::Direction;

/// A stream ID. The lowest bit identifies the initiator, the next one the direction.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamId(pub u64);

impl StreamId {
    /// Creates the ID of the stream with this index among the streams of its type, counted from 0.
    pub const fn new(initiator: Side, direction: Direction, index: u64) -> Self {
        Self(index << 2 | (direction as u64) << 1 | initiator as u64)
    }

    /// Returns the end that opened the stream.
    pub const fn initiator(self) -> Side {
        if self.0 & 1 == 0 { Side::Client } else { Side::Server }
    }

    /// Returns the direction of the stream.
    pub const fn direction(self) -> Direction {
        if self.0 & 2 == 0 { Direction::Bidirectional } else { Direction::Unidirectional }
    }

    /// Returns the index among the streams of its type.
    pub const fn index(self) -> u64 {
        self.0 >> 2
    }

    /// Reports whether `local` sends on the stream.
    pub fn sends(self, local: Side) -> bool {
        self.direction() == Direction::Bidirectional || self.initiator() == local
    }
}

impl fmt::Display for StreamId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl fmt::Debug for StreamId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "stream {} ({:?}, {:?} {})", self.0, self.initiator(), self.direction(), self.index())
    }
}

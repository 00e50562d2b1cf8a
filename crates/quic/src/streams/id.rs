//! Stream IDs (RFC 9000 section 2.1).

use std::fmt;

use crate::level::Side;
use crate::wire::frame::Direction;

/// A stream of a connection: the lowest bit says who opened it, the next whether both ends send.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamId(pub u64);

impl StreamId {
    /// The `index`-th stream, counted from 0, of its type.
    pub const fn new(initiator: Side, direction: Direction, index: u64) -> Self {
        Self(index << 2 | (direction as u64) << 1 | initiator as u64)
    }

    /// Who opened it.
    pub const fn initiator(self) -> Side {
        if self.0 & 1 == 0 { Side::Client } else { Side::Server }
    }

    /// Who sends.
    pub const fn direction(self) -> Direction {
        if self.0 & 2 == 0 { Direction::Bidirectional } else { Direction::Unidirectional }
    }

    /// Its place among those of its type.
    pub const fn index(self) -> u64 {
        self.0 >> 2
    }

    /// Whether this end sends on it.
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

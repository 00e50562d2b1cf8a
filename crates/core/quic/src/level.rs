//! Connection sides, encryption levels and packet number spaces.

/// One end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Side {
    /// The end that sends the first packet.
    Client,
    /// The end that answers.
    Server,
}

impl Side {
    /// Returns the other end.
    pub const fn peer(self) -> Self {
        match self {
            Self::Client => Self::Server,
            Self::Server => Self::Client,
        }
    }
}

/// An encryption level, which also gives the type of a packet that carries frames (RFC 9001 section
/// 2.1, table 1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// Initial packets. Everyone on the path can derive their keys.
    Initial,
    /// 0-RTT packets, which carry early data of a resumed session.
    ZeroRtt,
    /// Handshake packets.
    Handshake,
    /// 1-RTT packets, which carry application data.
    OneRtt,
}

impl Level {
    /// Returns the packet number space of this level (RFC 9000 section 12.3).
    pub const fn space(self) -> Space {
        match self {
            Self::Initial => Space::Initial,
            Self::Handshake => Space::Handshake,
            Self::ZeroRtt | Self::OneRtt => Space::Application,
        }
    }
}

/// A packet number space (RFC 9000 section 12.3). `space as usize` indexes arrays of three.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Space {
    /// Initial packets.
    Initial,
    /// Handshake packets.
    Handshake,
    /// 0-RTT and 1-RTT packets.
    Application,
}

impl Space {
    /// All spaces, in the order of a handshake.
    pub const ALL: [Self; 3] = [Self::Initial, Self::Handshake, Self::Application];
}

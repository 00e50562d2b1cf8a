//! The two ends of a connection, encryption levels, packet number spaces.

/// One end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Side {
    /// The end that sent the first packet.
    Client,
    /// The end that answered.
    Server,
}

impl Side {
    /// The other end.
    pub const fn peer(self) -> Self {
        match self {
            Self::Client => Self::Server,
            Self::Server => Self::Client,
        }
    }
}

/// An encryption level, and with it the type of a packet that carries frames (RFC 9001 section 2.1, table 1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// Initial packets: keys that everyone on the path can derive.
    Initial,
    /// 0-RTT packets: early data of a resumed session.
    ZeroRtt,
    /// Handshake packets.
    Handshake,
    /// 1-RTT packets: application data.
    OneRtt,
}

impl Level {
    /// The packet number space of such packets (RFC 9000 section 12.3).
    pub const fn space(self) -> Space {
        match self {
            Self::Initial => Space::Initial,
            Self::Handshake => Space::Handshake,
            Self::ZeroRtt | Self::OneRtt => Space::Application,
        }
    }
}

/// A packet number space (RFC 9000 section 12.3). Its number, `space as usize`, indexes arrays of three.
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
    /// All, in the order of a handshake.
    pub const ALL: [Self; 3] = [Self::Initial, Self::Handshake, Self::Application];
}

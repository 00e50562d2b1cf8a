//! Events of a connection for the application.

use std::fmt;

use crate::connection::close::Close;
use crate::streams::table::StreamEvent;

/// Reason why a connection is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// This end closed it: the application did, or an error was detected.
    Local(Close),
    /// The peer closed it.
    Peer(Close),
    /// A stateless reset arrived: the peer has no state for the connection (RFC 9000 section 10.3).
    Reset,
    /// The idle timeout expired (section 10.1).
    Idle,
    /// The server supports no version that this end does (section 6.2).
    Version,
    /// The peer's new address does not answer, and there is no earlier path to return to (section
    /// 9.3.2).
    NoPath,
    /// The limit of the keys is reached, and they cannot be updated (RFC 9001 section 6.6).
    KeysUsedUp,
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (who, close) = match self {
            Self::Local(close) => ("this end", close),
            Self::Peer(close) => ("the peer", close),
            Self::Reset => return f.write_str("stateless reset by the peer"),
            Self::Idle => return f.write_str("the idle timeout"),
            Self::Version => return f.write_str("no common QUIC version"),
            Self::NoPath => return f.write_str("no path to the peer is left"),
            Self::KeysUsedUp => return f.write_str("the usage limit of the keys is reached"),
        };
        match close {
            Close::Transport { code, .. } => write!(f, "closed by {who}: {code}"),
            Close::Application { error, .. } => write!(f, "closed by {who} with error {error}"),
        }
    }
}

/// An event of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A client has connected. Call `accept` or `close`.
    Incoming,
    /// The handshake is complete: the peer is authenticated, and data may be sent.
    Connected,
    /// The handshake is confirmed (RFC 9001 section 4.1.2).
    Confirmed,
    /// An event of a stream.
    Stream(StreamEvent),
    /// A message can be received.
    Datagram,
    /// The peer has moved to another address, or with `false` only to another port.
    Moved(bool),
    /// A token arrived for a later connection to this server (RFC 9000 section 8.1.3).
    Token(Vec<u8>),
    /// A TLS secret, as a line of an SSLKEYLOGFILE. Only if the endpoint logs secrets.
    Secret(String),
    /// The connection is over.
    Ended(Ended),
}

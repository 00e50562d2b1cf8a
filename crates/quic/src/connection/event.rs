//! What an application is told of a connection.

use std::fmt;

use crate::connection::close::Close;
use crate::streams::table::StreamEvent;

/// Why a connection is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// This end closed it: the application, or an error of the peer's that this end found.
    Local(Close),
    /// The peer closed it.
    Peer(Close),
    /// A stateless reset: the peer has forgotten the connection (RFC 9000 section 10.3).
    Reset,
    /// Silence (section 10.1).
    Idle,
    /// The server speaks no version that this end does (section 6.2).
    Version,
    /// The peer's new address does not answer, and there is none to go back to (section 9.3.2).
    NoPath,
    /// The keys are used up and cannot be updated (RFC 9001 section 6.6).
    KeysUsedUp,
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (who, close) = match self {
            Self::Local(close) => ("this end", close),
            Self::Peer(close) => ("the peer", close),
            Self::Reset => return f.write_str("the peer has forgotten it"),
            Self::Idle => return f.write_str("the idle timeout"),
            Self::Version => return f.write_str("no version in common"),
            Self::NoPath => return f.write_str("no path to the peer is left"),
            Self::KeysUsedUp => return f.write_str("the keys are used up"),
        };
        match close {
            Close::Transport { code, .. } => write!(f, "{who} closed it: {code}"),
            Close::Application { error, .. } => write!(f, "{who} closed it with {error}"),
        }
    }
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A client came in: `accept` or `close` it.
    Incoming,
    /// The handshake is complete: the peer is who it says, and data may flow.
    Connected,
    /// The handshake is confirmed (RFC 9001 section 4.1.2).
    Confirmed,
    /// Of streams.
    Stream(StreamEvent),
    /// A message can be read.
    Datagram,
    /// The peer was seen at another address; false: at another port alone.
    Moved(bool),
    /// A token for a later connection to this server (RFC 9000 section 8.1.3).
    Token(Vec<u8>),
    /// A secret of TLS, as a line of the file that SSLKEYLOGFILE names; where the endpoint was told to hand them out.
    Secret(String),
    /// It is over.
    Ended(Ended),
}

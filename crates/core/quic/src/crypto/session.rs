//! Interface between a connection and its handshake.

use super::keys::{Keys, PacketKeySet};
use crate::error::Error;
use crate::level::Level;
use crate::wire::transport_parameters::TransportParameters;

/// Source of keys for successive key phases (RFC 9001 section 6.1).
pub trait NextKeys: Send {
    /// Returns the packet keys of the next phase. Header protection keys do not change.
    fn next_keys(&mut self) -> PacketKeySet;
}

impl NextKeys for rustls::quic::Secrets {
    fn next_keys(&mut self) -> PacketKeySet {
        self.next_packet_keys()
    }
}

/// Output of a handshake, in this order.
pub enum Event {
    /// Data for the CRYPTO stream of a level.
    Crypto {
        /// Encryption level at which the data is sent.
        level: Level,
        /// Handshake bytes.
        data: Vec<u8>,
    },
    /// Keys of Handshake packets, for both directions.
    Handshake(Keys),
    /// Keys of 1-RTT packets, for both directions. A server may send with them before the handshake
    /// is complete. It must not process packets opened with them until then (RFC 9001 section 5.7).
    OneRtt {
        /// Keys of the first key phase.
        keys: Keys,
        /// Source of the keys of later phases.
        next: Box<dyn NextKeys>,
    },
}

impl std::fmt::Debug for Event {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Crypto { level, data } => write!(f, "Crypto({level:?}, {} bytes)", data.len()),
            Self::Handshake(_) => f.write_str("Handshake keys"),
            Self::OneRtt { .. } => f.write_str("1-RTT keys"),
        }
    }
}

/// One end of a handshake (RFC 9001 section 4.1). It takes bytes, and produces bytes and keys. It
/// has no notion of packets or time.
///
/// Call [`poll`](Self::poll) until it returns `None`, after creating a client's session and after
/// every [`read`](Self::read).
pub trait Session: Send {
    /// Processes handshake bytes of a level, in order.
    ///
    /// # Errors
    /// CRYPTO_ERROR with the TLS alert; PROTOCOL_VIOLATION for bytes of a level that is over or not
    /// reached yet (section 4.1.3); TRANSPORT_PARAMETER_ERROR. The session has then failed.
    fn read(&mut self, level: Level, data: &[u8]) -> Result<(), Error>;

    /// Returns the next bytes to send or keys to install.
    fn poll(&mut self) -> Option<Event>;

    /// Reports whether the handshake is complete: both ends are authenticated, and this end has the
    /// peer's Finished (section 4.1.1). It may not be confirmed yet; see section 4.1.2.
    fn is_complete(&self) -> bool;

    /// Returns the peer's transport parameters as soon as they were read. They are authenticated
    /// once the handshake is complete.
    fn peer_parameters(&self) -> Option<&TransportParameters>;

    /// Returns the negotiated application protocol, once it is known.
    fn alpn(&self) -> Option<&[u8]>;

    /// Returns the server name that the client requested, once it is known. Servers only.
    fn server_name(&self) -> Option<&str> {
        None
    }

    /// Returns the SHA-256 fingerprint of a server certificate that was refused because another one
    /// is pinned. Clients only.
    fn other_fingerprint(&self) -> Option<[u8; 32]> {
        None
    }

    /// Returns the secrets derived since the last call, as lines of an SSLKEYLOGFILE. Empty unless
    /// the session logs secrets.
    fn take_secrets(&mut self) -> Vec<String> {
        Vec::new()
    }

    /// Exports key material that only the two ends know into `out` (RFC 8446 section 7.5).
    ///
    /// # Errors
    /// INTERNAL_ERROR before the handshake is complete, or if the session has no secret.
    fn export(&self, label: &[u8], context: &[u8], out: &mut [u8]) -> Result<(), Error>;
}

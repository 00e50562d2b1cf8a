//! What a connection asks of a handshake, whoever does it.

use super::keys::{Keys, PacketKeySet};
use crate::error::Error;
use crate::level::Level;
use crate::wire::transport_parameters::TransportParameters;

/// Keys of one key phase after the other (RFC 9001 section 6.1).
pub trait NextKeys: Send {
    /// The packet keys of the next phase; header protection stays.
    fn next_keys(&mut self) -> PacketKeySet;
}

impl NextKeys for rustls::quic::Secrets {
    fn next_keys(&mut self) -> PacketKeySet {
        self.next_packet_keys()
    }
}

/// What a handshake brings forth, in this order.
pub enum Event {
    /// Bytes for the CRYPTO stream of a level.
    Crypto {
        /// At which level they are sent.
        level: Level,
        /// The bytes.
        data: Vec<u8>,
    },
    /// The keys of Handshake packets, both directions.
    Handshake(Keys),
    /// The keys of 1-RTT packets, both directions. A server may send with them before the handshake is complete, and must not process
    /// what it opens with them until then (RFC 9001 section 5.7).
    OneRtt {
        /// Of the first key phase.
        keys: Keys,
        /// Of all later ones.
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

/// One end of a handshake (RFC 9001 section 4.1): bytes in, bytes and keys out. It knows no packets and no time.
///
/// After a new session of a client and after every [`read`](Self::read), [`poll`](Self::poll) is called until it has nothing.
pub trait Session: Send {
    /// Takes handshake bytes of a level, in order.
    ///
    /// # Errors
    /// CRYPTO_ERROR with the alert of TLS; PROTOCOL_VIOLATION for bytes of a level that is over or not there yet (section 4.1.3);
    /// TRANSPORT_PARAMETER_ERROR. The session is over then.
    fn read(&mut self, level: Level, data: &[u8]) -> Result<(), Error>;

    /// What is to be sent or installed next.
    fn poll(&mut self) -> Option<Event>;

    /// Both ends are authenticated, and this one has the peer's Finished (section 4.1.1). Confirmed is more: see section 4.1.2.
    fn is_complete(&self) -> bool;

    /// What the peer has declared, as soon as it was read; authenticated once the handshake is complete.
    fn peer_parameters(&self) -> Option<&TransportParameters>;

    /// The application protocol that both ends speak, once it is known.
    fn alpn(&self) -> Option<&[u8]>;

    /// The name by which the client asked for the server, once it is known; servers only.
    fn server_name(&self) -> Option<&str> {
        None
    }

    /// The SHA-256 of the server's certificate, where it was refused because another fingerprint is believed; clients only.
    fn other_fingerprint(&self) -> Option<[u8; 32]> {
        None
    }

    /// Secrets that came up since the last call, as lines of a file that SSLKEYLOGFILE names; none unless the session was told to.
    fn take_secrets(&mut self) -> Vec<String> {
        Vec::new()
    }

    /// Key material that only both ends know (RFC 8446 section 7.5), into `out`.
    ///
    /// # Errors
    /// INTERNAL_ERROR before the handshake is complete, or where there is no secret.
    fn export(&self, label: &[u8], context: &[u8], out: &mut [u8]) -> Result<(), Error>;
}

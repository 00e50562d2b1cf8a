//! What all connections of a run have in common.

use quic::config::Config;

/// What protects packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Cipher {
    /// TLS 1.3, with a self-signed Ed25519 certificate that the client knows.
    #[default]
    Tls,
    /// Nothing. Packets have the sizes that they have with TLS, handshakes are shorter: for comparisons with a model, and for speed.
    Plain,
}

/// What all connections of a run have in common; the rest is the flow's.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    /// What protects packets.
    pub cipher: Cipher,
    /// Windows of flow control, timeouts, encodings. Datagram sizes, `max_ack_delay` and receive times are the flow's.
    pub quic: Config,
}

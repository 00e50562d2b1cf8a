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

/// What a packet of [`Profile::exact`] has besides the bytes of the stream, of which `Transport::Quic` is to be told: header with an ID of 8
/// bytes and a number of 4, the largest STREAM header, a tag. In bytes.
pub const EXACT_HEADER: u32 = (1 + 8 + 4 + quic::wire::frame::FIXED_STREAM_HEADER + 16) as u32;

impl Profile {
    /// For comparisons with a simulated flow, packet by packet: no cipher, sizes that do not depend on how far a connection is, no flow control,
    /// no PING. The flow's header is to be [`EXACT_HEADER`], and its `handshake` off.
    pub fn exact() -> Self {
        Self { cipher: Cipher::Plain, quic: Config::exact() }
    }
}

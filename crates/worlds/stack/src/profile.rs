//! Settings shared by all connections of a run.

use quic::config::Config;

/// Packet protection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Cipher {
    /// TLS 1.3, with a self-signed Ed25519 certificate that the client knows.
    #[default]
    Tls,
    /// No protection. Packets have the sizes that they have with TLS, and handshakes are shorter.
    /// For comparisons with a model, and for speed.
    Plain,
}

/// Settings shared by all connections of a run. Everything else comes from the flow.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    /// Packet protection.
    pub cipher: Cipher,
    /// Flow control windows and encodings. Datagram sizes, `max_ack_delay`, receive times and the
    /// idle timeout come from the flow instead.
    pub quic: Config,
}

/// Bytes of a [`Profile::exact`] packet besides stream data, for the `header` of `Transport::Quic`.
/// They are a header with an 8-byte connection ID and a 4-byte packet number, the largest STREAM
/// header, and a tag.
pub const EXACT_HEADER: u32 = (1 + 8 + 4 + quic::wire::frame::FIXED_STREAM_HEADER + 16) as u32;

impl Profile {
    /// Profile for packet-by-packet comparisons with a simulated flow. It has no cipher, no flow
    /// control, no PING, and sizes that do not depend on the progress of the connection. Set the
    /// flow's header to [`EXACT_HEADER`] and switch its `handshake` off.
    pub fn exact() -> Self {
        Self { cipher: Cipher::Plain, quic: Config::exact() }
    }
}

//! What all connections of a run have in common.

use quic::config::Config;
use quic::streams::WindowConfig;

/// Credit from the beginning on, in bytes. Autotuning from 512 KiB holds slow start back from some 350 kB in flight on: on 100 Mbit/s, 20 ms
/// and a queue of 1 BDP the first overshoot loses 232 packets where the model, which knows no flow control, loses 391.
const CREDIT: u64 = 64 << 20;

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
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    /// What protects packets.
    pub cipher: Cipher,
    /// Windows of flow control, timeouts, encodings. Datagram sizes, `max_ack_delay` and receive times are the flow's.
    pub quic: Config,
}

impl Default for Profile {
    /// TLS, and 64 MiB of credit on the stream and in all, so that the network limits and not the receiver.
    fn default() -> Self {
        let window = WindowConfig { initial: CREDIT, max: CREDIT };
        let quic = Config { data_window: window, stream_window: window, ..Config::default() };
        Self { cipher: Cipher::default(), quic }
    }
}

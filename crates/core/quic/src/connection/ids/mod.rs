//! Connection IDs of both ends (RFC 9000 sections 5.1, 7.2, 7.3, 19.15, 19.16).

pub mod handshake;
pub mod local;
pub mod remote;

pub use handshake::HandshakeIds;
pub use local::LocalIds;
pub use remote::RemoteIds;

//! Keys and the handshake (RFC 9001).
//!
//! Contains packet protection in place, TLS 1.3 by rustls, key updates, and a session without
//! cryptography.

pub mod keys;
mod pinned;
pub mod plain;
pub mod session;
pub mod start;
pub mod tls;
pub mod update;

pub use keys::{Keys, Opened, Refused};
pub use plain::Plain;
pub use session::{Event, NextKeys, Session};
pub use start::{ClientCrypto, ServerCrypto};
pub use tls::Tls;
pub use update::{NotYet, OneRtt};

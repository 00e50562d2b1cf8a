//! Connection IDs (RFC 9000 section 5.1).

use std::fmt;
use std::ops::Deref;

/// A connection ID of QUIC version 1: 0 to 20 bytes.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionId {
    bytes: [u8; Self::MAX_LEN],
    len: u8,
}

impl ConnectionId {
    /// Maximum length in version 1, in bytes (RFC 9000 section 17.2).
    pub const MAX_LEN: usize = 20;
    /// The zero-length connection ID.
    pub const EMPTY: Self = Self { bytes: [0; Self::MAX_LEN], len: 0 };

    /// Creates a connection ID. Returns `None` for more than 20 bytes.
    pub fn new(bytes: &[u8]) -> Option<Self> {
        let mut id = Self::EMPTY;
        id.bytes.get_mut(..bytes.len())?.copy_from_slice(bytes);
        id.len = bytes.len() as u8;
        Some(id)
    }
}

impl Deref for ConnectionId {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }
}

impl fmt::Display for ConnectionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for ConnectionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ConnectionId({self})")
    }
}

//! Sizes in bytes.

/// A number of bytes. In files: `"100 MB"`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Bytes(pub u64);

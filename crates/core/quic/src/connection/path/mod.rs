//! Paths: address validation, path validation, migration (RFC 9000 sections 8 and 9).

pub mod paths;
pub mod validation;

pub use paths::{Change, Event, PathId, Paths, Seen};
pub use validation::{Addresses, Challenge, Path};

//! End of a connection: closing, draining, idle timeout (RFC 9000 section 10).

pub mod lifecycle;

pub use lifecycle::{Close, Lifecycle, State, close_levels};
pub use recovery::IdleTimer;

//! Parts of a connection that need no loss recovery, each complete in itself.

pub mod close;
pub mod ids;
pub mod path;

pub use close::{Close, IdleTimer, KeysAtClose, Lifecycle, State};
pub use ids::{HandshakeIds, LocalIds, RemoteIds};
pub use path::{Path, Paths};

//! A connection: the state machine that combines packets, keys, streams and loss recovery (RFC
//! 9000, 9001, 9002).
//!
//! [`Connection`] is one struct, implemented in several files:
//!
//! * receiving: `receive`, `frames`, `acks`;
//! * the handshake: `handshake`;
//! * sending: `transmit`, `write_frames`, `closing`;
//! * timers: `timers`;
//! * paths: `migration`;
//! * the interface for applications: `application`.
//!
//! Parts that need no loss recovery are separate modules: [`close`], [`ids`], [`path`].

mod acks;
mod announcements;
mod application;
pub mod close;
mod closing;
mod event;
mod frames;
mod handshake;
pub mod ids;
mod migration;
pub mod path;
mod receive;
mod sent_frames;
mod settings;
mod spaces;
mod state;
mod tap;
mod timers;
mod transmit;
mod write_frames;

pub use application::{DATAGRAM_OVERHEAD, Unsendable};
pub use close::{Close, IdleTimer, KeysAtClose, Lifecycle, State};
pub use event::{Ended, Event};
pub use ids::{HandshakeIds, LocalIds, RemoteIds};
pub use path::{Path, Paths};
pub use sent_frames::{SentFrame, SentFrames};
pub use settings::{ControllerFactory, Settings};
pub use state::{Arrival, Connection, ConnectionInit, Counts, Transmit};
pub use tap::{Observation, Tap};

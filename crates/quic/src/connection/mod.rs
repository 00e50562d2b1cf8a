//! A connection: the state machine that ties packets, keys, streams and loss recovery together (RFC 9000, 9001, 9002).
//!
//! [`Connection`] is one struct; its parts are files: what comes in (`receive`, `frames`, `acks`), the handshake (`handshake`), what goes out
//! (`transmit`, `fill`, `closing`), when (`timers`), where to (`moving`), what an application does with it (`application`). Parts that need
//! no loss recovery stand by themselves: [`close`], [`ids`], [`path`].

mod acks;
mod application;
pub mod close;
mod closing;
mod contents;
mod event;
mod fill;
mod frames;
mod handshake;
pub mod ids;
mod moving;
pub mod path;
mod receive;
mod settings;
mod spaces;
mod state;
mod tap;
mod timers;
mod transmit;

pub use application::{DATAGRAM_OVERHEAD, Unsendable};
pub use close::{Close, IdleTimer, KeysAtClose, Lifecycle, State};
pub use contents::{Contents, Item};
pub use event::{Ended, Event};
pub use ids::{HandshakeIds, LocalIds, RemoteIds};
pub use path::{Path, Paths};
pub use settings::{ControllerFactory, Settings};
pub use state::{Arrival, Birth, Connection, Counts, Transmit};
pub use tap::{Observation, Tap};

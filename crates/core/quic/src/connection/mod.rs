//! A connection: the state machine that combines packets, keys, streams and loss recovery (RFC
//! 9000, 9001, 9002).
//!
//! [`Connection`] consists of parts, each with its own state:
//!
//! * connection IDs: `connection_ids`, with [`ids`];
//! * keys: `packet_keys`, `early`; packet number spaces: `spaces`;
//! * loss recovery: `loss`; ACK frames: `ack_frames`, `ack_frequency`;
//! * paths and the end: [`path`], [`close`];
//! * messages: `messages`; frames of servers: `server_frames`;
//! * the datagram being built: `datagram`, `sent_frames`.
//!
//! Its own methods combine them:
//!
//! * receiving: `receive`, `frames`, `acks`;
//! * the handshake: `handshake`;
//! * sending: `transmit`, `write_frames`, `closing`;
//! * timers: `timers`;
//! * paths: `migration`;
//! * the interface for applications: `application`.

mod ack_frames;
mod ack_frequency;
mod acks;
mod application;
pub mod close;
mod closing;
mod connection_ids;
mod datagram;
mod early;
mod event;
mod frames;
mod handshake;
pub mod ids;
mod larger_datagrams;
mod loss;
mod messages;
mod migration;
mod packet_keys;
pub mod path;
mod receive;
mod sent_frames;
mod server_frames;
mod settings;
mod spaces;
mod state;
mod tap;
mod timers;
mod transmit;
mod write_frames;

pub use close::{Close, IdleTimer, Lifecycle, State};
pub use event::{Ended, Event};
pub use ids::{HandshakeIds, LocalIds, RemoteIds};
pub use messages::{DATAGRAM_OVERHEAD, Unsendable};
pub use path::{Path, Paths};
pub use sent_frames::{SentFrame, SentFrames};
pub use settings::{ControllerFactory, Settings};
pub use state::{Arrival, Connection, ConnectionInit, Counts, Transmit};
pub use tap::{Observation, Tap};

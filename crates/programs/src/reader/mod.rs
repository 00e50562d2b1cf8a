//! Our own reading of other stacks' traffic, with their TLS keys: no I/O, no clock.
//!
//! ```text
//! key_log.rs    what SSLKEYLOGFILE got -> secrets      keys.rs    secrets -> keys      hello.rs    which secrets, which suite
//! connection.rs    datagrams in the order of time -> packets      packet.rs    what of their frames counts
//! flight.rs    packets of one sender -> RTT samples, losses, bytes in flight      stream.rs    data that arrives
//! ```
//!
//! Every datagram may be seen twice, where it leaves and where it arrives; one that is seen once was lost between.

mod connection;
mod flight;
mod hello;
mod key_log;
mod keys;
mod packet;
mod stream;

pub use connection::{Datagram, Place, Reader};
pub use flight::{Answered, Departed, Flight};
pub use key_log::{KeyLog, Random, Secrets};
pub use keys::Suite;
pub use packet::{Ack, Packet, Piece};
pub use stream::{Arrivals, Arrived};

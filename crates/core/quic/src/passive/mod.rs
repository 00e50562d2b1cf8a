//! Decrypts other stacks' traffic with their TLS keys, and measures it. Has no I/O and no clock.
//!
//! ```text
//! key_log.rs       text of SSLKEYLOGFILE -> secrets
//! hello.rs         CRYPTO streams -> client random, cipher suite, transport parameters
//! keys.rs          secrets -> packet keys
//! connection.rs    datagrams in order of time -> packets
//! packet.rs        frames of a packet that are measured
//! flight.rs        packets of one sender -> RTT samples, losses, bytes in flight
//! stream.rs        data that arrives
//! ```
//!
//! For [`Reader`] and [`Flight`], every datagram is captured where it leaves and where it arrives.
//! One that is captured only once was lost on the way. [`Session`] also reads captures of one
//! place.

mod connection;
mod flight;
mod hello;
mod key_log;
mod keys;
mod packet;
mod stream;

pub use connection::{Datagram, Part, Place, Reader, Session};
pub use flight::{Acknowledged, Departed, Flight};
pub use key_log::{KeyLog, Random, Secrets};
pub use keys::Suite;
pub use packet::{Ack, Packet, Piece};
pub use stream::{Arrivals, Arrived};

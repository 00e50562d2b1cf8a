//! Streams and datagrams of a connection (RFC 9000 sections 2 to 4, RFC 9221): buffers,
//! retransmission and flow control.
//!
//! Everything that a peer can make grow is bounded by granted bytes, never by a number of gaps.

pub mod assembler;
pub mod datagram;
pub mod flow;
pub mod id;
pub mod limits;
pub mod outbox;
pub mod pattern;
pub mod ranges;
pub mod receive;
pub mod send;
pub mod table;

pub use assembler::{Assembler, Keep};
pub use datagram::{DatagramQueue, WhenFull};
pub use flow::{ReceiveWindow, SendCredit, WindowConfig};
pub use id::StreamId;
pub use limits::StreamLimits;
pub use outbox::{Chunk, Outbox};
pub use ranges::RangeSet;
pub use receive::{Read, ReceiveState, ReceiveStream};
pub use send::{SendState, SendStream};
pub use table::{Control, StreamEvent, StreamTable};

//! Wire formats: packets, frames, transport parameters (RFC 9000, RFC 9221, drafts). Without keys
//! or connection state.
//!
//! Decoding borrows from the input. It never panics, and never allocates memory according to a
//! length that the peer states. Encoding writes into a buffer of the caller; `size` gives the
//! length in advance.

pub mod ack;
pub mod codec;
pub mod connection_id;
pub mod frame;
pub mod frame_type;
pub mod frames;
pub mod header;
pub mod packet_number;
pub mod receive_timestamps;
pub mod retry;
pub mod transport_parameters;
pub mod varint;

pub use ack::{Ack, AckToSend, EcnCounts};
pub use codec::{Reader, Writer};
pub use connection_id::ConnectionId;
pub use frame::{Direction, Frame, StreamFrame};
pub use frame_type::FrameType;
pub use frames::{Extensions, Frames};
pub use header::{Dropped, Outgoing, Parsed, Placed, Protected};
pub use receive_timestamps::{Stamp, StampFormat, Stamps, StampsToSend};
pub use transport_parameters::TransportParameters;

#![warn(missing_docs)]
#![doc = include_str!("../README.md")]

pub use congestion;
pub use units;

mod ack;
mod clock;
mod ecn;
pub mod feed;
mod idle;
mod mtu_search;
pub mod receiver;
pub mod sender;

pub use ack::{AckError, AckFrame, DEFAULT_ACK_DELAY_EXPONENT, SACK_BLOCKS, TcpAck};
pub use clock::Clock;
pub use ecn::EcnCounts;
pub use feed::{ControllerFeed, Exit};
pub use idle::IdleTimer;
pub use mtu_search::{BASE_DATAGRAM, MtuSearch};
pub use receiver::{AckConfig, AckEvery, AckReceipt, OnGap, Reassembly, Receiver, TcpReceiver};
pub use sender::config::{
    LossLabel, Paced, PacketCount, Pto, Reduction, Rto, TimeThreshold, Timeout, packets_until_skip,
};
pub use sender::offload::{Offload, OffloadRule};
pub use sender::pacer::{Pacing, Style};
pub use sender::{
    AckEffects, Budget, Config, Limit, Payload, Role, SendDecision, Sender, SpaceId, Stats, Timers,
};

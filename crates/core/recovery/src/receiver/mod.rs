//! The receiver, which decides what to acknowledge and when.

mod ack_every;
mod config;
mod on_gap;
mod quic;
mod quick_acks;
mod reassembly;
mod stamps;
mod tcp;

pub use ack_every::AckEvery;
pub use config::AckConfig;
pub use on_gap::OnGap;
pub use quic::{AckReceipt, Receiver};
pub use reassembly::Reassembly;
pub use tcp::TcpReceiver;

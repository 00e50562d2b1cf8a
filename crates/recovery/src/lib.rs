//! The ledger: loss recovery, RTT, pacing, rate samples and ACK making, for QUIC (RFC 9000, 9002) and TCP
//! (RFC 5681, 6298, 6582, 8985, 9937) alike. The simulator, the emulator's endpoints and the QUIC endpoint all use it.
//!
//! Pure: time comes in with each call, nothing is sent, nothing fails.

pub mod ack_every;
pub mod clock;
pub mod config;
pub mod ecn;
mod epoch;
mod late;
mod loss;
mod min_rtt;
pub mod on_gap;
pub mod pacer;
mod prr;
mod quick_acks;
pub mod rate;
pub mod reassembly;
pub mod receiver;
mod rto;
pub mod rtt;
mod seen;
pub mod sender;
mod sent;
pub mod stats;
pub mod tcp;

pub use ack_every::AckEvery;
pub use clock::Clock;
pub use config::{Config, Exit, Paced, Pto, Reduction, Rto, TimeThreshold, Timeout};
pub use ecn::EcnCounts;
pub use on_gap::OnGap;
pub use pacer::{Pacing, Style};
pub use receiver::{AckConfig, AckFrame, Receiver};
pub use sender::{Gate, Outcome, Sender, Timers};
pub use sent::Payload;
pub use stats::Stats;
pub use tcp::{TcpAck, TcpReceiver};

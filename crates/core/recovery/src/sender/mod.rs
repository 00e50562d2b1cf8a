//! The sender of one path: packets sent, acknowledged and lost, and the signals to the controller.
//!
//! Sans I/O: [`Sender::can_send`] decides whether a packet can be sent and [`Sender::on_sent`]
//! records it. [`Sender::on_ack`], [`Sender::on_tcp_ack`] and [`Sender::on_timer`] process events.
//! [`Sender::next_timer`] returns the time of the next call. A sender has one packet number space,
//! or the three of a QUIC connection: [`Sender::with_spaces`], with [`Sender::on_sent_in`] and
//! [`Sender::on_ack_in`]. An ACK is processed in the order of RFC 9002 appendix A.7: RTT, ECN,
//! losses, growth.

mod acked_ranges;
mod acks;
mod allowance;
mod budget;
pub mod config;
mod duplicate_acks;
pub mod ecn_validation;
mod effects;
mod endpoint;
mod grouping;
mod larger_datagrams;
mod late;
mod loss_detection;
mod losses;
mod min_rtt;
mod numbers;
pub mod offload;
pub mod pacer;
mod pacing;
mod path;
mod prr;
mod pto;
mod round_trip;
mod rto;
pub mod rtt;
mod scoreboard;
mod sending;
mod sent_packets;
mod space;
mod stats;
mod tail_probe;
mod timeouts;
mod timers;
mod without_sack;

pub use budget::{Budget, Limit};
pub use config::Config;
pub use effects::AckEffects;
pub use sending::{SendDecision, Sender};
pub use sent_packets::Payload;
pub use space::{Role, SpaceId};
pub use stats::Stats;
pub use timers::Timers;

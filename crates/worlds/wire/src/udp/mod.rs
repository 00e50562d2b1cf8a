#![doc = include_str!("README.md")]
// Reads clocks and waits.
#![allow(clippy::disallowed_methods)]

mod clock;
mod engine;
mod joined;
mod socket;
mod wait;

pub use clock::Clock;
pub use engine::{Counters, Engine, MAX_BURST};
pub use quic;
pub use socket::{Incoming, MAX_PAYLOAD, Outgoing, Sent, Socket};
pub use units;
pub(crate) use wait::wait_each;
pub use wait::{Ready, wait};

#![doc = include_str!("../README.md")]
#![cfg(target_os = "linux")]
// It is about real time: it reads clocks and waits.
#![allow(clippy::disallowed_methods)]

mod clock;
mod engine;
mod joined;
mod socket;
mod wait;

pub use clock::Clock;
pub use engine::{Engine, MOST_IN_BURST, Tally};
pub use quic;
pub use socket::{Incoming, MOST_IN_DATAGRAM, Outgoing, Sent, Socket};
pub use units;
pub use wait::{Ready, wait};

//! A deterministic packet-level simulator: virtual time, a bottleneck or several in a row, also on the
//! way back, real loss recovery.
//!
//! **Invariant:** the same scenario gives the same outcome, bit by bit, on every machine and beside any other run.

mod endpoints;
mod engine;
pub mod guest;
pub mod packet;
mod traffic;

pub use engine::{event_queue, run, run_recorded, run_with_guests};
pub use guest::Guest;
pub use traffic::application::{Source, allowed_rate};

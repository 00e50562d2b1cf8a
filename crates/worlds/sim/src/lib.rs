//! A deterministic packet-level simulator: virtual time, real loss recovery, and a bottleneck or
//! several links in a row, also on the return path.
//!
//! **Invariant:** the same scenario gives the same outcome, bit by bit, on every machine and
//! whatever runs beside it.

mod endpoints;
mod engine;
pub mod packet;
mod traffic;
mod world;

pub use engine::{Simulation, event_queue, run, run_with_guests};
pub use world::Simulator;

#![warn(missing_docs)]
#![doc = include_str!("../README.md")]
//!
//!
//! **Invariant:** nothing here reads a clock, waits or does I/O. Time arrives with each call, so
//! the simulator's virtual time and the emulator's real clock drive the same object. Every random
//! element draws from its own stream, named after the link and the element.
//!
//! A packet passes through a [`Link`] in this order, with one file for each element:
//!
//! ```text
//! bleaching -> MTU, loss -> limit and AQM (+ backlog) -> rate (constant, steps, slots, aggregates, trace; token bucket) -> delay (jitter,
//! reordering)
//! ```

mod aggregates;
pub mod aqm;
mod backlog;
mod bursts;
mod config;
mod counters;
mod delay;
mod departure;
mod faults;
mod jitter;
mod limit;
mod link;
mod loss;
mod packet;
mod rate;
mod segment;
mod slots;
mod steps;
mod trace;

pub use aggregates::AggregateModel;
pub use aqm::{Aqm, Threshold};
pub use backlog::{Backlog, Count};
pub use bursts::{Bursts, Spells};
pub use config::{Blackhole, LinkConfig};
pub use counters::{Admitted, Counters, DropReason, Dropped, PacketOutcome, QueueTime, Transit};
pub use delay::Reorder;
pub use jitter::JitterOrder;
pub use limit::{Limit, LimitCounts};
pub use link::Link;
pub use packet::Packet;
pub use rate::RateModel;
pub use slots::SlotModel;
pub use steps::Steps;
pub use trace::{Mistake, Recording, Trace, TraceFile};
pub use units;

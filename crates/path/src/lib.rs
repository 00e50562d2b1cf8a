//! Path elements: a bottleneck with its queue, and what a network does to packets besides.
//!
//! **Invariant:** nothing here reads a clock, waits or does I/O. Time arrives with each call, so the simulator's
//! virtual time and the emulator's real clock drive the same object. Every random element draws from a stream of its
//! own, named after the link and the element.
//!
//! A packet goes through a [`Link`] in this order, one file each:
//!
//! ```text
//! loss -> limit (+ backlog) -> rate (constant, steps, slots; token bucket) -> delay (jitter, reordering)
//! ```

mod backlog;
mod delay;
mod limit;
mod link;
mod loss;
mod rate;
mod slots;

pub use backlog::{Backlog, Tally};
pub use delay::Reorder;
pub use limit::{Limit, LimitCounts};
pub use link::{Admitted, Counters, DropReason, Dropped, Link, LinkConfig};
pub use rate::RateModel;
pub use slots::SlotModel;

/// What a link must know of a packet.
pub trait Packet {
    /// Bytes on the wire, with all headers that the link's rate and limit are meant to count.
    fn size(&self) -> u32;
}

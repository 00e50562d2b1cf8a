//! Path elements: a bottleneck with its queue, and what a network does to packets besides.
//!
//! **Invariant:** nothing here reads a clock, waits or does I/O. Time arrives with each call, so the simulator's
//! virtual time and the emulator's real clock drive the same object. Every random element draws from a stream of its
//! own, named after the link and the element.
//!
//! A packet goes through a [`Link`] in this order, one file each:
//!
//! ```text
//! bleaching -> loss -> limit and AQM (+ backlog) -> rate (constant, steps, slots; token bucket) -> delay (jitter,
//! reordering)
//! ```

pub mod aqm;
mod backlog;
mod delay;
mod limit;
mod link;
mod loss;
mod rate;
mod slots;
mod steps;

pub use aqm::{Aqm, Threshold};
pub use backlog::{Backlog, Tally};
pub use delay::Reorder;
pub use limit::{Limit, LimitCounts};
pub use link::{Admitted, Counters, DropReason, Dropped, Fate, Link, LinkConfig, Stay};
pub use rate::RateModel;
pub use slots::SlotModel;
pub use steps::Steps;

use units::{Ecn, Time};

/// What a link must know of a packet, and may change.
pub trait Packet {
    /// Bytes on the wire, with all headers that the link's rate and limit are meant to count.
    fn size(&self) -> u32;

    /// The ECN field.
    fn ecn(&self) -> Ecn;

    /// Overwrites the ECN field.
    fn set_ecn(&mut self, ecn: Ecn);

    /// Which flow it belongs to; what FQ-CoDel hashes instead of the five-tuple.
    fn flow(&self) -> u32;

    /// The link has decided when the packet's last bit leaves: what a packet log wants to know.
    #[inline]
    fn set_departure(&mut self, _at: Time) {}

    /// Sets CE; false, and nothing changed, if the packet is not ECN-capable.
    fn set_ce(&mut self) -> bool {
        let capable = self.ecn() != Ecn::NotEct;
        if capable {
            self.set_ecn(Ecn::Ce);
        }
        capable
    }
}

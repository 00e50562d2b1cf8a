//! Congestion controllers: pure state machines, one file each.
//!
//! **Invariant:** nothing here reads a clock, draws from a dice of its own, does I/O or can fail. Time arrives inside
//! each signal; the answer is read from [`Controller::control`]. Depends on nothing but serde and libm, so that a
//! real stack can embed it.

pub mod algorithms;
pub mod components;
pub mod interface;
pub mod registry;
#[cfg(test)]
mod testing;

pub use interface::{
    Ack, AckedPacket, Cause, Congestion, Control, Controller, Detection, Idle, Lost, LostPacket, ParamDoc,
    Path, Range, RateSample, Sent,
};
pub use registry::Algorithm;

/// The initial window in bytes: so many packets, or RFC 9002's.
pub(crate) fn initial_window_of(packets: Option<u64>, mds: u64) -> u64 {
    packets.map_or_else(|| initial_window(mds), |packets| packets.saturating_mul(mds))
}

/// RFC 9002 section 7.2: ten packets, but not more than 14 720 bytes or two packets, whichever is larger.
pub fn initial_window(mds: u64) -> u64 {
    (10 * mds).min((2 * mds).max(14_720))
}

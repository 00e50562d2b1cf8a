#![doc = include_str!("../README.md")]
#![cfg_attr(not(any(test, feature = "testing")), no_std)]

extern crate alloc;
// So that `params!` may name this crate by its own name, here and elsewhere.
extern crate self as ackclock_congestion;

pub mod algorithms;
pub mod components;
pub mod interface;
pub mod registry;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
#[cfg(test)]
mod tests;

pub use interface::{
    Ack, AckedPacket, Cause, CloneController, Congestion, Control, Controller, Detection, Idle, Lost,
    LostPacket, Needs, ParamDoc, Parameters, PathInfo, Range, RateSample, STATE, Sent, Variable,
};
pub use registry::{Algorithm, Entry, Registry};
#[cfg(feature = "serde")]
#[doc(hidden)]
pub use serde;
pub use units;

/// What a constructor answers.
#[doc(hidden)]
pub type Boxed = alloc::boxed::Box<dyn Controller>;

/// The initial window in bytes: so many packets, or RFC 9002's.
pub(crate) fn initial_window_of(packets: Option<u64>, mds: u64) -> u64 {
    packets.map_or_else(|| initial_window(mds), |packets| packets.saturating_mul(mds))
}

/// RFC 9002 section 7.2: ten packets, but not more than 14 720 bytes or two packets, whichever is larger.
pub fn initial_window(mds: u64) -> u64 {
    (10 * mds).min((2 * mds).max(14_720))
}

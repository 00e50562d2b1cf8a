#![warn(missing_docs)]
#![doc = include_str!("../README.md")]
#![cfg_attr(not(any(test, feature = "testing")), no_std)]

extern crate alloc;
// Lets `params!` name this crate by its own name, both inside and outside of it.
extern crate self as ackclock_congestion;

pub mod algorithms;
pub mod catalogue;
pub mod components;
mod dynamic;
pub mod interface;
pub mod registry;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
#[cfg(test)]
mod tests;

pub use catalogue::{Family, Lineage};
pub use dynamic::{Parameter, Value};
pub use interface::{
    Ack, AckedPacket, Cause, CloneController, Congestion, Control, Controller, Detection, Idle, Lost,
    LostPacket, Needs, ParamDoc, Parameters, PathInfo, Range, RateSample, STATE, Sent, Variable,
};
pub use registry::{Algorithm, Build, Entry, Registry};
#[cfg(feature = "serde")]
#[doc(hidden)]
pub use serde;
pub use units;

/// Return type of an algorithm's constructor.
#[doc(hidden)]
pub type Boxed = alloc::boxed::Box<dyn Controller>;

/// Returns the initial window in bytes: `packets` full packets, or RFC 9002's default.
pub(crate) fn initial_window_or_default(packets: Option<u64>, mds: u64) -> u64 {
    packets.map_or_else(|| initial_window(mds), |packets| packets.saturating_mul(mds))
}

/// Returns the initial window of RFC 9002 section 7.2, in bytes.
///
/// Ten packets, but at most the larger of 14 720 bytes and two packets.
pub fn initial_window(mds: u64) -> u64 {
    (10 * mds).min((2 * mds).max(14_720))
}

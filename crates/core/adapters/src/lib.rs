#![warn(missing_docs)]
#![doc = include_str!("../README.md")]

#[cfg(any(feature = "noq", feature = "quinn"))]
mod adapter;
#[cfg(any(feature = "noq", feature = "quinn"))]
#[cfg_attr(
    not(all(feature = "noq", feature = "quinn")),
    allow(dead_code, reason = "for the other of the two")
)]
mod in_flight;
#[cfg(feature = "noq")]
pub mod noq;
#[cfg(feature = "quinn")]
pub mod quinn;
mod refusal;
#[cfg(any(feature = "noq", feature = "quinn"))]
mod source;
#[cfg(any(feature = "noq", feature = "quinn"))]
#[cfg_attr(
    not(all(feature = "noq", feature = "quinn")),
    allow(dead_code, reason = "for the other of the two")
)]
mod stack_feed;

pub use recovery::{congestion, units};
pub use refusal::{MissingSignal, Refusal, Trait, check};

//! Tools for testing controllers, built-in and your own (feature `testing`).
//!
//! Signals, a sender that plays scripts, a closed loop, and a suite of the rules that every
//! controller must obey.

pub mod closed_loop;
pub mod conformance;
pub mod fixtures;
pub mod script;

//! Other people's stacks in virtual time, and ours beside them; one program, so that it is linked once.
#![cfg(all(feature = "noq", feature = "quinn"))]

#[path = "../common/mod.rs"]
mod common;
mod transfers;

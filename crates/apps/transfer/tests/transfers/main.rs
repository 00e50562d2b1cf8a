//! Servers and clients over two endpoints, a link between them, and a clock that jumps.
#![cfg(target_os = "linux")]
#![allow(unreachable_pub, reason = "a crate of its own, for cargo")]

mod endings;
mod files;
mod hostile;
mod methods;
mod world;

//! `ackclock serve`, `fetch` and `interop` over this machine's loopback interface.
#![cfg(transfer)]
#![allow(clippy::disallowed_methods, reason = "real time")]
#![allow(unreachable_pub, reason = "a crate of its own, for cargo")]

mod aioquic;
mod commands;
mod common;
mod emulator;
mod interop;
#[cfg(wire)]
mod processes;

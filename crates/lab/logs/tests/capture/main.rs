//! Packet captures, by hand and from real stacks.
#![allow(clippy::disallowed_methods, reason = "tests of speed take real time")]

mod build;
mod files;
mod mutations;
mod quic_packets;
mod recorder;
mod speed;
mod tcp_segments;

//! Packet captures, by hand and from real stacks.

mod build;
mod files;
mod mutations;
mod quic_packets;
mod recorder;
mod tcp_segments;

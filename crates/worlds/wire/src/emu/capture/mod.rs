//! Packet log and capture of a run.

pub mod log;
mod pcapng;
pub mod row;

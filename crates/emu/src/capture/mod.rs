//! What a run keeps of its packets.

pub mod log;
mod pcapng;
pub mod row;

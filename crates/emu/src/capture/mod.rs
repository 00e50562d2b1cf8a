//! Packet log and capture of a run.

pub mod log;
#[cfg(not(feature = "pcap"))]
mod no_pcapng;
#[cfg(feature = "pcap")]
mod pcapng;
pub mod row;

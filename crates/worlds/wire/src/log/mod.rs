//! Reads the emulator's packet log: packets in the run's time, link counters, time series.
//!
//! The same rules hold for the kernel's TCP, for QUIC endpoints of this process, and for other
//! stacks as processes. They differ in the end that sends the data, and in their further sources.

mod packets;
mod series;

pub(crate) use self::packets::{Log, Packet, TCP, UDP, queue_time};
pub(crate) use self::series::{FlowLog, Ticks, newest};

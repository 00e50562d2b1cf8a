//! Controllers that answer delay.

pub mod dstar;
pub mod ledbat;
pub mod quic_dc;
pub mod vegas;

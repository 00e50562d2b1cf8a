//! Controllers that grow as Reno does.

pub mod hstcp;
pub mod new_reno;
pub mod tcp_reno;
pub mod westwood;
pub mod window;

//! Controllers that grow as Reno does.

pub(crate) mod frame;
pub mod hstcp;
pub mod new_reno;
pub mod tcp_reno;
pub mod westwood;
pub mod window;

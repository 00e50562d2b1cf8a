//! Application data of flows, and traffic beside them.

pub(crate) mod application;
pub(crate) mod ping;
pub(crate) mod udp;

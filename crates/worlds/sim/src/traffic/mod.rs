//! Traffic beside the flows.

pub(crate) mod ping;
pub(crate) mod udp;

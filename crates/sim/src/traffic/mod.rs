//! What flows carry, and what runs beside them.

pub(crate) mod application;
pub(crate) mod ping;
pub(crate) mod udp;

//! What the emulator needs of Linux: each file one facility, its `unsafe` inside.

pub mod child;
pub mod identity;
pub mod namespace;
mod netlink;
pub mod privilege;
pub mod signals;
pub mod tcp;
pub(crate) mod tun;
pub mod watch;

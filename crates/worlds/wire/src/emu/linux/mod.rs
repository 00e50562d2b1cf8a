//! Facilities of Linux that the emulator uses, one per file. The `unsafe` code is here.

pub mod child;
pub(crate) mod clock;
pub mod identity;
pub mod namespace;
mod netlink;
pub mod privilege;
pub mod signals;
pub mod tcp;
pub(crate) mod tun;
pub mod watch;

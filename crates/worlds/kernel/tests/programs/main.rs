//! The programs inside this kernel. They need CAP_BPF and CAP_PERFMON; without, the tests say so.
#![cfg(all(target_os = "linux", feature = "load"))]
// Connections take real time.
#![allow(clippy::disallowed_methods)]

mod agent;
mod native;
mod sockets;

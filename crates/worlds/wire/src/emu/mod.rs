//! The real-time link emulator: the elements of `link`, driven by the real clock, between two
//! network namespaces.
//!
//! ```text
//!   client's namespace                    this process                      server's namespace
//!   CMD  10.64.0.1  --TUN-->  engine: Link (loss, queue, rate, delay)  --TUN-->  10.64.0.2  CMD
//!        fd00:64::1 <--TUN--          Link of the way back             <--TUN--  fd00:64::2
//! ```
//!
//! The queue is analytic: the departure of a packet follows from its arrival and the state of the
//! link. The clock matters only where a packet arrives and where it is delivered. So the rate is
//! exact. Real time affects a run by the lateness of deliveries, which every run measures
//! ([`validity`]).
//!
//! **Nothing is left behind.** The namespaces have no name: the kernel removes them, and their
//! interfaces, with the last process and descriptor that holds them. Every command runs under its
//! own init in a PID namespace ([`child`]). The kernel kills that init with this process, and all
//! that the command has started with the init. So SIGKILL at any moment leaves nothing behind.
// The emulator runs in real time: it reads the clock and waits.
#![allow(clippy::disallowed_methods)]

pub mod capture;
mod error;
pub mod linux;
pub mod relay;
pub mod selftest;
#[doc(hidden)]
pub mod testing;
pub mod validity;

pub use error::Error;
pub use linux::identity::Identity;
pub use linux::namespace::Namespace;
pub use linux::{child, privilege, signals, tcp};
pub use relay::packet::{SYN, Segment, WirePacket};
pub use relay::rig::{Config, Report, Rig};
pub use relay::side::{Side, SideReport, Snapshot};

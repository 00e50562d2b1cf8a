//! The real-time link emulator: the elements of `link`, driven by the real clock, between two network namespaces.
//!
//! ```text
//!   client's namespace                    this process                      server's namespace
//!   CMD  10.64.0.1  --TUN-->  engine: Link (loss, queue, rate, delay)  --TUN-->  10.64.0.2  CMD
//!        fd00:64::1 <--TUN--          Link of the way back             <--TUN--  fd00:64::2
//! ```
//!
//! The queue is analytic: the departure of a packet follows from its arrival and the link's state, so that the clock
//! matters only where a packet arrives and where it is handed over. The rate is therefore exact, and what real time
//! does to a run is the lateness of deliveries, which every run measures ([`validity`]).
//!
//! **Nothing is left behind.** The namespaces have no name: the kernel removes them, and the interfaces in them, with
//! the last process and descriptor that holds them. Every command runs under an init of its own in a process namespace
//! ([`child`]), which the kernel kills with this process, and with it whatever the command has started. So SIGKILL at any
//! moment leaves nothing for the next start to find.
#![cfg(target_os = "linux")]
// The one crate that is about real time: it reads the clock and waits.
#![allow(clippy::disallowed_methods)]

pub mod capture;
mod error;
pub mod linux;
pub mod relay;
pub mod selftest;
pub mod validity;

pub use error::Error;
pub use linux::identity::Identity;
pub use linux::namespace::Namespace;
pub use linux::{child, privilege, signals, tcp};
pub use relay::packet::{SYN, Segment, WirePacket};
pub use relay::rig::{Config, Report, Rig};
pub use relay::side::{Side, SideReport, Snapshot};

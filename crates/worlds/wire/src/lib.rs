#![doc = include_str!("../README.md")]
#![cfg(target_os = "linux")]

pub mod emu;
pub mod endpoints;
mod feasibility;
#[cfg(feature = "kernel")]
mod kernel;
mod keys;
mod log;
pub mod processes;
pub mod udp;
mod world;

#[cfg(feature = "kernel")]
pub use self::kernel::{Controllers, Kernel};
pub use world::{Endpoints, Processes};

#![doc = include_str!("../README.md")]
#![cfg(target_os = "linux")]

pub mod emu;
pub mod endpoints;
mod feasibility;
mod log;
pub mod processes;
pub mod udp;
mod world;

pub use world::{Endpoints, Processes};

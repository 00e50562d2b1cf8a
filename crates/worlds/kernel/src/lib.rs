#![doc = include_str!("../README.md")]
#![cfg(target_os = "linux")]

#[cfg(feature = "load")]
mod agent;
#[cfg(feature = "load")]
mod error;
pub mod flow;
#[cfg(feature = "load")]
mod program;
pub mod record;
pub mod trace;

#[cfg(feature = "load")]
pub use self::agent::{Agent, Report};
#[cfg(feature = "load")]
pub use self::error::{Error, check};

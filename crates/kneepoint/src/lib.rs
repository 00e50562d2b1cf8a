//! The `kneepoint` command.

pub mod bench;
pub mod cli;
pub mod commands;
pub mod run;
#[cfg(target_os = "linux")]
pub mod wire;

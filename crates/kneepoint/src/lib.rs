//! The `kneepoint` command.

pub mod cli;
mod commands;
pub mod run;
mod status;

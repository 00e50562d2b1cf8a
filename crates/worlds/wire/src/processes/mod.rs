#![doc = include_str!("README.md")]

mod capture;
mod error;
mod outcome;
mod qlog;
mod regular;
#[allow(clippy::disallowed_methods, reason = "processes run by the real clock")]
mod run;
pub mod stack;

pub use error::Error;
pub use outcome::Reading;
pub use run::{
    Fate, MAX_DURATION, MAX_FLOWS, Measured, Options, Timeouts, Transfer, UNKNOWN, check, run, run_with,
};
pub use stack::{Stack, shipped};

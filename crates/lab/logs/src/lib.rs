#![doc = include_str!("../README.md")]

mod error;
pub mod event;
pub mod flent;
mod input;
pub mod iperf3;
mod json;
pub mod qlog;
#[cfg(test)]
mod tests;
mod whole;

pub use error::{At, Error};
pub use input::{Input, open};

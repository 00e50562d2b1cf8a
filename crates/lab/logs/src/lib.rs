#![doc = include_str!("../README.md")]

mod error;
pub mod event;
pub mod flent;
mod input;
pub mod iperf3;
mod json;
#[cfg(test)]
mod keep;
#[cfg(test)]
mod mutate;
pub mod qlog;
mod whole;

pub use error::{At, Error};
pub use input::{Input, open};

#![doc = include_str!("../README.md")]

pub mod account;
pub mod capture;
mod error;
pub mod event;
pub mod flent;
mod input;
pub mod iperf3;
mod json;
mod open;
pub mod qlog;
pub mod replay;
#[cfg(test)]
mod tests;
mod thin;
mod whole;

pub use error::{At, Error};
pub use input::{Input, open};
pub use open::{read, read_keys};

#![doc = include_str!("../README.md")]

pub mod account;
mod error;
pub mod event;
mod open;

pub use error::{At, Error};
pub use open::{read, read_keys};

#![doc = include_str!("../README.md")]

pub mod account;
mod error;
pub mod event;
mod input;
mod json;
mod open;
pub mod qlog;

pub use error::{At, Error};
pub use input::Input;
pub use open::{read, read_keys};

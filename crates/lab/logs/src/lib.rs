#![doc = include_str!("../README.md")]

pub mod account;
mod error;
pub mod event;

pub use error::{At, Error};

#![doc = include_str!("../README.md")]

mod error;
pub mod event;

pub use error::Error;

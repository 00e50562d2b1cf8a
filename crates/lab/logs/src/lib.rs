#![doc = include_str!("../README.md")]

pub mod capture;
mod error;
pub mod event;

pub use error::Error;

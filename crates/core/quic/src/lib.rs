#![warn(missing_docs)]
#![doc = include_str!("../README.md")]

pub use recovery;
pub use rustls;
pub use units;

pub mod config;
pub mod connection;
pub mod crypto;
pub mod crypto_stream;
pub mod endpoint;
mod error;
mod level;
pub mod passive;
pub mod random;
mod small_map;
pub mod streams;
pub mod wire;

pub use error::{Code, Error};
pub use level::{Level, Side, Space};

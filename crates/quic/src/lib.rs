#![doc = include_str!("../README.md")]

pub use recovery;
pub use rustls;
pub use units;

mod by_id;
pub mod config;
pub mod connection;
pub mod crypto;
pub mod crypto_stream;
pub mod endpoint;
mod error;
mod level;
pub mod random;
pub mod streams;
pub mod wire;

pub use error::{Code, Error};
pub use level::{Level, Side, Space};

#![doc = include_str!("../README.md")]
#![cfg(target_os = "linux")]

pub mod board;
pub mod download;
pub mod fetch;
pub mod h3;
pub mod hq;
mod job;
pub mod meter;
pub mod root;
pub mod serve;
pub mod session;
pub mod tasks;
pub mod url;

pub use board::{Board, Failure, Item, Stage, Wanted};
pub use download::Download;
pub use fetch::{Fetch, FetchConfig, Protocol, Trouble};
pub use job::{Answered, Log};
pub use meter::{Meter, Spread, Summary};
pub use quic;
pub use root::Root;
pub use serve::{Ender, ServeConfig, Server};
pub use units;
pub use url::Url;

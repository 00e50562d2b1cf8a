#![doc = include_str!("../README.md")]
#![cfg(target_os = "linux")]

pub mod download;
pub mod fetch;
pub mod h3;
pub mod hq;
mod job;
mod memory;
pub mod meter;
pub mod progress;
pub mod root;
pub mod serve;
pub mod session;
pub mod tasks;
pub mod url;

pub use download::Download;
pub use fetch::{Fetch, FetchConfig, FetchError, Protocol};
pub use job::{Log, LogEntry};
pub use meter::{Meter, Spread, Summary};
pub use progress::{Failure, FetchRequest, Item, Progress, Stage};
pub use quic;
pub use root::Root;
pub use serve::{ServeConfig, Server, ShutdownHandle};
pub use units;
pub use url::Url;

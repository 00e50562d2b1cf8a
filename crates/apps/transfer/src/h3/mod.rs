//! HTTP/3 (RFC 9114) with the `h3` crate, over the streams of a
//! [`Session`](crate::session::Session).

mod adapter;
pub mod client;
pub mod range;
pub mod server;

pub use adapter::Transport;

//! HTTP/3 (RFC 9114) by the crate `h3`, over the streams of a [`Session`](crate::session::Session).

mod adapter;
pub mod client;
pub mod range;
pub mod server;

pub use adapter::Transport;

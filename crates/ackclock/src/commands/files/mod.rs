//! What `serve`, `fetch` and `interop` have in common: files over QUIC on real sockets.

pub(crate) mod controller;
pub(crate) mod endpoint;
pub(crate) mod keys;
pub(crate) mod listeners;
pub(crate) mod table;
pub(crate) mod trust;

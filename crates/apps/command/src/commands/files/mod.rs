//! Shared parts of `serve`, `fetch` and `interop`: files over QUIC on real sockets.

pub(crate) mod controller;
pub(crate) mod endpoint;
pub(crate) mod keys;
pub(crate) mod listeners;
pub(crate) mod table;
pub(crate) mod trust;

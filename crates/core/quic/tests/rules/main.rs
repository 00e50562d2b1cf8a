//! Properties of the crate, one part per file. One program, so that it is linked once.

mod appendix_a;
mod assembly;
mod closing;
mod config;
mod connection_ids;
mod frames;
mod handshake;
mod headers;
mod parameters;
mod paths;
mod protection;
mod receive;
mod send;
mod strangers;

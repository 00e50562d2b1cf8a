//! Two endpoints and a link in virtual time: what the QUIC interop runner tries, and more.

mod handshakes;
mod transfers;
#[allow(unreachable_pub)] // a module of the test alone
mod world;

//! Two endpoints and a link in virtual time: the tests of the QUIC interop runner, and more.

mod endings;
#[allow(dead_code, unreachable_pub, reason = "a module of this program alone")]
mod forge;
mod handshakes;
mod hostile;
mod laboratory;
#[allow(dead_code, unreachable_pub, reason = "a module of this program alone")]
mod link;
mod many;
mod pressure;
mod small;
mod transfers;
#[allow(dead_code, unreachable_pub, reason = "a module of this program alone")]
mod world;

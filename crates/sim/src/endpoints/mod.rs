//! Both ends of a flow, and the way of its acknowledgements.

mod ack_jitter;
mod ack_path;
pub(crate) mod brief;
pub(crate) mod flow;
mod handshake;
pub(crate) mod hosted;
mod numbered;
mod receiver;
mod resend;
pub(crate) mod setup;

//! Both ends of a flow, and the path of its acknowledgements.

mod ack_jitter;
mod ack_path;
pub(crate) mod flow;
mod handshake;
pub(crate) mod hosted;
pub(crate) mod inline_ack;
mod numbered;
mod receiver;
mod resend;
pub(crate) mod setup;

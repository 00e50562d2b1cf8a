#![doc = include_str!("../README.md")]

mod accounting;
mod aioquic;
mod application;
mod buffer_pool;
mod builtin_cc;
mod endpoint;
mod endpoint_spec;
mod event_tap;
#[cfg(any(feature = "noq", feature = "quinn"))]
mod foreign;
mod message;
mod message_tracker;
mod nat;
mod own_endpoint;
mod pair;
mod profile;
mod refusal;
mod run;
mod session;
mod settings;
mod stack;
mod stream_chunks;
mod world;

pub use aioquic::Host;
pub use profile::{Cipher, EXACT_HEADER, Profile};
pub use refusal::{Refusal, check};
pub use run::{guests, guests_on, run};
pub use session::{Session, UNKNOWN};
pub use stack::Stack;
pub use world::VirtualTime;

#![doc = include_str!("../README.md")]

mod again;
mod aioquic;
mod application;
mod couple;
mod ear;
#[cfg(any(feature = "noq", feature = "quinn"))]
mod foreign;
mod message;
mod nat;
mod ours;
mod own;
mod pair;
mod peer;
mod peers;
mod pieces;
mod profile;
mod refusal;
mod run;
mod settings;
#[cfg(any(feature = "noq", feature = "quinn"))]
mod spy;
mod store;
mod tally;
mod unnumbered;
mod wanted;
mod which;

pub use aioquic::Host;
pub use couple::{Couple, UNKNOWN};
pub use pair::Pair;
pub use profile::{Cipher, EXACT_HEADER, Profile};
pub use refusal::{Refusal, check};
pub use run::{Guests, guests, guests_of, run};
pub use which::Stack;

#![doc = include_str!("../README.md")]

mod ear;
mod pair;
mod profile;
mod refusal;
mod run;
mod settings;
mod tally;

pub use pair::Pair;
pub use profile::{Cipher, EXACT_HEADER, Profile};
pub use refusal::{Refusal, check};
pub use run::{Guests, guests, run};

//! Stacks: what a manifest says of one, which are shipped, whether one is on this machine.

mod locate;
mod manifest;
mod shipped;
mod trust;
mod words;

pub use locate::Located;
pub use manifest::{EndCommand, Find, KeyKind, Stack};
pub use shipped::{shipped, stack};
pub(crate) use words::Words;

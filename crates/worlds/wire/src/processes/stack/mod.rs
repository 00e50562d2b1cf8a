//! Stacks: their manifests, the shipped ones, and whether they are installed.

mod fork;
mod locate;
mod manifest;
mod placeholders;
mod shipped;
mod trust;

pub use fork::fork;
pub use locate::Located;
pub use manifest::{EndCommand, Find, KeyKind, Stack};
pub(crate) use placeholders::Placeholders;
pub use shipped::{shipped, stack};

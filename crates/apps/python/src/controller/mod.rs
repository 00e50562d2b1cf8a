//! Controllers that are classes of Python.

mod bridge;
#[cfg(feature = "conformance")]
pub(crate) mod conformance;
pub(crate) mod entry;
pub(crate) mod host;
pub(crate) mod object;
pub(crate) mod report;
mod shape;
pub(crate) mod signals;
pub(crate) mod world;

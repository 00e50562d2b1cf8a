//! What tests of controllers stand on.

pub(crate) mod closed_loop;
pub(crate) mod fixtures;

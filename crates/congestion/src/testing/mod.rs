//! What tests of controllers stand on.

pub mod closed_loop;
pub mod fixtures;

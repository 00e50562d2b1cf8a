//! Environments for learning.

mod agent;
mod episode;
pub(crate) mod episodes;
pub(crate) mod view;

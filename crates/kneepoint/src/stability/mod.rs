//! Is the loop of a controller stable, and with what margin? The analysis of DCCC's paper (arXiv 1506.02799v3, section IV),
//! the same for the loop as it runs, sampled once per RTT, and a fluid model to check both. See docs/stability.md.

pub mod dde;
pub mod fluid;
pub mod margins;
pub mod open_loop;

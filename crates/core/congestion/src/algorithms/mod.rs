//! The algorithms by family, one file or folder per algorithm.

pub mod bbr;
pub mod cubic;
pub mod delay;
pub mod ecn;
pub mod fixed_window;
pub mod media;
pub mod reno;

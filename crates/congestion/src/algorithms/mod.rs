//! The algorithms, by family: one file each, BBR's versions a folder each.

pub mod bbr;
pub mod cubic;
pub mod delay;
pub mod fixed_window;
pub mod media;
pub mod reno;

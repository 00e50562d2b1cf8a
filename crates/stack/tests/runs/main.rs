//! Whole runs on the stack, beside the same on the simulator; one program, so that it is linked once.

mod applications;
mod bars;
mod bulk;
#[path = "../common/mod.rs"]
mod common;
mod exact;
mod faults;
mod paths;

//! Whole runs on the stack, beside the same on the simulator; one program, so that it is linked once.

extern crate congestion as ackclock_congestion; // the name that its macros write

mod applications;
mod bars;
mod bulk;
#[path = "../common/mod.rs"]
mod common;
mod exact;
mod faults;
mod paths;
mod rebinding;
mod receive_times;

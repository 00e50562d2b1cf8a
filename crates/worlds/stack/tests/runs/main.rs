//! Whole runs on the stack, compared with the simulator. All tests are one program, to link only
//! once.

extern crate congestion as ackclock_congestion; // the name that its macros use

mod applications;
mod bars;
mod bulk;
#[path = "../common/mod.rs"]
mod common;
mod exact;
mod faults;
mod mtu;
mod outages;
mod paths;
mod pauses;
mod rebinding;
mod receive_times;

//! Whole runs against closed forms and invariants, in one program, so that it is linked once.

mod acks;
mod applications;
mod bbr;
mod chain;
mod closed_forms;
#[path = "../common/mod.rs"]
mod common;
mod controller_timer;
mod ecn;
mod faults;
mod guests;
mod handshake;
mod jitter;
mod observer;
mod pauses;
mod probe;
mod prr;
mod receive_times;
mod recovery_options;
mod reverse;
mod timers;
mod udp;

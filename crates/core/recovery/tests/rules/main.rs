//! The rules of loss recovery, one per file, in one program so that it is linked once.

mod acks;
mod classic_tcp;
#[path = "../common/mod.rs"]
mod common;
mod controller_timer;
mod ecn;
mod feed;
mod invariants;
mod late;
mod loss;
mod mtu;
mod numbers;
mod pacing;
mod path;
mod prr;
mod quick_acks;
mod receiver;
mod reductions;
mod spaces;
mod tcp;
mod timeouts;

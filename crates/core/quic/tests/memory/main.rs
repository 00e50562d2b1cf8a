//! Memory that a peer can make an endpoint use, and memory of connections. A separate program,
//! since its allocator counts.
//!
//! The limit: nothing that a peer sends makes memory grow by more than 8 MiB above the receive
//! window.

mod attacks;
#[path = "../connections/forge.rs"]
#[allow(dead_code, unreachable_pub, reason = "shared with the tests of connections")]
mod forge;
#[path = "../connections/link.rs"]
#[allow(dead_code, unreachable_pub, reason = "shared with the tests of connections")]
mod link;
mod thousand;
#[path = "../connections/world.rs"]
#[allow(dead_code, unreachable_pub, reason = "shared with the tests of connections")]
mod world;

use std::sync::{Mutex, MutexGuard, PoisonError};

use peak_alloc::PeakAlloc;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// Runs one test at a time, since all share one heap.
fn alone() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

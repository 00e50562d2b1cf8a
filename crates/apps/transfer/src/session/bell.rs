//! Connections that have something to do.

use std::collections::BTreeSet;
use std::mem;
use std::sync::{Arc, Mutex, PoisonError};

use quic::connection::{Observation, Tap};
use quic::endpoint::Handle;
use quic::wire::Frame;
use units::Time;

/// Set of connections that have something to do. Clones share the same set.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ringing(Arc<Mutex<BTreeSet<Handle>>>);

impl Ringing {
    /// Returns the bell of a connection.
    pub(crate) fn bell(&self, handle: Handle) -> Bell {
        Bell { ringing: self.clone(), handle }
    }

    /// Adds a connection.
    pub(crate) fn add(&self, handle: Handle) {
        // No code panics while it holds the lock.
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(handle);
    }

    /// Removes and returns all connections.
    pub(crate) fn take(&self) -> BTreeSet<Handle> {
        mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Adds one connection to the set. As a tap, it does so at each ACK, which may release memory.
#[derive(Clone, Debug)]
pub(crate) struct Bell {
    ringing: Ringing,
    handle: Handle,
}

impl Bell {
    pub(super) fn ring(&self) {
        self.ringing.add(self.handle);
    }
}

impl Tap for Bell {
    fn on(&mut self, _: Time, what: &Observation<'_>) {
        if let Observation::Frame(Frame::Ack(_)) = what {
            self.ring();
        }
    }
}

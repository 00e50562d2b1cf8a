//! Short transfers, like those of a user who reads web pages: RFC 8868 has sizes uniform from 30 to
//! 50 kB and exponential idle times with a mean of 10 s.
//!
//! ```text
//! on    an object of uniform size, from its first byte offered to its last byte arrived
//! off   idle, exponential, from then on
//! ```
//!
//! With a `new` connection each object begins like a flow: with its own controller, sender and
//! receiver, and packet numbers from 0. The old connection receives its last acknowledgements until
//! then. A handshake, if the flow has one, counts in the object's time.

use crate::{Connection, ObjectsConfig, Record};
use units::{Bytes, Duration, Rng, Time};

/// Source of one flow.
#[derive(Debug)]
pub(super) struct ShortTransfers {
    config: ObjectsConfig,
    sizes: Rng,
    idles: Rng,
    /// Start of the next transfer; never while one is active.
    next: Time,
    begun: Option<Time>,
    size: u64,
    /// Number of transfers that have begun.
    count: u64,
}

impl ShortTransfers {
    pub(super) fn new(id: u32, config: &ObjectsConfig, start: Time, seed: u64) -> Self {
        let stream = |name| Rng::stream(seed, &format!("flow.{id}.{name}"));
        let mut objects = Self {
            config: config.clone(),
            sizes: stream("objects"),
            idles: stream("idle"),
            next: start,
            begun: None,
            size: 0,
            count: 0,
        };
        if !config.begins_on {
            objects.next = start + objects.idle();
        }
        objects
    }

    fn idle(&mut self) -> Duration {
        self.config.idle.mul_f64(self.idles.exponential())
    }

    pub(super) fn next(&self) -> Time {
        self.next
    }

    /// Reports whether a transfer is active.
    pub(super) fn is_on(&self) -> bool {
        self.begun.is_some()
    }

    /// Returns the size of the newest transfer, in bytes.
    pub(super) fn size(&self) -> u64 {
        self.size
    }

    /// Begins a transfer. Reports whether it needs a new connection.
    pub(super) fn begin(&mut self, now: Time) -> bool {
        let Bytes(smallest) = self.config.smallest;
        let span = self.config.largest.0.saturating_sub(smallest);
        self.size = smallest + self.sizes.below(span.saturating_add(1));
        self.begun = Some(now);
        self.next = Time::NEVER;
        self.count += 1;
        self.count > 1 && self.config.connection == Connection::New
    }

    pub(super) fn complete(&mut self, now: Time, record: &mut Record) {
        if let Some(begun) = self.begun.take() {
            record.on_object(now, now - begun);
        }
        self.next = now + self.idle();
    }
}

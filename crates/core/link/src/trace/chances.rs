//! Chances to deliver, as Mahimahi's mm-link serves them.
//!
//! Facts of mm-link, with lines of `src/frontend/link_queue.cc` at commit ae477d4:
//!
//! * A time is a chance to deliver 1504 bytes (`link_queue.hh:19`, 219). Times are whole
//!   milliseconds (47) that do not decrease (49-53).
//! * The last time is the period, above 0 (62-64): after the last chance, all times move by it
//!   (198-203).
//! * A packet counts as its IP length and 4 bytes, the packet information that a TUN interface
//!   puts before it (`src/util/netdevice.cc:27` does not set `IFF_NO_PI`).
//! * A chance serves packets while it has bytes (222), of the last one only a part (237-242).
//!   Later chances serve the rest (223). A packet leaves when its last byte is served (245-249).
//! * What a chance has left when the queue is empty is lost (219, 224-226).
//! * A packet leaves the queue when its first byte is served (227), and no earlier: on an idle
//!   link it counts towards the limit (`drop_tail_packet_queue.hh:22`) until the next chance.
//! * All chances up to and including the time of an arrival are used before it enters the queue
//!   (166, 173, 215), so a packet that arrives at the instant of a chance misses it.
//!
//! The order of the queue is known, and so are all chances. A departure is therefore known at
//! arrival. With S = 1504 bytes, T(k) the time of chance k, counted from 0, N(t) the number of
//! chances up to and including t, and a packet of L bytes that arrives at a:
//!
//! ```text
//! B      = max(F, S N(a))          first byte of the packet, among the bytes of all chances
//! F      = B + L + 4               first byte that is still free
//! begins = T(floor(B / S))         the packet leaves the queue
//! leaves = T(ceil(F / S) - 1)      the packet is delivered
//! ```
//!
//! This is Lindley's recursion over bytes instead of time. The maximum skips the chances up to the
//! arrival, and the rest of one that others have used in part. So every packet waits for a chance.
//! If `T(floor(F / S)) > a`, then `N(a) <= floor(F / S)` and F is the maximum, without a search:
//! only a packet that finds the link idle searches for N(a).
//!
//! Deviations: a packet may be larger than a chance (mm-link ends there, 162-164). The limit of a
//! queue counts sizes without the 4 bytes. Arrivals have nanoseconds, where mm-link rounds down to
//! a millisecond. Both miss the chance of that millisecond.

use std::sync::Arc;

use units::{Rate, Time};

use crate::departure::Departure;

/// Bytes of a chance.
const CHANCE: u64 = 1504;
/// Bytes by which a packet is larger than on the wire.
const PACKET_INFORMATION: u64 = 4;
const MS: u64 = 1_000_000;

/// Times of the chances in one period.
#[derive(Debug, PartialEq)]
pub(crate) struct Chances {
    /// Times in ms, in order.
    times: Vec<u32>,
    /// Last time, above 0.
    period: u32,
}

impl Chances {
    /// Creates the chances at these times, in order. Returns `None` if the last is 0 or missing.
    pub(super) fn new(times: Vec<u32>) -> Option<Self> {
        let period = times.last().copied().filter(|last| *last > 0)?;
        Some(Self { times, period })
    }

    /// Returns the period in ns.
    pub(super) fn period(&self) -> u64 {
        u64::from(self.period) * MS
    }

    pub(super) fn mean(&self) -> Rate {
        // At most 10^7 times in a ms, so that the bits per second fit.
        let bits = self.times.len() as u64 * CHANCE * 8;
        Rate(bits * 1000 / u64::from(self.period))
    }

    /// Returns N: the number of chances up to and including a time in ns.
    fn count(&self, at: u64) -> u64 {
        let (repetition, ms) = (at / self.period(), at % self.period() / MS);
        let in_period = self.times.partition_point(|time| u64::from(*time) <= ms);
        repetition.saturating_mul(self.times.len() as u64).saturating_add(in_period as u64)
    }

    /// Returns T: the time of a chance in ns, unless it is beyond the end of time.
    fn time(&self, chance: u64) -> Option<u64> {
        let lines = self.times.len() as u64;
        let in_period = u64::from(self.times[(chance % lines) as usize]) * MS;
        (chance / lines).checked_mul(self.period())?.checked_add(in_period)
    }

    /// Returns the bytes that all chances after one time and up to another can deliver. `phase` is
    /// the position at time zero.
    pub(crate) fn capacity(&self, from: Time, to: Time, phase: u64) -> f64 {
        let [from, to] = [from, to].map(|at| self.count(at.0.saturating_add(phase)));
        to.saturating_sub(from) as f64 * CHANCE as f64
    }
}

/// Server that uses chances.
#[derive(Debug)]
pub(crate) struct ChanceServer {
    chances: Arc<Chances>,
    /// Position in the chances at time zero, in ns.
    phase: u64,
    /// Chance with the first free byte: floor(F / S).
    chance: u64,
    /// Bytes of this chance that are taken: F mod S.
    taken: u64,
}

impl ChanceServer {
    pub(crate) fn new(chances: Arc<Chances>, phase: u64) -> Self {
        Self { chances, phase, chance: 0, taken: 0 }
    }

    /// Skips the chances up to now.
    #[inline]
    pub(crate) fn skip(&mut self, now: Time) {
        if self.begins() <= now {
            self.chance = self.chances.count(now.0.saturating_add(self.phase));
            self.taken = 0;
        }
    }

    /// Returns the time of the first free byte.
    #[inline]
    pub(crate) fn begins(&self) -> Time {
        self.time(self.chance)
    }

    /// Returns the departure of a packet that begins with the first free byte.
    #[inline]
    pub(crate) fn depart(&mut self, size: u32) -> Departure {
        let begins = Some(self.begins());
        let end = self.taken + u64::from(size) + PACKET_INFORMATION;
        let last = self.chance.saturating_add((end - 1) / CHANCE);
        self.chance = self.chance.saturating_add(end / CHANCE);
        self.taken = end % CHANCE;
        Departure { begins, ..Departure::new(self.time(last)) }
    }

    #[inline]
    fn time(&self, chance: u64) -> Time {
        // An earlier chance belongs to the repetition before time zero.
        self.chances.time(chance).map_or(Time::NEVER, |at| Time(at.saturating_sub(self.phase)))
    }
}

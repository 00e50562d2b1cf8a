//! What a queue holds, from arrival to departure, and both sides of Little's law.

use std::collections::VecDeque;

use units::{Duration, Time};

/// A number of packets and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Packets.
    pub packets: u64,
    /// Their bytes on the wire.
    pub bytes: u64,
}

/// Packets queued or in transmission, and their bytes; the one in transmission counts whole until its last bit left.
pub type Backlog = Tally;

impl Tally {
    /// One more packet.
    #[inline]
    pub(crate) fn add(&mut self, size: u32) {
        self.packets += 1;
        self.bytes += u64::from(size);
    }

    /// One packet less.
    #[inline]
    pub(crate) fn remove(&mut self, size: u32) {
        self.packets -= 1;
        self.bytes -= u64::from(size);
    }
}

impl std::ops::Add for Tally {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self { packets: self.packets + other.packets, bytes: self.bytes + other.bytes }
    }
}

impl std::ops::Sub for Tally {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self { packets: self.packets - other.packets, bytes: self.bytes - other.bytes }
    }
}

/// Both sides of Little's law for whatever is held: time must not run backwards.
#[derive(Debug, Default)]
pub(crate) struct Gauge {
    held: Backlog,
    max: Backlog,
    /// Up to when `integral` is worked out.
    at: Time,
    /// Left side: packets held, integrated over time, packet-ns.
    integral: u128,
    /// Right side: time spent by those that left, ns.
    sojourn: u128,
}

impl Gauge {
    #[inline]
    pub(crate) fn held(&self) -> Backlog {
        self.held
    }

    /// A packet comes in. [`Gauge::peak`] once it is clear that it stays.
    #[inline]
    pub(crate) fn enter(&mut self, now: Time, size: u32) {
        self.integrate(now);
        self.held.add(size);
    }

    /// A packet that came at `arrival` goes, whether it leaves or is dropped.
    #[inline]
    pub(crate) fn leave(&mut self, now: Time, arrival: Time, size: u32) {
        self.integrate(now);
        self.sojourn += u128::from((now - arrival).0);
        self.held.remove(size);
    }

    /// Notes a new most.
    #[inline]
    pub(crate) fn peak(&mut self) {
        self.max.packets = self.max.packets.max(self.held.packets);
        self.max.bytes = self.max.bytes.max(self.held.bytes);
    }

    /// Packets held, integrated from the start to `now`, packet-ns.
    pub(crate) fn integral(&mut self, now: Time) -> u128 {
        self.integrate(now);
        self.integral
    }

    /// Time spent here by all packets that went, ns.
    pub(crate) fn sojourn(&self) -> u128 {
        self.sojourn
    }

    /// The most packets and the most bytes ever held (not necessarily at the same moment).
    pub(crate) fn max(&self) -> Backlog {
        self.max
    }

    #[inline]
    fn integrate(&mut self, now: Time) {
        let Duration(span) = now - self.at;
        self.integral += u128::from(self.held.packets) * u128::from(span);
        self.at = now;
    }
}

#[derive(Debug)]
struct Entry {
    arrival: Time,
    leaves: Time,
    size: u32,
}

/// The packets that have not left yet, earliest leaving first. Leaving times are known at arrival; the past is worked
/// off on the next query.
#[derive(Debug, Default)]
pub(crate) struct Occupancy {
    entries: VecDeque<Entry>,
    gauge: Gauge,
}

impl Occupancy {
    /// Lets go what has left by `now`; a packet that leaves at `now` has left.
    #[inline]
    pub(crate) fn drain(&mut self, now: Time) -> Backlog {
        self.first(now);
        self.gauge.held()
    }

    /// The same, and all but the next to leave.
    #[inline]
    pub(crate) fn behind_first(&mut self, now: Time) -> Tally {
        let first = self.first(now).map_or(Tally::default(), |size| Tally { packets: 1, bytes: size.into() });
        self.gauge.held() - first
    }

    /// The size of the first that has not left.
    #[inline]
    fn first(&mut self, now: Time) -> Option<u32> {
        loop {
            let &Entry { arrival, leaves, size } = self.entries.front()?;
            if leaves > now {
                return Some(size);
            }
            self.entries.pop_front();
            self.gauge.leave(leaves, arrival, size);
        }
    }

    /// Takes a packet in. Call [`Occupancy::drain`] with the same `now` before.
    #[inline]
    pub(crate) fn admit(&mut self, now: Time, leaves: Time, size: u32) {
        // With tokens at hand it passes at once and was never held.
        if leaves <= now {
            return;
        }
        self.gauge.enter(now, size);
        self.gauge.peak();
        insert(&mut self.entries, Entry { arrival: now, leaves, size }, |e| e.leaves);
    }

    /// What is held and was.
    pub(crate) fn gauge(&mut self, now: Time) -> &mut Gauge {
        self.drain(now);
        &mut self.gauge
    }
}

/// Inserts behind everything with the same or an earlier time. Almost always that is the end; only explicit
/// reordering pays for shifting those it overtakes.
#[inline]
pub(crate) fn insert<T>(ring: &mut VecDeque<T>, entry: T, time: impl Fn(&T) -> Time) {
    if ring.back().is_none_or(|last| time(last) <= time(&entry)) {
        ring.push_back(entry);
    } else {
        let place = ring.partition_point(|e| time(e) <= time(&entry));
        ring.insert(place, entry);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_sides_of_littles_law() {
        let mut o = Occupancy::default();
        o.admit(Time(0), Time(10), 100);
        o.drain(Time(4));
        o.admit(Time(4), Time(16), 200);
        assert_eq!(o.drain(Time(9)), Backlog { packets: 2, bytes: 300 });
        assert_eq!(o.drain(Time(10)), Backlog { packets: 1, bytes: 200 });
        assert_eq!(o.gauge(Time(12)).integral(Time(12)), 4 + 2 * 6 + 2);
        assert_eq!(o.gauge.sojourn(), 10, "only of those that left");
        assert_eq!(o.gauge(Time(50)).integral(Time(50)), 10 + 12);
        assert_eq!(o.gauge.sojourn(), 10 + 12);
        assert_eq!(o.gauge.max(), Backlog { packets: 2, bytes: 300 });
    }

    #[test]
    fn inserts_in_order_and_behind_equals() {
        let mut ring = VecDeque::new();
        for (time, id) in [(5, 0), (7, 1), (7, 2), (6, 3), (7, 4), (5, 5)] {
            insert(&mut ring, (Time(time), id), |e| e.0);
        }
        assert_eq!(ring.iter().map(|e| e.1).collect::<Vec<_>>(), [0, 5, 3, 1, 2, 4]);
    }
}

//! Contents of a queue from arrival to departure, and both sides of Little's law.

use std::collections::VecDeque;

use units::{Duration, Time};

/// Number of packets, and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Number of packets.
    pub packets: u64,
    /// Sum of their bytes on the wire.
    pub bytes: u64,
}

/// Packets queued or in transmission, and their bytes. The packet in transmission counts in full
/// until its last bit has left.
pub type Backlog = Count;

impl Count {
    /// Adds one packet.
    #[inline]
    pub(crate) fn add(&mut self, size: u32) {
        self.packets += 1;
        self.bytes += u64::from(size);
    }

    /// Removes one packet.
    #[inline]
    pub(crate) fn remove(&mut self, size: u32) {
        self.packets -= 1;
        self.bytes -= u64::from(size);
    }
}

impl std::ops::Add for Count {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self { packets: self.packets + other.packets, bytes: self.bytes + other.bytes }
    }
}

impl std::ops::Sub for Count {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self { packets: self.packets - other.packets, bytes: self.bytes - other.bytes }
    }
}

/// Both sides of Little's law for any container of packets. Time must not run backwards.
#[derive(Debug, Default)]
pub(crate) struct Gauge {
    held: Backlog,
    max: Backlog,
    /// Time up to which `integral` is computed.
    at: Time,
    /// Left side: packets held, integrated over time, in packet-ns.
    integral: u128,
    /// Right side: time spent by packets that left, in ns.
    sojourn: u128,
}

impl Gauge {
    #[inline]
    pub(crate) fn held(&self) -> Backlog {
        self.held
    }

    /// Adds a packet. Call [`Gauge::update_max`] once it is certain that the packet stays.
    #[inline]
    pub(crate) fn enter(&mut self, now: Time, size: u32) {
        self.integrate(now);
        self.held.add(size);
    }

    /// Removes a packet that arrived at `arrival`, whether it departs or is dropped.
    #[inline]
    pub(crate) fn leave(&mut self, now: Time, arrival: Time, size: u32) {
        self.integrate(now);
        self.sojourn += u128::from((now - arrival).0);
        self.held.remove(size);
    }

    /// Updates the maximum.
    #[inline]
    pub(crate) fn update_max(&mut self) {
        self.max.packets = self.max.packets.max(self.held.packets);
        self.max.bytes = self.max.bytes.max(self.held.bytes);
    }

    /// Returns the packets held, integrated from the start to `now`, in packet-ns.
    pub(crate) fn integral(&mut self, now: Time) -> u128 {
        self.integrate(now);
        self.integral
    }

    /// Returns the time spent here by all packets that left, in ns.
    pub(crate) fn sojourn(&self) -> u128 {
        self.sojourn
    }

    /// Returns the largest number of packets and of bytes ever held, not necessarily at the same
    /// time.
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

/// Packets that have not left yet, in order of departure. Departure times are known at arrival. The
/// past is processed at the next query.
#[derive(Debug, Default)]
pub(crate) struct Occupancy {
    entries: VecDeque<Entry>,
    gauge: Gauge,
}

impl Occupancy {
    /// Removes packets that have left by `now`, `now` included.
    #[inline]
    pub(crate) fn drain(&mut self, now: Time) -> Backlog {
        self.first(now);
        self.gauge.held()
    }

    /// Like [`Occupancy::drain`], but returns the packets behind the next to leave.
    #[inline]
    pub(crate) fn behind_first(&mut self, now: Time) -> Count {
        let first = self.first(now).map_or(Count::default(), |size| Count { packets: 1, bytes: size.into() });
        self.gauge.held() - first
    }

    /// Returns the size of the first packet that has not left.
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

    /// Adds a packet. Call [`Occupancy::drain`] with the same `now` first.
    #[inline]
    pub(crate) fn admit(&mut self, now: Time, leaves: Time, size: u32) {
        // A packet that finds enough tokens passes at once and is never held.
        if leaves <= now {
            return;
        }
        self.gauge.enter(now, size);
        self.gauge.update_max();
        insert(&mut self.entries, Entry { arrival: now, leaves, size }, |e| e.leaves);
    }

    /// Returns the gauge, updated to `now`.
    pub(crate) fn gauge(&mut self, now: Time) -> &mut Gauge {
        self.drain(now);
        &mut self.gauge
    }
}

/// Inserts an entry behind all with the same or an earlier time. That is almost always the end.
/// Only deliberate reordering pays for shifting the entries that it overtakes.
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
        assert_eq!(o.gauge.sojourn(), 10, "only packets that left");
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

//! Times of packets at one end, to be compared with the other end.

use std::collections::BTreeMap;

use recovery::Reassembly;
use units::{Duration, Time};

use crate::event::Piece;

/// Largest number of packets of one way.
const MOST: usize = 1_500_000;

/// A packet at one end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    /// Packet number, or TCP's stream offset.
    pub(super) key: u64,
    pub(super) at: Time,
    /// Stream data: stream, first byte and length.
    pub(super) stream: u32,
    pub(super) offset: u64,
    pub(super) len: u32,
    /// At the sender: some of its data was sent before.
    pub(super) is_repeat: bool,
    /// True if it has only an acknowledgement.
    pub(super) is_bare: bool,
}

/// Packets of one way at one end, in the order of time.
#[derive(Clone, Debug, Default)]
pub(super) struct Table {
    entries: Vec<Entry>,
    /// Further data of packets with several pieces, by the place of their entry.
    more: BTreeMap<usize, Vec<Piece>>,
    /// There were more packets than it keeps.
    pub(super) is_cut: bool,
}

impl Table {
    pub(super) fn add(&mut self, entry: Entry) {
        if self.entries.len() < MOST {
            self.entries.push(entry);
        } else {
            self.is_cut = true;
        }
    }

    /// Adds a packet whose entry has the first of these pieces.
    pub(super) fn add_pieces(&mut self, entry: Entry, pieces: &[Piece]) {
        if let [_, more @ ..] = pieces
            && !more.is_empty()
            && self.entries.len() < MOST
        {
            self.more.insert(self.entries.len(), more.to_vec());
        }
        self.add(entry);
    }

    /// Returns all data of the packet at this place: stream, first byte and end.
    fn data(&self, place: usize) -> impl Iterator<Item = (u32, u64, u64)> {
        let first = self.entries.get(place).map(|e| (e.stream, e.offset, u64::from(e.len)));
        let more = self.more.get(&place).into_iter().flatten();
        let all = first.into_iter().chain(more.map(|piece| (piece.stream as u32, piece.offset, piece.len)));
        all.map(|(stream, offset, len)| (stream, offset, offset.saturating_add(len)))
    }

    pub(super) fn entries(&self) -> &[Entry] {
        &self.entries
    }
}

/// Difference of the clocks of two logs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Clock {
    /// Nanoseconds to be added to a time of the sender's log for one of the receiver's.
    pub offset: i64,
    /// Bound of its error: half the smallest RTT. Zero for logs of one clock.
    pub bound: Duration,
}

impl Clock {
    /// Estimates the difference from the fastest packet of each direction. The delays of both are
    /// taken to be equal. Returns `None` without packets in both directions.
    pub(super) fn estimate(forward: [&Table; 2], back: [&Table; 2]) -> Option<Self> {
        let [there, here] = [fastest(forward)?, fastest(back)?];
        let rtt = there.saturating_add(here).max(0);
        Some(Self { offset: (there - here) / 2, bound: Duration((rtt / 2).unsigned_abs()) })
    }

    /// Converts a time of the receiver's log to the sender's clock.
    pub(super) fn at_sender(self, arrived: Time) -> Time {
        Time(arrived.0.saturating_add_signed(self.offset.saturating_neg()))
    }

    /// Converts a time of the sender's log to the receiver's clock.
    pub(super) fn at_receiver(self, sent: Time) -> i64 {
        (sent.0.cast_signed()).saturating_add(self.offset)
    }
}

/// Returns the smallest difference between arrival and departure, in nanoseconds. Packets that
/// were sent more than once do not count.
fn fastest([sent, received]: [&Table; 2]) -> Option<i64> {
    let mut departures: BTreeMap<u64, Option<Time>> = BTreeMap::new();
    for entry in sent.entries() {
        departures.entry(entry.key).and_modify(|known| *known = None).or_insert(Some(entry.at));
    }
    let delay = |entry: &Entry| {
        let sent = (*departures.get(&entry.key)?)?;
        Some(entry.at.0.cast_signed().saturating_sub(sent.0.cast_signed()))
    };
    received.entries().iter().filter_map(delay).min()
}

/// Outcome of a packet on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fate {
    /// The packet at the sender.
    pub(super) sent: Entry,
    /// One-way delay, if it arrived.
    pub(super) owd: Option<Duration>,
}

/// Finds out what became of each packet of the sender.
///
/// Packets with unique numbers are matched by them. TCP segments are matched by offset: an arrival
/// belongs to the newest transmission that left before, by at least the smallest delay.
pub(super) fn fates(sent: &Table, received: &Table, clock: Clock) -> Vec<Fate> {
    let mut arrivals: BTreeMap<u64, Vec<Time>> = BTreeMap::new();
    for entry in received.entries() {
        arrivals.entry(entry.key).or_default().push(entry.at);
    }
    let first = fastest([sent, received]).map_or(0, |fastest| fastest.saturating_sub(clock.offset).max(0));
    let mut fates: Vec<Fate> = Vec::with_capacity(sent.entries().len());
    // From the newest on, so that each takes the arrivals that no later transmission explains.
    for entry in sent.entries().iter().filter(|entry| !entry.is_bare).rev() {
        let left = clock.at_receiver(entry.at);
        let mut fate = Fate { sent: *entry, owd: None };
        if let Some(all) = arrivals.get_mut(&entry.key) {
            let from = all.partition_point(|at| at.0.cast_signed() < left.saturating_add(first));
            // The first of them is its own; more would be copies that the path made.
            if let Some(at) = all.get(from) {
                fate.owd = Some(Duration((at.0.cast_signed() - left).max(0).unsigned_abs()));
                all.truncate(from);
            }
        }
        fates.push(fate);
    }
    fates.reverse();
    fates
}

/// Returns the departures of retransmissions whose whole data had arrived before.
pub(super) fn redundant(sent: &Table, received: &Table, clock: Clock) -> Vec<Time> {
    let mut streams: BTreeMap<u32, Reassembly> = BTreeMap::new();
    let mut arrivals = received.entries().iter().enumerate().peekable();
    let mut all = Vec::new();
    let repeats = sent.entries().iter().enumerate().filter(|(_, entry)| entry.is_repeat && entry.len > 0);
    for (place, repeat) in repeats {
        let left = clock.at_receiver(repeat.at);
        while let Some((arrived, _)) = arrivals.next_if(|(_, entry)| entry.at.0.cast_signed() <= left) {
            for (stream, from, to) in received.data(arrived) {
                streams.entry(stream).or_default().insert(from, to);
            }
        }
        let has = |(stream, from, to)| streams.get(&stream).is_some_and(|known| known.holds(from, to));
        if sent.data(place).all(has) {
            all.push(repeat.at);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(entries: &[(u64, u64)]) -> Table {
        let mut table = Table::default();
        for &(key, ms) in entries {
            let at = Time::from_millis(ms);
            table.add(Entry {
                key,
                at,
                stream: 0,
                offset: 100 * key,
                len: 100,
                is_repeat: ms >= 100,
                is_bare: false,
            });
        }
        table
    }

    /// The receiver's clock is 500 ms ahead; a packet takes 10 ms there, and 14 ms back.
    #[test]
    fn the_clocks_differ_by_half_of_the_difference() {
        let forward = [&table(&[(0, 0), (1, 5)]), &table(&[(0, 510), (1, 517)])];
        let back = [&table(&[(0, 510)]), &table(&[(0, 24)])];
        let clock = Clock::estimate(forward, back).unwrap();
        // True: 500 ms. The estimate is off by half of 10 - 14 ms, within the bound of 12 ms.
        assert_eq!(clock, Clock { offset: 498_000_000, bound: Duration::from_millis(12) });
        assert_eq!(Clock::estimate(forward, [&table(&[]), &table(&[])]), None);
    }

    /// Segment 7 is sent at 0 and at 100 ms; what arrives at 110 ms is the second. Segment 8 is
    /// sent twice and arrives twice.
    #[test]
    fn an_arrival_belongs_to_the_newest_transmission_before_it() {
        let sent = table(&[(6, 0), (7, 0), (8, 0), (7, 100), (8, 100)]);
        let received = table(&[(6, 10), (8, 12), (7, 110), (8, 112)]);
        let fates = fates(&sent, &received, Clock::default());
        let owds: Vec<_> = fates.iter().map(|fate| fate.owd.map(|owd| owd.0 / 1_000_000)).collect();
        assert_eq!(owds, [Some(10), None, Some(12), Some(10), Some(12)]);
        // Segment 8 had arrived when it was sent again.
        assert_eq!(redundant(&sent, &received, Clock::default()), [Time::from_millis(100)]);
    }
}

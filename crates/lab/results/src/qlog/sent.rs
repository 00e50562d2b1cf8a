//! Sent packets by number.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::Transport;
use super::events::ranges;

/// Distance from the newest packet up to which late acknowledgements are expected. No path holds
/// more packets.
const REMEMBERED: u64 = 1 << 22;
/// Largest gap in packet numbers within the row.
const GAP: u64 = 1 << 12;

/// Sent packets. Packet numbers are in the order of sending.
///
/// Nearly all are acknowledged in that order, so they form a row whose ends both move. A lost
/// packet at the beginning of the row moves to a map. So the row is only as long as the packets in
/// flight.
#[derive(Debug, Default)]
pub(super) struct Sent {
    pub(super) next_pn: u64,
    pub(super) highest: u64,
    /// Packet number at the beginning of the row.
    first: u64,
    row: VecDeque<Packet>,
    /// Lost packets before the row without an acknowledgement.
    lost: BTreeMap<u64, Packet>,
    /// Lower bound of the numbers in `lost`.
    first_lost: u64,
    /// Upper bound of the numbers in `lost`.
    last_lost: u64,
    /// First transmissions, neither lost nor acknowledged: end of stream data (ascending) and
    /// packet number. TCP only.
    fresh: VecDeque<(u64, u64)>,
    /// Retransmissions, likewise.
    repeats: BTreeSet<(u64, u64)>,
    /// Ranges of the newest ACK. Everything in them is acknowledged.
    last_ranges: Vec<(u64, u64)>,
    /// Largest packet number in `last_ranges`.
    last_acked: u64,
    /// Packets that a cumulative ACK covers.
    covered: Vec<u64>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Packet {
    end: u64,
    bytes: u32,
    is_lost: bool,
    /// 0 until it is acknowledged. Then the next unacknowledged packet is at least this far ahead.
    skip: u32,
}

impl Packet {
    fn flying(bytes: u32, end: u64) -> Self {
        Self { end, bytes, is_lost: false, skip: 0 }
    }
}

/// A skipped packet number.
const NONE: Packet = Packet { end: 0, bytes: 0, is_lost: false, skip: 1 };

impl Sent {
    pub(super) fn add(&mut self, transport: Transport, pn: u64, bytes: u32, end: u64) {
        if transport == Transport::Tcp {
            if self.highest < end {
                self.fresh.push_back((end, pn));
            } else {
                self.repeats.insert((end, pn));
            }
        }
        if pn <= self.last_acked {
            self.last_ranges.clear();
        }
        self.next_pn = self.next_pn.max(pn.saturating_add(1));
        self.highest = self.highest.max(end);
        if pn == self.first + self.row.len() as u64 {
            self.row.push_back(Packet::flying(bytes, end));
        } else {
            self.put(pn, Packet::flying(bytes, end));
        }
        if pn.saturating_sub(self.first_lost) > REMEMBERED {
            self.forget(pn - REMEMBERED);
        }
    }

    /// Forgets packets that were lost long ago.
    #[cold]
    fn forget(&mut self, before: u64) {
        while self.lost.first_key_value().is_some_and(|(first, _)| *first < before) {
            self.lost.pop_first();
        }
        self.first_lost = self.lost.first_key_value().map_or(u64::MAX, |(first, _)| *first);
    }

    /// Adds a packet that is not next in the row.
    #[cold]
    fn put(&mut self, pn: u64, packet: Packet) {
        let end = self.first + self.row.len() as u64;
        if pn < self.first {
            self.move_to_lost(pn, packet);
        } else if pn < end {
            self.row[(pn - self.first) as usize] = packet;
        } else {
            if pn - end > GAP {
                let waiting = self.row.drain(..).zip(self.first..).filter(|(packet, _)| packet.skip == 0);
                self.lost.extend(waiting.map(|(packet, pn)| (pn, packet)));
                self.first_lost = self.first_lost.min(self.first);
                self.last_lost = self.last_lost.max(end);
            }
            if self.row.is_empty() {
                self.first = pn;
            }
            while self.first + (self.row.len() as u64) < pn {
                self.row.push_back(NONE);
            }
            self.row.push_back(packet);
        }
    }

    fn move_to_lost(&mut self, pn: u64, packet: Packet) {
        self.first_lost = self.first_lost.min(pn);
        self.last_lost = self.last_lost.max(pn);
        self.lost.insert(pn, packet);
    }

    /// Marks a packet as lost and returns its size. It may still be acknowledged.
    pub(super) fn lose(&mut self, pn: u64) -> Option<u32> {
        let packet = match pn.checked_sub(self.first) {
            None => self.lost.get_mut(&pn),
            Some(at) => self.row.get_mut(at as usize).filter(|packet| packet.skip == 0),
        }?;
        packet.is_lost = true;
        let Packet { end, bytes, .. } = *packet;
        self.repeats.remove(&(end, pn));
        self.trim();
        Some(bytes)
    }

    /// Removes packets from the beginning of the row until one is in flight.
    fn trim(&mut self) {
        while let Some(packet) = self.row.front().filter(|packet| packet.skip != 0 || packet.is_lost) {
            if packet.skip == 0 {
                let packet = *packet;
                self.move_to_lost(self.first, packet);
            }
            self.first += 1;
            self.row.pop_front();
        }
    }

    /// Returns the first unacknowledged packet from this number on.
    fn pending_from(&mut self, pn: u64) -> Option<u64> {
        if pn < self.first {
            // Mostly nothing is lost where the newest range of an ACK begins.
            if pn > self.last_lost {
                return self.pending_from(self.first);
            }
            let lost = self.lost.range(pn..).next().map(|(pn, _)| *pn);
            return lost.or_else(|| self.pending_from(self.first));
        }
        let begin = usize::try_from(pn - self.first).ok()?;
        let mut at = begin;
        while let Some(packet) = self.row.get(at).filter(|packet| packet.skip != 0) {
            at += packet.skip as usize;
        }
        // An ACK repeats its ranges. The next one skips acknowledged packets.
        if let Some(packet) = self.row.get_mut(begin).filter(|packet| packet.skip != 0) {
            packet.skip = u32::try_from(at - begin).unwrap_or(u32::MAX);
        }
        (at < self.row.len()).then_some(self.first + at as u64)
    }

    fn remove(&mut self, pn: u64) {
        match pn.checked_sub(self.first) {
            None => drop(self.lost.remove(&pn)),
            Some(at) => {
                if let Some(packet) = self.row.get_mut(at as usize).filter(|packet| packet.skip == 0) {
                    packet.skip = 1;
                }
            }
        }
    }

    /// Removes repeated packets from each range. Its last packet remains.
    pub(super) fn acknowledge(&mut self, ranges: &[(u64, u64)], news: &mut Vec<(u64, u64)>) {
        news.clear();
        let mut known = 0;
        for &(first, last) in ranges {
            // Most of an ACK repeats the one before, perhaps with more at the end of a range.
            known += self.last_ranges[known..].iter().take_while(|last_ranges| last_ranges.0 < first).count();
            let from = match self.last_ranges.get(known) {
                // Either range may end before it begins.
                Some(last_ranges) if last_ranges.0 == first && last_ranges.1 < last => {
                    first.max(last_ranges.1 + 1)
                }
                Some(last_ranges) if *last_ranges == (first, last) => {
                    news.push((last, last));
                    continue;
                }
                _ => first,
            };
            let mut pending = self.pending_from(from);
            news.push((pending.map_or(last, |pn| pn.min(last)), last));
            while let Some(pn) = pending.filter(|&pn| pn <= last) {
                self.remove(pn);
                pending = self.pending_from(pn + 1);
            }
        }
        self.last_ranges.clear();
        self.last_ranges.extend_from_slice(ranges);
        self.last_acked = ranges.iter().map(|range| range.1).max().unwrap_or(0);
        self.trim();
    }

    /// Returns ranges of packet numbers that a cumulative ACK covers for the first time.
    pub(super) fn cover(&mut self, cumulative: u64, news: &mut Vec<(u64, u64)>) {
        let mut pns = std::mem::take(&mut self.covered);
        while let Some(&(_, pn)) = self.fresh.front().filter(|(end, _)| *end <= cumulative) {
            self.fresh.pop_front();
            if self.flies(pn) {
                pns.push(pn);
            }
        }
        while let Some(&(end, pn)) = self.repeats.first()
            && end <= cumulative
        {
            self.repeats.pop_first();
            pns.push(pn);
        }
        pns.sort_unstable();
        pns.iter().for_each(|pn| self.remove(*pn));
        self.trim();
        ranges(pns.drain(..), news);
        self.covered = pns;
    }

    /// Reports whether a packet is neither lost nor acknowledged.
    fn flies(&self, pn: u64) -> bool {
        let packet = match pn.checked_sub(self.first) {
            None => self.lost.get(&pn),
            Some(at) => self.row.get(at as usize),
        };
        packet.is_some_and(|packet| packet.skip == 0 && !packet.is_lost)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Simple model for tests: every packet in one map.
    #[derive(Default)]
    struct Plain {
        packets: BTreeMap<u64, (u32, u64)>,
        by_end: BTreeSet<(u64, u64)>,
    }

    impl Plain {
        fn acknowledge(&mut self, all: &[(u64, u64)]) -> Vec<(u64, u64)> {
            let mut news = Vec::new();
            for &(first, last) in all {
                let pending = self.packets.range(first..).next().map(|(pn, _)| *pn);
                news.push((pending.map_or(last, |pn| pn.min(last)), last));
                self.packets.retain(|pn, _| !(first..=last).contains(pn));
            }
            news
        }

        fn cover(&mut self, cumulative: u64) -> Vec<(u64, u64)> {
            let covered: BTreeSet<u64> =
                self.by_end.iter().filter(|(end, _)| *end <= cumulative).map(|(_, pn)| *pn).collect();
            self.by_end.retain(|(end, _)| *end > cumulative);
            self.packets.retain(|pn, _| !covered.contains(pn));
            let mut news = Vec::new();
            ranges(covered, &mut news);
            news
        }
    }

    /// Reproducible pseudorandom numbers.
    struct Dice(u64);

    impl Dice {
        fn below(&mut self, bound: u64) -> u64 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 33) % bound
        }
    }

    /// Results equal those of the simple model, with skipped numbers, losses, and late or repeated
    /// ACKs of QUIC and TCP.
    #[test]
    fn as_if_all_stood_in_one_map() {
        for (seed, transport) in (0..40).zip([Transport::Quic, Transport::Tcp].into_iter().cycle()) {
            let (mut dice, mut sent, mut plain) = (Dice(seed), Sent::default(), Plain::default());
            let (mut pn, mut end, mut news) = (0_u64, 0, Vec::new());
            for _ in 0..3000 {
                match dice.below(10) {
                    0..5 => {
                        pn += 1
                            + dice.below(2) * dice.below(3)
                            + if dice.below(500) == 0 { 2 * GAP } else { 0 };
                        let size = 1000 + dice.below(200) as u32;
                        // Some packets are retransmissions.
                        let at = if dice.below(10) == 0 { dice.below(end + 1) } else { end + 1000 };
                        end = end.max(at);
                        sent.add(transport, pn, size, at);
                        plain.packets.insert(pn, (size, at));
                        if transport == Transport::Tcp {
                            plain.by_end.insert((at, pn));
                        }
                    }
                    5 => {
                        let lost = pn.saturating_sub(dice.below(60));
                        let known = plain.packets.get(&lost).copied();
                        assert_eq!(sent.lose(lost), known.map(|(size, _)| size), "{seed}: {lost}");
                        if let Some((_, end)) = known {
                            plain.by_end.remove(&(end, lost));
                        }
                    }
                    _ if transport == Transport::Quic => {
                        let last = pn.saturating_sub(dice.below(20));
                        let middle = last.saturating_sub(2 + dice.below(30));
                        let first = middle.saturating_sub(dice.below(200));
                        let all =
                            [(first, middle.max(first)), (middle + 1 + dice.below(2), last.max(middle + 2))];
                        sent.acknowledge(&all, &mut news);
                        assert_eq!(news, plain.acknowledge(&all), "{seed}: {all:?}");
                    }
                    _ => {
                        let byte = end.saturating_sub(dice.below(60_000));
                        sent.cover(byte, &mut news);
                        assert_eq!(news, plain.cover(byte), "{seed}: {byte}");
                    }
                }
            }
        }
    }

    /// Results equal those of the simple model. ACKs repeat earlier ones, grow at their ends, close
    /// gaps, or drop ranges. Some ranges end before they begin, and some name packets not yet sent.
    #[test]
    fn what_is_said_again_is_no_news() {
        for seed in 0..60 {
            let (mut dice, mut sent, mut plain) = (Dice(seed), Sent::default(), Plain::default());
            let (mut pn, mut said, mut news) = (0_u64, vec![(0, 0)], Vec::new());
            for _ in 0..3000 {
                match dice.below(9) {
                    0..4 => {
                        pn += 1 + dice.below(3) / 2;
                        sent.add(Transport::Quic, pn, 1000, 0);
                        plain.packets.insert(pn, (1000, 0));
                    }
                    4 => {
                        let lost = pn.saturating_sub(dice.below(40));
                        let known = plain.packets.get(&lost).map(|(size, _)| *size);
                        assert_eq!(sent.lose(lost), known, "{seed}: {lost}");
                    }
                    what => {
                        let at = dice.below(said.len() as u64) as usize;
                        match what {
                            5 => said[at].1 += dice.below(3),
                            6 if said.len() > 1 => drop(said.remove(at)),
                            7 if at > 0 => said[at - 1].1 = said.remove(at).1,
                            _ => {
                                let from = pn.saturating_sub(dice.below(6));
                                said.push((from, (from + dice.below(8)).saturating_sub(2)));
                                said.sort_unstable();
                            }
                        }
                        sent.acknowledge(&said, &mut news);
                        assert_eq!(news, plain.acknowledge(&said), "{seed}: {said:?}");
                    }
                }
            }
        }
    }

    /// A lost packet does not hold up the row.
    #[test]
    fn the_row_is_as_long_as_what_flies() {
        let (mut sent, mut news) = (Sent::default(), Vec::new());
        for pn in 0..100_000 {
            sent.add(Transport::Quic, pn, 1252, 0);
            if pn == 10 {
                sent.lose(3);
            }
            if pn > 20 {
                sent.acknowledge(&[(0, 2), (4, pn - 20)], &mut news);
            }
        }
        assert!(sent.row.capacity() < 200 && sent.lost.len() == 1, "{} {}", sent.row.len(), sent.lost.len());
    }
}

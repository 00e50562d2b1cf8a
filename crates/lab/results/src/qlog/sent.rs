//! Sent packets by number.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::Transport;
use super::events::ranges;

/// Distance from the newest packet up to which late acknowledgements are expected. No path holds
/// more packets.
const REMEMBERED: u64 = 1 << 22;

/// Packets without an acknowledgement. Nearly all are acknowledged in the order of sending, so they
/// form a row whose ends both move.
#[derive(Debug, Default)]
pub(super) struct Sent {
    /// Number after the largest sent.
    pub(super) next_pn: u64,
    /// End of the stream data sent.
    pub(super) highest: u64,
    /// Packets from the oldest in flight on, ascending.
    row: VecDeque<Packet>,
    /// Sizes of lost packets before the row.
    lost: BTreeMap<u64, u32>,
    /// Packets in flight: end of stream data and number. TCP only.
    by_end: BTreeSet<(u64, u64)>,
    /// Starts and ends (exclusive) of the newest ACK's ranges. Everything in them is acknowledged.
    known: Vec<(u64, u64)>,
}

#[derive(Debug)]
struct Packet {
    pn: u64,
    bytes: u32,
    end: u64,
    is_lost: bool,
    is_acked: bool,
}

impl Sent {
    pub(super) fn add(&mut self, transport: Transport, pn: u64, bytes: u32, end: u64) {
        if transport == Transport::Tcp {
            self.by_end.insert((end, pn));
        }
        // Another connection begins.
        if pn < self.next_pn {
            self.known.clear();
        }
        self.next_pn = self.next_pn.max(pn.saturating_add(1));
        self.highest = self.highest.max(end);
        let at = self.row.iter().rposition(|packet| packet.pn < pn).map_or(0, |before| before + 1);
        let packet = Packet { pn, bytes, end, is_lost: false, is_acked: false };
        match self.row.get_mut(at).filter(|known| known.pn == pn) {
            Some(known) => *known = packet,
            None => self.row.insert(at, packet),
        }
    }

    /// Marks a packet as lost and returns its size. It may still be acknowledged.
    pub(super) fn lose(&mut self, pn: u64) -> Option<u32> {
        let Ok(at) = self.row.binary_search_by_key(&pn, |packet| packet.pn) else {
            return self.lost.get(&pn).copied();
        };
        let packet = Some(&mut self.row[at]).filter(|packet| !packet.is_acked)?;
        packet.is_lost = true;
        let Packet { bytes, end, .. } = *packet;
        self.by_end.remove(&(end, pn));
        self.trim();
        Some(bytes)
    }

    /// Removes packets from the beginning of the row until one is in flight.
    fn trim(&mut self) {
        while let Some(packet) = self.row.front().filter(|packet| packet.is_acked || packet.is_lost) {
            if !packet.is_acked {
                self.lost.insert(packet.pn, packet.bytes);
                if self.lost.keys().next().is_some_and(|first| packet.pn - first > REMEMBERED) {
                    self.lost.pop_first();
                }
            }
            self.row.pop_front();
        }
    }

    /// Removes repeated packets from each range. Its last packet remains.
    pub(super) fn acknowledge(&mut self, ranges: &[(u64, u64)], news: &mut Vec<(u64, u64)>) {
        news.clear();
        for &(first, last) in ranges {
            // Most of an ACK repeats the one before.
            let at = self.known.partition_point(|known| known.0 <= first);
            let from = at.checked_sub(1).map_or(first, |at| first.max(self.known[at].1));
            news.push((self.take(from, last).unwrap_or(last), last));
        }
        self.known.clear();
        let end = |last: u64| last.saturating_add(1).min(self.next_pn);
        self.known.extend(ranges.iter().map(|&(first, last)| (first, end(last))));
        self.trim();
    }

    /// Acknowledges packets and returns the first that was not acknowledged before.
    fn take(&mut self, first: u64, last: u64) -> Option<u64> {
        if first > last {
            return None;
        }
        let late: Vec<u64> = self.lost.range(first..=last).map(|(pn, _)| *pn).collect();
        for pn in &late {
            self.lost.remove(pn);
        }
        let mut news = late.first().copied();
        let at = self.row.partition_point(|packet| packet.pn < first);
        let packets = self.row.range_mut(at..).take_while(|packet| packet.pn <= last);
        for packet in packets.filter(|packet| !packet.is_acked) {
            packet.is_acked = true;
            news = Some(news.map_or(packet.pn, |pn| pn.min(packet.pn)));
        }
        news
    }

    /// Returns ranges of packet numbers that a cumulative ACK covers for the first time.
    pub(super) fn cover(&mut self, cumulative: u64, news: &mut Vec<(u64, u64)>) {
        let mut covered = Vec::new();
        while let Some(&(end, pn)) = self.by_end.first()
            && end <= cumulative
        {
            self.by_end.pop_first();
            self.take(pn, pn);
            covered.push(pn);
        }
        self.trim();
        covered.sort_unstable();
        ranges(covered, news);
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
                            + if dice.below(500) == 0 { 1 << 13 } else { 0 };
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

    /// The packets of another connection have the same numbers.
    #[test]
    fn numbers_begin_again() {
        let (mut sent, mut news) = (Sent::default(), Vec::new());
        for _ in 0..2 {
            (0..3).for_each(|pn| sent.add(Transport::Quic, pn, 1252, 0));
            sent.acknowledge(&[(0, 2)], &mut news);
            assert_eq!(news, [(0, 2)]);
        }
    }

    /// Another connection begins before the packets of the first are acknowledged.
    #[test]
    fn numbers_begin_again_in_flight() {
        let (mut sent, mut news) = (Sent::default(), Vec::new());
        for bytes in [1252, 800] {
            (0..3).for_each(|pn| sent.add(Transport::Quic, pn, bytes, 0));
        }
        assert_eq!(sent.lose(1), Some(800));
        sent.acknowledge(&[(0, 2)], &mut news);
        assert_eq!((&news[..], sent.row.len()), (&[(0, 2)][..], 0));
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

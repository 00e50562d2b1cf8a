//! Finds the end nearest to a capture.
//!
//! A packet that passes the capture is answered by the other end. The time up to the answer is
//! twice the way between the capture and that end, and the end's own delay. The smallest such time
//! of each end is compared: the nearer end must be [`RATIO`] times faster, and the farther one must
//! take [`LEAST`]. The two answers of a handshake suffice, because ends give them at once. Later
//! answers may wait for data or for an ACK timer, so [`ENOUGH`] of each end are needed.

use std::collections::VecDeque;

use quic::Side;
use units::{Duration, Time};

/// Smallest ratio of the two times.
const RATIO: u64 = 4;
/// Smallest time of the farther end. Below it, noise of the hosts decides.
const LEAST: Duration = Duration::from_micros(100);
/// Number of answers of each end, without a handshake.
const ENOUGH: u32 = 4;
/// Number of answers after which the reader gives up.
const MOST: u32 = 4096;
/// Largest number of packets of each end that wait for an answer.
const WAITING: usize = 256;

#[derive(Debug, Default)]
pub(super) struct Vantage {
    best: [Option<Duration>; 2],
    samples: [u32; 2],
    /// Answers of the handshake so far.
    turns: u32,
    last: Option<(Side, Time)>,
    told: bool,
    /// Packets of each end that wait for an answer: key and time.
    waiting: [VecDeque<(u64, Time)>; 2],
}

impl Vantage {
    /// Reports whether more answers are useful.
    pub(super) fn is_open(&self) -> bool {
        !self.told && self.samples.iter().sum::<u32>() < MOST
    }

    /// Reports whether both ends have answered in the handshake.
    pub(super) const fn has_handshake(&self) -> bool {
        self.turns == 2
    }

    /// Receives a packet of a handshake, from the client's first one on.
    pub(super) fn on_handshake(&mut self, from: Side, at: Time) {
        if let Some((before, since)) = self.last
            && before != from
            && self.turns < 2
        {
            self.turns += 1;
            self.sample(from, at.since(since));
        }
        self.last = Some((from, at));
    }

    /// Receives a packet with a key that an answer will name. Keys rise.
    pub(super) fn on_sent(&mut self, from: Side, key: u64, at: Time) {
        let Some(waiting) = self.waiting.get_mut(from as usize).filter(|_| !self.told) else { return };
        if waiting.back().is_none_or(|last| last.0 < key) {
            if waiting.len() == WAITING {
                waiting.pop_front();
            }
            waiting.push_back((key, at));
        }
    }

    /// Receives an answer to the packet with this key, or to the last one before it.
    pub(super) fn on_answer(&mut self, from: Side, key: u64, at: Time) {
        let Some(waiting) = self.waiting.get_mut(from.peer() as usize) else { return };
        let mut sent = None;
        while waiting.front().is_some_and(|first| first.0 <= key) {
            sent = waiting.pop_front();
        }
        if let Some((_, sent)) = sent {
            self.sample(from, at.since(sent));
        }
    }

    /// Receives the time that an end took to answer.
    pub(super) fn sample(&mut self, from: Side, time: Duration) {
        let best = &mut self.best[from as usize];
        *best = Some(best.map_or(time, |before| before.min(time)));
        self.samples[from as usize] += 1;
    }

    /// Returns the nearer end, once.
    pub(super) fn verdict(&mut self) -> Option<Side> {
        let is_handshake = self.turns == 2 && self.samples == [1, 1];
        if self.told || !is_handshake && self.samples.iter().any(|samples| *samples < ENOUGH) {
            return None;
        }
        let [client, server] = self.best;
        let (client, server) = (client?, server?);
        let (near, far, side) = match client < server {
            true => (client, server, Side::Client),
            false => (server, client, Side::Server),
        };
        self.told = far >= LEAST && near.0.saturating_mul(RATIO) <= far.0;
        if self.told {
            self.waiting = Default::default();
        }
        self.told.then_some(side)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A handshake of a path of 40 ms, captured `way` microseconds from the client.
    fn handshake(way: u64) -> Vantage {
        let mut vantage = Vantage::default();
        let at = |us| Time(us * 1000);
        vantage.on_handshake(Side::Client, at(way));
        vantage.on_handshake(Side::Server, at(40_000 - way));
        vantage.on_handshake(Side::Client, at(40_000 + way));
        vantage
    }

    /// The near end answers after twice its way `w`, the far end after 40 ms - 2 `w`. The ratio is
    /// 4 at `w` = 4 ms.
    #[test]
    fn four_to_one() {
        assert_eq!(handshake(10).verdict(), Some(Side::Client));
        assert_eq!(handshake(4000).verdict(), Some(Side::Client));
        assert_eq!(handshake(4001).verdict(), None);
        assert_eq!(handshake(10_000).verdict(), None, "in the middle");
        assert_eq!(handshake(15_999).verdict(), None);
        assert_eq!(handshake(16_000).verdict(), Some(Side::Server));
        let mut vantage = handshake(10);
        vantage.verdict();
        assert_eq!((vantage.verdict(), vantage.is_open()), (None, false), "told once");
    }

    #[test]
    fn noise_decides_nothing() {
        let mut vantage = Vantage::default();
        for (from, us) in [(Side::Client, 0), (Side::Server, 99), (Side::Client, 100)] {
            vantage.on_handshake(from, Time(us * 1000));
        }
        assert_eq!(vantage.verdict(), None);
    }

    /// Without a handshake, four answers of each end are needed.
    #[test]
    fn later_answers() {
        let mut vantage = Vantage::default();
        for round in 0..4 {
            assert_eq!(vantage.verdict(), None);
            let at = |us: u64| Time((round * 100_000 + us) * 1000);
            vantage.on_sent(Side::Server, round, at(0));
            vantage.on_answer(Side::Client, round, at(40_000));
            vantage.on_sent(Side::Client, round, at(40_000));
            vantage.on_answer(Side::Server, round, at(40_050));
        }
        assert_eq!(vantage.verdict(), Some(Side::Server));
    }
}

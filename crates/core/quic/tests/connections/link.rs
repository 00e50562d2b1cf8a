//! The link: delay, rate, queue, and impairments of datagrams.

use std::net::SocketAddr;

use ackclock_quic::units::{Duration, Ecn, Time};

use crate::world::World;

/// Configuration of the link, the same in both directions.
#[derive(Clone)]
pub struct Link {
    pub delay: Duration,
    /// Rate in bytes per second, and the limit of queued datagrams.
    pub rate: u64,
    pub queue: usize,
    pub loss: f64,
    pub corrupt: f64,
    pub duplicate: f64,
    pub reorder: f64,
    /// Down from the first to the second time of each period.
    pub dark: Option<(Duration, Duration)>,
    /// Marks CE from this many queued datagrams on.
    pub mark: Option<usize>,
    /// Datagrams that never arrive, counted from 0 for the client (true) or the server.
    pub drops: Vec<(bool, u64)>,
}

impl Default for Link {
    fn default() -> Self {
        Self {
            delay: Duration::from_millis(15),
            rate: 1_250_000,
            queue: 25,
            loss: 0.0,
            corrupt: 0.0,
            duplicate: 0.0,
            reorder: 0.0,
            dark: None,
            mark: None,
            drops: Vec::new(),
        }
    }
}

#[derive(Clone)]
pub struct Flying {
    pub from: SocketAddr,
    pub to: SocketAddr,
    pub ecn: Ecn,
    pub bytes: Vec<u8>,
}

/// One direction of the link.
#[derive(Default)]
pub struct Lane {
    pub sent: u64,
    /// Time when the queue is empty.
    pub busy: Time,
    pub leaving: Vec<Time>,
}

impl World {
    /// Sends a datagram over the link; `n` is 0 from the client.
    pub fn send(&mut self, n: usize, mut it: Flying) {
        let fold = |hash: u64, byte: u64| (hash ^ byte).wrapping_mul(0x0100_0000_01b3);
        self.trace = [self.now.0, n as u64].into_iter().fold(self.trace, fold);
        self.trace = it.bytes.iter().fold(self.trace, |hash, byte| fold(hash, u64::from(*byte)));
        let lane = &mut self.lanes[n];
        let number = lane.sent;
        lane.sent += 1;
        let mut dice = || self.rng.unit();
        let dark = self.link.dark.is_some_and(|(on, off)| self.now.0 % (on.0 + off.0) >= on.0);
        let (lost, corrupt) = (dice() < self.link.loss, dice() < self.link.corrupt);
        let (twice, late) = (dice() < self.link.duplicate, dice() < self.link.reorder);
        lane.leaving.retain(|at| *at > self.now);
        if dark
            || lost
            || self.link.drops.contains(&(n == 0, number))
            || lane.leaving.len() >= self.link.queue
        {
            return;
        }
        if it.ecn != Ecn::NotEct && self.link.mark.is_some_and(|mark| lane.leaving.len() >= mark) {
            it.ecn = Ecn::Ce;
        }
        let takes = Duration(it.bytes.len() as u64 * 1_000_000_000 / self.link.rate);
        lane.busy = lane.busy.max(self.now) + takes;
        lane.leaving.push(lane.busy);
        let mut at = lane.busy + self.link.delay;
        if late {
            at += Duration::from_millis(10);
        }
        if corrupt {
            let place = self.rng.below(it.bytes.len() as u64) as usize;
            it.bytes[place] ^= 1 << self.rng.below(8);
        }
        self.serial += 1;
        if twice {
            let copy = Flying { from: it.from, to: it.to, ecn: it.ecn, bytes: it.bytes.clone() };
            self.flying.insert((at + Duration::from_millis(3), self.serial + (1 << 40)), copy);
        }
        self.flying.insert((at, self.serial), it);
    }
}

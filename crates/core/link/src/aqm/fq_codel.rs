//! FQ-CoDel: RFC 8290 (January 2018), section 4.
//!
//! ```text
//! enqueue:  hash of the flow -> queue; an idle queue joins the tail of `new` with deficit = quantum        (4.1)
//! over the limit: the queue with most bytes drops from its head, at most half of it or drop-batch packets   (4.1)
//! dequeue:  first of `new`, else of `old`; deficit <= 0: deficit += quantum, to the tail of `old`, again;
//!           CoDel; empty: from `new` to the tail of `old`, from `old` out; else deficit -= size             (4.2)
//! ```
//!
//! The limit is the link's own or `limit`, whichever is reached first. The link itself never drops
//! at the tail, since that would undo the isolation. Two flows may share a queue, as in the RFC;
//! the hash is salted per run.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use units::{Bytes, Duration, Rng, Time};

use crate::aqm::check::first_broken;
use crate::aqm::codel::{self, Control};
use crate::aqm::fifo::{Fifo, Waiting};
use crate::aqm::signals::Signals;
use crate::backlog::Count;
use crate::counters::DropReason;
use crate::limit::{Capacity, Limit};
use crate::packet::Packet;
use crate::steps::Stepper;

/// Parameters of FQ-CoDel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "fq-codel"))]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Params {
    /// Acceptable time in a queue, above 0 (default 5 ms: RFC 8290 section 5.2.2).
    pub target: Duration,
    /// Time that the target must be exceeded, above 0 (default 100 ms: section 5.2.1).
    pub interval: Duration,
    /// Backlog, in bytes, up to which a queue is never too long (default 1514 B).
    pub mtu: Bytes,
    /// Marks ECN-capable packets instead of dropping them (default on: section 5.2.6).
    pub ecn: bool,
    /// Number of queues, from 1 to 65 536 (default 1024: section 5.2.5).
    pub flows: u32,
    /// Bytes that a flow may send per round, above 0 (default 1514 B: section 5.2.4).
    pub quantum: Bytes,
    /// Limit of all queues together, in packets (default 10 240: section 5.2.3). The link's own
    /// limit also applies.
    pub limit: u64,
    /// Largest number of packets that the fattest queue drops at once, at least 1 (default 64:
    /// section 5.2.8).
    pub drop_batch: u64,
}

impl Default for Params {
    fn default() -> Self {
        let codel::Params { target, interval, mtu, ecn } = codel::Params::default();
        let (flows, quantum, limit, drop_batch) = (1024, Bytes(1514), 10_240, 64);
        Self { target, interval, mtu, ecn, flows, quantum, limit, drop_batch }
    }
}

impl Params {
    fn codel(&self) -> codel::Params {
        codel::Params { target: self.target, interval: self.interval, mtu: self.mtu, ecn: self.ecn }
    }

    pub(crate) fn check(&self) -> Result<(), String> {
        self.codel().check()?;
        first_broken(&[
            ((1..=65_536).contains(&self.flows), "`flows` must be from 1 to 65536"),
            (self.quantum > Bytes(0), "`quantum` must be larger than 0 B"),
            (self.drop_batch > 0, "`drop-batch` must be at least 1"),
        ])
    }
}

/// List that a queue belongs to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Turn {
    #[default]
    Idle,
    New,
    Old,
}

#[derive(Debug)]
struct Flow<P> {
    queue: Fifo<P>,
    control: Control,
    deficit: i64,
    turn: Turn,
}

impl<P> Default for Flow<P> {
    fn default() -> Self {
        Self { queue: Fifo::default(), control: Control::default(), deficit: 0, turn: Turn::Idle }
    }
}

/// State of all queues.
#[derive(Debug)]
pub(crate) struct FqCodel<P> {
    params: Params,
    codel: codel::Params,
    capacity: Stepper<Capacity>,
    salt: u64,
    flows: Vec<Flow<P>>,
    new: VecDeque<usize>,
    old: VecDeque<usize>,
    held: Count,
}

impl<P: Packet> FqCodel<P> {
    /// Creates the empty queues. `capacity` is that of the link.
    pub(crate) fn new(params: &Params, capacity: Stepper<Capacity>, mut rng: Rng) -> Self {
        let flows = params.flows.clamp(1, 65_536) as usize;
        Self {
            codel: params.codel(),
            capacity,
            salt: rng.next_u64(),
            flows: std::iter::repeat_with(Flow::default).take(flows).collect(),
            new: VecDeque::new(),
            old: VecDeque::new(),
            held: Count::default(),
            params: params.clone(),
        }
    }

    /// Takes a packet. `first` is a packet that waits for tokens outside and also counts towards
    /// the limit.
    pub(crate) fn enqueue(&mut self, waiting: Waiting<P>, first: Count, signals: &mut Signals<P>) {
        let index = self.index(waiting.packet.flow());
        let capacity = self.capacity.at(waiting.arrival).min(Limit::Packets(self.params.limit));
        self.held.add(waiting.packet.size());
        let flow = &mut self.flows[index];
        flow.queue.push(waiting);
        if flow.turn == Turn::Idle {
            flow.turn = Turn::New;
            flow.deficit = quantum(&self.params);
            self.new.push_back(index);
        }
        while !capacity.holds(self.held + first) && self.held.packets > 0 {
            self.shorten_fattest(signals);
        }
    }

    /// Returns the packet that leaves now.
    pub(crate) fn dequeue(&mut self, now: Time, signals: &mut Signals<P>) -> Option<Waiting<P>> {
        loop {
            let fresh = !self.new.is_empty();
            let index = self.new.pop_front().or_else(|| self.old.pop_front())?;
            let flow = &mut self.flows[index];
            if flow.deficit <= 0 {
                // A queue that is alone gets several turns in a row.
                let alone = self.new.is_empty() && self.old.is_empty();
                let turns = if alone {
                    flow.deficit.unsigned_abs() / quantum(&self.params).unsigned_abs() + 1
                } else {
                    1
                };
                flow.deficit += quantum(&self.params) * turns as i64;
                flow.turn = Turn::Old;
                self.old.push_back(index);
                continue;
            }
            let dropped_before = signals.dropped.len();
            let head = flow.control.dequeue(now, &mut flow.queue, &self.codel, signals);
            for (gone, _) in &signals.dropped[dropped_before..] {
                self.held.remove(gone.packet.size());
            }
            if let Some(head) = head {
                self.held.remove(head.packet.size());
                flow.deficit -= i64::from(head.packet.size());
                let list = if fresh { &mut self.new } else { &mut self.old };
                list.push_front(index);
                return Some(head);
            }
            // An emptied new queue must wait a round as an old one. Otherwise it would starve the
            // old queues.
            flow.turn = if fresh { Turn::Old } else { Turn::Idle };
            if fresh {
                self.old.push_back(index);
            }
        }
    }

    /// Hashes flow and salt with the mixing function of SplitMix64.
    fn index(&self, flow: u32) -> usize {
        let mut z = (u64::from(flow) + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ self.salt;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) % self.flows.len() as u64) as usize
    }

    fn shorten_fattest(&mut self, signals: &mut Signals<P>) {
        // Picks the first of equals, whatever the order of visits.
        let fattest = (0..self.flows.len()).rev().max_by_key(|&i| self.flows[i].queue.bytes());
        let Some(flow) = fattest.map(|i| &mut self.flows[i]) else { return };
        let enough = flow.queue.bytes() / 2;
        let mut lost = 0;
        for _ in 0..self.params.drop_batch.max(1) {
            let Some(head) = flow.queue.pop() else { return };
            lost += u64::from(head.packet.size());
            self.held.remove(head.packet.size());
            signals.drop(head, DropReason::QueueFull);
            if lost >= enough {
                return;
            }
        }
    }
}

fn quantum(params: &Params) -> i64 {
    i64::try_from(params.quantum.0).unwrap_or(i64::MAX).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aqm::fixtures::{Pkt, ms};
    use crate::steps::Steps;

    type Fq = FqCodel<Pkt>;

    fn fq(params: &Params, limit: Limit) -> Fq {
        FqCodel::new(params, Stepper::new(limit.into(), Steps::default()), Rng::stream(1, "l.aqm"))
    }

    fn add(fq: &mut Fq, signals: &mut Signals<Pkt>, flow: u32, packets: u64, size: u32) {
        for id in 0..packets {
            fq.enqueue(
                Waiting { arrival: ms(0), packet: Pkt::new(id, size).with_flow(flow) },
                Count::default(),
                signals,
            );
        }
    }

    /// Returns the bytes that each flow received.
    fn shares(fq: &mut Fq, packets: u64, flows: usize) -> Vec<u64> {
        let (mut got, mut signals) = (vec![0; flows], Signals::default());
        for _ in 0..packets {
            let packet = fq.dequeue(ms(0), &mut signals).unwrap().packet;
            got[packet.flow() as usize] += u64::from(packet.size());
        }
        got
    }

    /// No packet is refused: the first arrival under a smaller limit frees space, at the cost of
    /// the longest queue.
    #[test]
    fn a_smaller_limit_is_met_at_the_next_arrival() {
        let limits = Steps(vec![(ms(10), Limit::Packets(20).into())]);
        let stepper = Stepper::new(Limit::Packets(100).into(), limits);
        let mut fq = Fq::new(&Params::default(), stepper, Rng::stream(1, "l.aqm"));
        let mut signals = Signals::default();
        add(&mut fq, &mut signals, 1, 90, 1000);
        add(&mut fq, &mut signals, 2, 5, 1000);
        assert_eq!((fq.held.packets, signals.dropped.len()), (95, 0));
        let waiting = Waiting { arrival: ms(10), packet: Pkt::new(200, 1000).with_flow(2) };
        fq.enqueue(waiting, Count::default(), &mut signals);
        // Drops half of the longest queue at a time: 45, then 23, then 11 of 90.
        assert_eq!((fq.held.packets, signals.dropped.len()), (17, 79));
        assert!(
            signals.dropped.iter().all(|(gone, _)| gone.packet.flow() == 1),
            "the short queue loses none"
        );
    }

    /// A lone queue gets as many quanta as lift its deficit above zero: -950 + 10 x 100, less the
    /// next packet, and so on.
    #[test]
    fn alone_it_has_all_its_turns_at_once() {
        let params = Params { quantum: Bytes(100), ..Params::default() };
        let (mut fq, mut signals) = (fq(&params, Limit::Unlimited), Signals::default());
        add(&mut fq, &mut signals, 0, 4, 1050);
        let deficits: Vec<i64> = (0..4)
            .map(|_| {
                fq.dequeue(ms(0), &mut signals).unwrap();
                fq.flows[fq.index(0)].deficit
            })
            .collect();
        assert_eq!(deficits, [-950, -1000, -950, -1000]);
    }

    /// Flows with small and with large packets get the same bytes, within a quantum and a packet.
    #[test]
    fn equal_byte_shares() {
        let (mut fq, mut signals) = (fq(&Params::default(), Limit::Unlimited), Signals::default());
        for (flow, size) in [(0, 1500), (1, 100), (2, 700)] {
            add(&mut fq, &mut signals, flow, 3000, size);
        }
        let got = shares(&mut fq, 3000, 3);
        let (least, most) = (got.iter().min().unwrap(), got.iter().max().unwrap());
        assert!(most - least <= 1514 + 1500, "{got:?}");
        assert!(signals.dropped.is_empty());
    }

    /// A packet of a flow that had nothing queued leaves next.
    #[test]
    fn the_sparse_flow_first() {
        let (mut fq, mut signals) = (fq(&Params::default(), Limit::Unlimited), Signals::default());
        add(&mut fq, &mut signals, 0, 500, 1500);
        shares(&mut fq, 50, 1);
        add(&mut fq, &mut signals, 1, 1, 100);
        assert_eq!(fq.dequeue(ms(0), &mut signals).unwrap().packet.flow(), 1);
        // It gains only once per round: afterwards it returned as an old queue.
        assert_eq!(fq.dequeue(ms(0), &mut signals).unwrap().packet.flow(), 0);
        let mut wins = 0;
        for _ in 0..100 {
            add(&mut fq, &mut signals, 1, 1, 1500);
            wins += u32::from(fq.dequeue(ms(0), &mut signals).unwrap().packet.flow() == 1);
        }
        assert!((45..=55).contains(&wins), "{wins} of 100: no more than its share");
    }

    /// 4.1: the fattest queue drops from its head half of its bytes or 64 packets.
    #[test]
    fn the_fattest_loses() {
        let (mut fq, mut signals) =
            (fq(&Params { limit: 1000, ..Params::default() }, Limit::Unlimited), Signals::default());
        add(&mut fq, &mut signals, 0, 900, 1500);
        add(&mut fq, &mut signals, 1, 100, 100);
        assert!(signals.dropped.is_empty());
        add(&mut fq, &mut signals, 1, 1, 100);
        assert_eq!(signals.dropped.len(), 64);
        for (i, (gone, reason)) in signals.dropped.iter().enumerate() {
            assert_eq!((gone.packet.flow(), gone.packet.id, *reason), (0, i as u64, DropReason::QueueFull));
        }
        assert_eq!(fq.held.packets, 1001 - 64);
        // The link's own limit acts in the same way: here it drops half of 10 packets.
        let mut fq = self::fq(&Params::default(), Limit::Bytes(Bytes(16_000)));
        let mut signals = Signals::default();
        add(&mut fq, &mut signals, 0, 10, 1500);
        add(&mut fq, &mut signals, 1, 1, 1500);
        assert_eq!(signals.dropped.len(), 5);
    }

    /// A flow that offers less than its share loses nothing and hardly waits, however much another
    /// flow offers.
    #[test]
    fn isolates() {
        let (mut fq, mut signals) = (fq(&Params::default(), Limit::Packets(200)), Signals::default());
        let mut waits = Vec::new();
        for now in 0..5000 {
            for id in 0..3 {
                fq.enqueue(
                    Waiting { arrival: ms(now), packet: Pkt::new(id, 1500) },
                    Count::default(),
                    &mut signals,
                );
            }
            if now % 4 == 0 {
                let packet = Pkt::new(now, 1500).with_flow(1);
                fq.enqueue(Waiting { arrival: ms(now), packet }, Count::default(), &mut signals);
            }
            let out = fq.dequeue(ms(now), &mut signals).unwrap();
            if out.packet.flow() == 1 {
                waits.push(ms(now) - out.arrival);
            }
        }
        assert!(waits.len() >= 1249 && waits.iter().all(|w| *w <= Duration::from_millis(2)), "{waits:?}");
        assert!(signals.dropped.iter().all(|(gone, _)| gone.packet.flow() == 0));
    }

    #[test]
    fn says_what_is_wrong() {
        assert!(Params { flows: 0, ..Params::default() }.check().unwrap_err().contains("flows"));
        assert!(Params { quantum: Bytes(0), ..Params::default() }.check().unwrap_err().contains("quantum"));
        assert!(
            Params { target: Duration::ZERO, ..Params::default() }.check().unwrap_err().contains("target")
        );
        // Rejected parameters are harmless all the same.
        let params = Params { flows: 0, quantum: Bytes(0), drop_batch: 0, limit: 0, ..Params::default() };
        let (mut fq, mut signals) = (fq(&params, Limit::Unlimited), Signals::default());
        add(&mut fq, &mut signals, 3, 5, 1500);
        assert_eq!(signals.dropped.len(), 5);
        assert!(fq.dequeue(ms(0), &mut signals).is_none());
    }
}

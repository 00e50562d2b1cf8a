//! Tests of recorded links: closed forms, and mm-link's own loop as a reference.

use std::collections::VecDeque;
use std::sync::Arc;

use units::{Bytes, Duration, Rate, Rng};

use super::*;
use crate::aqm::{codel, red};
use crate::counters::QueueTime;
use crate::{Aqm, Count, Limit, LimitCounts, RateModel, Recording, Threshold, Trace, TraceFile};

/// Packet with a number, a size, and its departure.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Pkt {
    id: u64,
    size: u32,
    left: Time,
}

impl Packet for Pkt {
    fn size(&self) -> u32 {
        self.size
    }
    fn ecn(&self) -> Ecn {
        Ecn::NotEct
    }
    fn set_ecn(&mut self, _: Ecn) {}
    fn damage(&mut self, _: u64) {}
    fn flow(&self) -> u32 {
        0
    }
    fn set_departure(&mut self, at: Time) {
        self.left = at;
    }
}

fn pkt(id: u64, size: u32) -> Pkt {
    Pkt { id, size, left: Time::ZERO }
}

fn trace(text: &str) -> Trace {
    let file = TraceFile { trace: "t".to_owned(), sha256: None };
    Trace::new(file, Arc::new(Recording::parse(text).unwrap()))
}

fn config(trace: Trace, limit: Limit, aqm: Aqm) -> LinkConfig {
    LinkConfig { rate: RateModel::Trace(trace), limit, aqm, ..LinkConfig::plain(Rate(1)) }
}

/// Returns queue managements that never drop or mark. The first two know departures at arrival,
/// the third decides at departure.
fn inert() -> [Aqm; 3] {
    let red = red::Params {
        min: Threshold::Bytes(Bytes(u64::MAX)),
        ..red::Params::mark_above(Threshold::Packets(1))
    };
    let codel = codel::Params { target: Duration::MAX, ..codel::Params::default() };
    [Aqm::default(), Aqm::Red(red), Aqm::Codel(codel)]
}

fn us(us: u64) -> Time {
    Time(us * 1000)
}

/// Packet as a reference and a link report it: its number, the time at which it left the queue,
/// and its departure.
type Served = (u64, Time, Time);

/// Offers packets of (us, size) to a link. Returns those it serves, in order, and the numbers of
/// those it drops.
fn served(config: &LinkConfig, arrivals: &[(u64, u32)]) -> (Vec<Served>, Vec<u64>) {
    let mut link = Link::new(config, 1, "l");
    let (mut queued, mut left, mut dropped) = (VecDeque::new(), VecDeque::new(), Vec::new());
    let mut waits = VecDeque::new();
    let mut collect = |link: &mut Link<Pkt>, now: Time, waits: &mut VecDeque<QueueTime>| {
        while let Some(at) = link.next().filter(|at| *at <= now) {
            while let Some(packet) = link.pop(at) {
                left.push_back(packet);
            }
        }
        while let Some(outcome) = link.next_outcome() {
            let PacketOutcome::Departs { queue_time, .. } = outcome else { panic!("{outcome:?}") };
            waits.push_back(queue_time);
        }
    };
    for (id, &(at, size)) in (0..).zip(arrivals) {
        collect(&mut link, us(at), &mut waits);
        match link.push(us(at), pkt(id, size)) {
            Ok(Admitted { queue_time }) => {
                queued.push_back((id, us(at)));
                waits.extend(queue_time);
            }
            Err(Dropped { packet, reason }) => {
                assert_eq!(reason, DropReason::QueueFull);
                dropped.push(packet.id);
            }
        }
    }
    collect(&mut link, Time(u64::MAX - 1), &mut waits);
    assert_eq!((queued.len(), queued.len()), (left.len(), waits.len()), "all are served");
    let one = |((id, at), (packet, wait)): ((u64, Time), (Pkt, QueueTime))| {
        assert_eq!((packet.id, packet.left), (id, at + wait.total));
        (id, at + wait.wait, packet.left)
    };
    (queued.into_iter().zip(left.into_iter().zip(waits)).map(one).collect(), dropped)
}

/// Returns the departures in us, the same for each kind of queue.
fn departures(text: &str, arrivals: &[(u64, u32)]) -> Vec<u64> {
    let all = inert().map(|aqm| served(&config(trace(text), Limit::Unlimited, aqm), arrivals).0);
    assert!(all[0] == all[1] && all[1] == all[2], "{all:?}");
    all[0].iter().map(|served| served.2.0 / 1000).collect()
}

/// The loop of mm-link's LinkQueue, with a drop-tail queue, written independently of the link.
struct Reference {
    schedule: Vec<u64>,
    next: usize,
    base: u64,
    limit: Limit,
    queue: VecDeque<(u64, u32)>,
    /// Number of the packet in service, when it left the queue, and its bytes to come.
    service: (u64, Time, u32),
    served: Vec<Served>,
    dropped: Vec<u64>,
}

impl Reference {
    fn new(schedule: &[u64], limit: Limit) -> Self {
        let (queue, service) = (VecDeque::new(), (0, Time::ZERO, 0));
        Self {
            schedule: schedule.to_vec(),
            next: 0,
            base: 0,
            limit,
            queue,
            service,
            served: vec![],
            dropped: vec![],
        }
    }

    /// Uses all chances up to now.
    fn run(&mut self, now: Time) {
        while Time::from_millis(self.base + self.schedule[self.next]) <= now {
            let at = Time::from_millis(self.base + self.schedule[self.next]);
            self.next += 1;
            if self.next == self.schedule.len() {
                (self.next, self.base) = (0, self.base + self.schedule[self.next - 1]);
            }
            let mut free = 1504;
            while free > 0 {
                if self.service.2 == 0 {
                    let Some((id, size)) = self.queue.pop_front() else { break };
                    self.service = (id, at, size + 4);
                }
                let sent = free.min(self.service.2);
                free -= sent;
                self.service.2 -= sent;
                if self.service.2 == 0 {
                    self.served.push((self.service.0, self.service.1, at));
                }
            }
        }
    }

    fn arrive(&mut self, now: Time, id: u64, size: u32) {
        self.run(now);
        let bytes: u32 = self.queue.iter().map(|packet| packet.1).sum();
        let fits = match self.limit {
            Limit::Unlimited => true,
            Limit::Packets(limit) => (self.queue.len() as u64) < limit,
            Limit::Bytes(limit) => u64::from(bytes + size) <= limit.0,
        };
        if fits { self.queue.push_back((id, size)) } else { self.dropped.push(id) }
    }
}

fn lines(schedule: &[u64]) -> String {
    schedule.iter().map(|ms| format!("{ms}\n")).collect()
}

/// Every packet leaves the queue and the link at the same times as in mm-link, and the same packets
/// are dropped: on random traces with random arrivals and sizes, with each kind of queue.
#[test]
fn serves_as_mahimahi_does() {
    let mut partial = 0;
    for seed in 0..20 {
        let mut rng = Rng::stream(seed, "traces");
        let mut at = rng.below(3);
        let mut schedule: Vec<u64> = Vec::new();
        for _ in 0..=rng.below(60) {
            schedule.push(at);
            // Bursts in one ms, and pauses.
            at += [0, 0, 1, rng.below(12)][rng.below(4) as usize];
        }
        schedule.push(at.max(1));
        let mean_gap = 1000 * at.max(1) / schedule.len() as u64;
        let mut now = 0;
        let arrivals: Vec<(u64, u32)> = (0..400)
            .map(|_| {
                // Many at the very instant of a chance, and some at once.
                now += rng.below(2 * mean_gap + 1);
                now = if rng.below(3) == 0 { now.next_multiple_of(1000) } else { now };
                (now, [1500, 40 + rng.below(1461) as u32, 60][rng.below(3) as usize])
            })
            .collect();
        for limit in [Limit::Unlimited, Limit::Packets(1 + seed % 4), Limit::Bytes(Bytes(1500 + 700 * seed))]
        {
            let mut reference = Reference::new(&schedule, limit);
            (0..).zip(&arrivals).for_each(|(id, &(at, size))| reference.arrive(us(at), id, size));
            reference.run(Time::from_millis(1_000_000));
            let expected = (reference.served, reference.dropped);
            partial += expected.0.iter().filter(|served| served.1 < served.2).count();
            assert!(limit != Limit::Packets(1) || !expected.1.is_empty());
            for aqm in inert() {
                let name = aqm.name();
                let config = config(trace(&lines(&schedule)), limit, aqm);
                assert_eq!(served(&config, &arrivals), expected, "{name}, {limit}, {schedule:?}");
            }
        }
    }
    assert!(partial > 1000, "only {partial} packets use several chances");
}

/// One chance each ms: a packet of 1500 bytes takes exactly one, and two of 748 bytes share one.
#[test]
fn a_chance_carries_1504_bytes() {
    let at_once = |size| departures("1", &vec![(0, size); 1000]);
    assert_eq!(at_once(1500), (1..=1000).map(|ms| ms * 1000).collect::<Vec<_>>());
    assert_eq!(at_once(748), (2..=1001).map(|half| half / 2 * 1000).collect::<Vec<_>>());
    // 1000 packets of 604 bytes are 604 000 bytes, or 401.6 chances.
    assert_eq!(at_once(600).last(), Some(&402_000));
}

/// The second packet of 1004 bytes takes 500 bytes of the first chance, and the third 4 of the
/// third. A packet larger than a chance takes several.
#[test]
fn later_chances_serve_the_rest() {
    assert_eq!(departures("1", &[(0, 1000), (0, 1000), (0, 1000), (0, 1000)]), [1000, 2000, 3000, 3000]);
    assert_eq!(departures("1", &[(0, 9000), (0, 12)]), [6000, 6000]);
    assert_eq!(departures("1", &[(0, 9020), (0, 1)]), [6000, 7000]);
}

/// A packet waits for the next chance, and misses one at the instant of its arrival.
#[test]
fn a_single_packet_waits_for_the_next_chance() {
    let text = "1\n5\n5\n9";
    for (at, departs) in [(0, 1000), (999, 1000), (1000, 5000), (2500, 5000), (5000, 9000), (9000, 10_000)] {
        assert_eq!(departures(text, &[(at, 1500)]), [departs]);
    }
    assert_eq!(departures(text, &[(2500, 1500), (2500, 1500), (2500, 1500)]), [5000, 5000, 9000]);
}

/// What a chance has left is for packets that already wait.
#[test]
fn unused_bytes_are_lost() {
    assert_eq!(departures("1", &[(0, 100), (500, 100), (1000, 100), (1001, 1500)]), [1000, 1000, 2000, 3000]);
    assert_eq!(departures("1\n1\n2", &[(0, 1500), (0, 100), (1000, 1500)]), [1000, 1000, 2000]);
}

/// The last time is the period. A chance at 0 follows the last one at once.
#[test]
fn repeats_with_the_period() {
    let ms = |text, packets| -> Vec<u64> {
        departures(text, &vec![(0, 1500); packets]).iter().map(|us| us / 1000).collect()
    };
    assert_eq!(ms("2\n3", 6), [2, 3, 5, 6, 8, 9]);
    assert_eq!(ms("0\n2", 5), [2, 2, 4, 4, 6]);
    let days = 30 * 24 * 3_600_000_000;
    assert_eq!(departures("2\n3", &[(days, 1500), (days, 1500)]), [days + 2000, days + 3000]);
}

/// A packet counts towards the limit until a chance serves its first byte, in an empty link too.
#[test]
fn the_packet_in_service_is_not_in_the_queue() {
    for aqm in inert() {
        let mut l = Link::new(&config(trace("1\n9"), Limit::Packets(1), aqm), 1, "l");
        let mut offer = |at, size| l.push(us(at), pkt(0, size)).is_ok();
        assert_eq!(
            [(0, 2000), (500, 40), (1000, 40), (1001, 40)].map(|(at, size)| offer(at, size)),
            [true, false, true, false]
        );
        assert_eq!(l.backlog(us(8999)), Count { packets: 2, bytes: 2040 });
        assert_eq!(l.backlog(us(9000)), Count::default());
    }
    let config = LinkConfig {
        limit_counts: LimitCounts::QueueAndDelay,
        delay: Duration::from_millis(5),
        ..config(trace("1"), Limit::Packets(1), Aqm::default())
    };
    let mut l = Link::new(&config, 1, "l");
    assert_eq!(
        [0, 1000, 5999, 6000].map(|at| l.push(us(at), pkt(0, 40)).is_ok()),
        [true, false, false, true]
    );
}

/// CoDel sees the time until the chance, and a chance that it leaves without a packet is lost.
#[test]
fn codel_decides_at_the_chance() {
    let codel = codel::Params { target: Duration::from_millis(5), ..codel::Params::default() };
    let aqm = || Aqm::Codel(codel.clone());
    let mut l = Link::new(&config(trace("7"), Limit::Unlimited, aqm()), 1, "l");
    l.push(us(500), pkt(0, 700)).unwrap();
    assert_eq!((l.next(), l.next_outcome()), (Some(us(7000)), None));
    l.push(us(7000), pkt(1, 700)).unwrap();
    let queue_time = QueueTime { wait: Duration::from_micros(6500), total: Duration::from_micros(6500) };
    assert_eq!(l.next_outcome(), Some(PacketOutcome::Departs { flow: 0, queue_time }));
    assert_eq!((l.pop(us(7000)).map(|packet| packet.id), l.next()), (Some(0), Some(us(14_000))));
    // At 2 packets for each chance, CoDel drops.
    let mut l = Link::new(&config(trace("1"), Limit::Unlimited, aqm()), 1, "l");
    (0..4000).for_each(|i| drop(l.push(us(i * 500), pkt(i, 1500))));
    let left = std::iter::from_fn(|| l.pop(us(2_000_000))).count();
    assert_eq!(left, 2000, "one for each chance");
    assert!(l.counters(us(2_000_000)).dropped_aqm.packets > 10);
}

/// The nominal rate is the mean. The capacity is 1504 bytes for each chance, without those before
/// the window.
#[test]
fn capacity_of_chances() {
    let config = config(trace("1\n5\n5\n10"), Limit::Unlimited, Aqm::default());
    assert_eq!(config.rate.nominal(), Rate(4 * 1504 * 8 * 100));
    for (from, to, chances) in
        [(0, 1_000_000, 400), (0, 999, 0), (0, 1000, 1), (1000, 5000, 2), (5000, 5001, 0)]
    {
        assert_eq!(config.capacity_between([us(from), us(to)], 1, "l"), 1504.0 * f64::from(chances));
    }
}

/// Rates of a trace are steps that repeat, with a token bucket too.
#[test]
fn rates_are_steps_that_repeat() {
    let text = "time_ms,rate_mbit_s\n0,8\n10,0\n15,2.5\n";
    let step =
        |(i, rate): (u64, u64)| (Time::from_millis(i / 3 * 20 + [0, 10, 15][i as usize % 3]), Rate(rate));
    let steps = (0..300).zip([8_000_000, 0, 2_500_000].into_iter().cycle()).map(step).collect();
    let mut rng = Rng::stream(1, "arrivals");
    let mut now = 0;
    let mut arrival = |_| {
        now += rng.below(4000);
        (now, 40 + rng.below(1460) as u32)
    };
    let arrivals: Vec<(u64, u32)> = (0..500).map(&mut arrival).collect();
    for aqm in inert() {
        for burst in [0, 3000].map(Bytes) {
            let of = |rate| LinkConfig { rate, burst, ..config(trace("1"), Limit::Packets(9), aqm.clone()) };
            let (steps, trace) =
                (of(RateModel::Steps(Vec::clone(&steps))), of(RateModel::Trace(trace(text))));
            assert_eq!(served(&steps, &arrivals), served(&trace, &arrivals));
            assert_eq!(trace.rate.nominal(), Rate((80_000 + 12_500) * 50));
            let window = [us(3000), us(1_234_567)];
            assert_eq!(steps.capacity_between(window, 1, "l"), trace.capacity_between(window, 1, "l"));
        }
    }
}

/// A recording that begins later moves every departure after its beginning by as much.
#[test]
fn a_recording_that_begins_later() {
    for text in ["0\n1\n5\n5\n9", "time_ms,rate_mbit_s\n0,8\n10,0\n15,2.5\n"] {
        for late in [0, 1, 4500, 9000, 20_000, 1_234_567] {
            let of = |trace| config(trace, Limit::Packets(5), Aqm::default());
            let (plain, moved) = (trace(text), trace(text).delayed(Duration::from_micros(late)));
            let arrivals: Vec<(u64, u32)> = (0..100).map(|i| (i * i * 10, 1000)).collect();
            let later: Vec<(u64, u32)> = arrivals.iter().map(|&(at, size)| (at + late, size)).collect();
            let (plain, moved) = (served(&of(plain), &arrivals).0, served(&of(moved), &later).0);
            let by = Duration::from_micros(late);
            assert_eq!(plain.iter().map(|p| (p.0, p.1 + by, p.2 + by)).collect::<Vec<_>>(), moved);
        }
    }
}

#[test]
fn files_and_checks() {
    let file = TraceFile { trace: "verizon.down".to_owned(), sha256: Some("ab".to_owned()) };
    let trace = Trace::new(file, Arc::new(Recording::parse("1").unwrap()));
    let config = config(trace, Limit::Unlimited, Aqm::default());
    let text = toml::to_string(&config).unwrap();
    assert!(text.contains("[rate]\ntrace = \"verizon.down\"\nsha256 = \"ab\"\n"), "{text}");
    assert_eq!(config.check(), Ok(()));
    let burst = LinkConfig { burst: Bytes(3000), ..config.clone() };
    assert!(burst.check().unwrap_err().contains("a token bucket has no meaning"));
    assert!(format!("{config:?}").contains("chances of 1 ms"));
    // Nothing panics at the end of time.
    for aqm in inert() {
        let mut link = Link::new(&LinkConfig { aqm, ..burst.clone() }, 1, "l");
        assert!(link.push(Time::NEVER, pkt(0, u32::MAX)).is_ok());
        assert_eq!((link.pop(Time::NEVER), link.next()), (None, None));
    }
}

//! Tests of the link against closed forms and random scripts.

use proptest::prelude::*;
use units::{Bytes, Duration, Rate, Rng};

use super::*;
use crate::counters::{DropReason, QueueTime};
use crate::{
    AggregateModel, Aqm, Blackhole, Bursts, Count, JitterOrder, Limit, LimitCounts, RateModel, Reorder,
    SlotModel, Spells, Steps,
};

/// Flag in the number of a damaged packet.
const DAMAGED: u64 = 1 << 63;

/// Packet with a number and a size.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Pkt(u64, u32);

impl Packet for Pkt {
    fn damage(&mut self, _: u64) {
        self.0 |= DAMAGED;
    }

    fn size(&self) -> u32 {
        self.1
    }
    fn ecn(&self) -> Ecn {
        Ecn::NotEct
    }
    fn set_ecn(&mut self, _: Ecn) {}
    fn flow(&self) -> u32 {
        0
    }
}

const MBIT: u64 = 1_000_000;

fn config(mbit: u64, limit: Limit, delay_ms: u64) -> LinkConfig {
    LinkConfig { limit, delay: Duration::from_millis(delay_ms), ..LinkConfig::plain(Rate(mbit * MBIT)) }
}

fn link(config: &LinkConfig) -> Link<Pkt> {
    Link::new(config, 1, "l")
}

/// Pops everything due by `until` at its own time.
fn deliveries(link: &mut Link<Pkt>, until: Time) -> Vec<(Time, Pkt)> {
    let mut all = Vec::new();
    while let Some(at) = link.next().filter(|&at| at <= until) {
        assert_eq!(link.pop(at - Duration(1)), None, "not before it is due");
        all.push((at, link.pop(at).unwrap()));
    }
    all
}

/// Returns the packets that count towards a link's limit.
pub(super) fn counted<P: Packet>(l: &mut Link<P>, now: Time) -> Count {
    l.backlog(now);
    match &mut l.queue {
        Queue::Analytic(analytic) => analytic.drain(now),
        Queue::EventDriven(events) => events.waiting(),
    }
}

fn queue_ms(wait: u64, total: u64) -> QueueTime {
    QueueTime { wait: Duration::from_millis(wait), total: Duration::from_millis(total) }
}

fn count(packets: u64, size: u64) -> Count {
    Count { packets, bytes: packets * size }
}

#[test]
fn one_packet_after_the_other() {
    let mut l = link(&config(12, Limit::Packets(2), 10));
    for i in 0..5 {
        let answer = l.push(Time::ZERO, Pkt(i, 1500));
        match i {
            0..3 => assert_eq!(answer, Ok(Admitted { queue_time: Some(queue_ms(i, i + 1)) })),
            _ => assert_eq!(answer, Err(Dropped { packet: Pkt(i, 1500), reason: DropReason::QueueFull })),
        }
    }
    // The packet in transmission counts in full in the backlog until its last bit has left.
    assert_eq!(l.backlog(Time(999_999)), count(3, 1500));
    assert_eq!(l.backlog(Time::from_millis(1)), count(2, 1500));
    assert!(l.push(Time::from_millis(1), Pkt(5, 1500)).is_ok(), "fits from that very moment");
    let at: Vec<_> = deliveries(&mut l, Time::NEVER).iter().map(|d| (d.0.0 / 1_000_000, d.1.0)).collect();
    assert_eq!(at, [(11, 0), (12, 1), (13, 2), (14, 5)]);
    let c = l.counters(Time::from_millis(14));
    assert_eq!((c.pushed, c.admitted, c.delivered), (count(6, 1500), count(4, 1500), count(4, 1500)));
    assert_eq!((c.dropped_full, c.dropped()), (count(2, 1500), count(2, 1500)));
    assert_eq!(c.max_backlog, count(3, 1500));
    assert_eq!(c.sojourn, 9_000_000);
}

/// The last packet that fits waits for the one in transmission, which may have just begun, and
/// leaves B/C later as the last of B.
#[test]
fn longest_queuing_delay() {
    let mut l = link(&config(10, Limit::Bytes(Bytes(62_500)), 25));
    let longest = (0..100_000)
        .filter_map(|i| l.push(Time(i * 900_000), Pkt(i, 1250)).ok())
        .filter_map(|admitted| admitted.queue_time)
        .max_by_key(|queue_time| queue_time.total);
    assert_eq!(longest, Some(queue_ms(50, 51)), "B/C plus one packet");
}

/// Linux' `pfifo limit 3` and `bfifo limit 4500` behind a device of 12 Mbit/s: one packet on the
/// wire, three that wait. A small packet fits where bytes are counted. When a transmission ends,
/// the next one has begun.
#[test]
fn the_limit_counts_what_waits() {
    for (limit, small) in [(Limit::Packets(3), false), (Limit::Bytes(Bytes(4_600)), true)] {
        let mut l = link(&config(12, limit, 0));
        let mut offer =
            |us, size| l.push(Time::from_millis(0) + Duration::from_micros(us), Pkt(us, size)).is_ok();
        assert_eq!([0; 5].map(|at| offer(at, 1500)), [true, true, true, true, false], "{limit}");
        assert_eq!(offer(500, 100), small, "{limit}");
        assert_eq!([999, 1000, 1000].map(|at| offer(at, 1500)), [false, true, false], "{limit}");
    }
    // The packet on the wire does not count, with its own length and not with the mean length.
    let mut l = link(&config(12, Limit::Bytes(Bytes(1_600)), 0));
    let taken = [3000, 100, 1500, 1].map(|size| l.push(Time::ZERO, Pkt(0, size)).is_ok());
    assert_eq!(
        taken,
        [false, true, true, true],
        "a packet larger than the queue is dropped even if the link is idle"
    );
}

/// Behind a token bucket the first packet waits for its tokens in the queue (Linux' tbf), so a
/// `limit` of 2 admits no third.
#[test]
fn what_waits_for_tokens_counts() {
    let mut l = link(&LinkConfig { burst: Bytes(1500), ..config(12, Limit::Packets(2), 0) });
    assert_eq!([0; 4].map(|i| l.push(Time::ZERO, Pkt(i, 1500)).is_ok()), [true, true, true, false]);
    assert_eq!(l.backlog(Time::ZERO), count(2, 1500), "the first has left");
}

/// netem as delay and queue in one: n packets per (delay + own transmission), like a window.
#[test]
fn queue_and_delay_limit_is_a_window() {
    let mut config = config(100, Limit::Packets(24), 50);
    for (counts, packets_per_s) in [
        (LimitCounts::QueueAndDelay, 24.0 / (0.050 + 0.000_12)),
        (LimitCounts::Queue, 100e6 / (8.0 * 1500.0)),
    ] {
        config.limit_counts = counts;
        let mut l = link(&config);
        // Offers one packet per transmission time, on the same grid, to saturate the link without a
        // burst.
        let seconds = 60;
        for i in 0..seconds * 1_000_000 / 120 {
            let now = Time(i * 120_000);
            while l.pop(now).is_some() {}
            let _ = l.push(now, Pkt(i, 1500));
        }
        let rate = l.counters(Time::from_millis(seconds * 1000)).delivered.packets as f64 / seconds as f64;
        assert!((rate / packets_per_s - 1.0).abs() < 0.004, "{counts:?}: {rate} {packets_per_s}");
    }
}

/// A closed loop meets the closed form of the window exactly: 24 packets, then one per delivered
/// packet.
#[test]
fn window_in_closed_loop() {
    let mut config = config(100, Limit::Packets(24), 50);
    config.limit_counts = LimitCounts::QueueAndDelay;
    let mut l = link(&config);
    let mut offered = 0..;
    let mut fill = |l: &mut Link<Pkt>, now| while l.push(now, Pkt(offered.next().unwrap(), 1500)).is_ok() {};
    fill(&mut l, Time::ZERO);
    let mut delivered = 0;
    while let Some(now) = l.next() {
        assert!(l.backlog(now).packets <= 24);
        delivered += 1;
        l.pop(now);
        if delivered == 24 * 100 {
            // A hundred rounds of delay plus one transmission, and the rest of the last burst.
            assert_eq!(now, Time(100 * 50_120_000 + 23 * 120_000));
            return;
        }
        fill(&mut l, now);
    }
}

#[test]
fn what_passes_on_tokens_was_never_in_the_backlog() {
    let mut l = link(&LinkConfig { burst: Bytes(3000), ..config(12, Limit::Packets(1), 0) });
    let waits: Vec<_> =
        (0..4).map(|i| l.push(Time(5), Pkt(i, 1500)).ok().and_then(|a| a.queue_time)).collect();
    assert_eq!(
        waits,
        [Some(queue_ms(0, 0)), Some(queue_ms(0, 0)), Some(queue_ms(1, 1)), None],
        "the packet that waits for tokens"
    );
    assert_eq!(l.counters(Time(5)).max_backlog, count(1, 1500));
}

/// A queue of nothing behind a bucket is a policer: ten packets pass at once, then as many as the
/// rate fills in, and none ever waits. Without a bucket nothing passes.
#[test]
fn a_bucket_without_a_queue_polices() {
    for limit in [Limit::Packets(0), Limit::Bytes(Bytes(0))] {
        let mut l = link(&LinkConfig { burst: Bytes(15_000), ..config(12, limit, 0) });
        let passed = (0..20).filter(|i| l.push(Time::ZERO, Pkt(*i, 1500)).is_ok()).count();
        assert_eq!((passed, l.backlog(Time::ZERO)), (10, count(0, 0)));
        // 12 Mbit/s fill the bucket by one packet each millisecond; four arrive in each.
        let passes =
            |l: &mut Link<Pkt>, ms: u64, nth| l.push(Time(ms * 1_000_000 + nth), Pkt(0, 1500)).is_ok();
        let passed = (1..=100).flat_map(|ms| (0..4).map(move |nth| (ms, nth)));
        assert_eq!(passed.filter(|&(ms, nth)| passes(&mut l, ms, nth)).count(), 100);
        assert!(!passes(&mut l, 100, 999_999) && passes(&mut l, 101, 0));
        assert_eq!(l.counters(Time(101_000_000)).max_backlog, count(0, 0));
        assert!(link(&config(12, limit, 0)).push(Time::ZERO, Pkt(0, 1500)).is_err());
    }
}

#[test]
fn reordering_overtakes_with_each_kth() {
    let mut config = config(12, Limit::Unlimited, 20);
    config.reorder = Some(Reorder { every: 5, by: Duration::from_micros(2500) });
    let mut l = link(&config);
    for i in 1..=1000 {
        l.push(Time::ZERO, Pkt(i, 1500)).unwrap();
    }
    let order: Vec<_> = deliveries(&mut l, Time::NEVER).iter().map(|d| d.1.0).collect();
    // With one packet per ms and 2.5 ms early, each fifth arrives before the two ahead of it.
    let expected: Vec<_> = (0..200).flat_map(|k| [1, 2, 5, 3, 4].map(|i| 5 * k + i)).collect();
    assert_eq!(order, expected);
}

#[test]
fn jitter_keeps_order() {
    let mut config = config(1000, Limit::Unlimited, 20);
    config.jitter = Duration::from_millis(5);
    let mut l = link(&config);
    for i in 0..10_000 {
        l.push(Time(i * 20_000), Pkt(i, 1500)).unwrap();
    }
    let all = deliveries(&mut l, Time::NEVER);
    assert!(all.is_sorted_by(|a, b| a.0 <= b.0 && a.1.0 + 1 == b.1.0));
    assert!(all.iter().all(|&(at, Pkt(i, _))| {
        let delay = at - Time(i * 20_000);
        delay >= Duration::from_millis(20) && delay <= Duration::from_micros(25_012)
    }));
}

#[test]
fn random_loss_spares_the_queue() {
    let mut config = config(12, Limit::Unlimited, 0);
    config.loss = 0.02;
    let mut l = link(&config);
    let n = 200_000;
    for i in 0..n {
        let _ = l.push(Time(i * 2_000_000), Pkt(i, 1500));
    }
    let c = l.counters(Time::from_millis(2 * n));
    let (mean, sigma) = (n as f64 * 0.02, (n as f64 * 0.02 * 0.98).sqrt());
    assert!((c.dropped_random.packets as f64 - mean).abs() < 4.0 * sigma);
    assert_eq!(c.sojourn, u128::from(c.admitted.packets) * 1_000_000);
}

/// The mean wait of M/D/1 is rho / (2 (1 - rho)) service times.
#[test]
fn m_d_1() {
    let service = 1_000_000.0;
    for rho in [0.5, 0.8] {
        let mut l = link(&config(12, Limit::Unlimited, 0));
        let mut rng = Rng::stream(11, "arrivals");
        let (mut at, n) = (0.0, 4_000_000);
        for i in 0..n {
            at -= service / rho * libm::log(1.0 - rng.unit());
            l.push(Time(at as u64), Pkt(i, 1500)).unwrap();
            while l.pop(Time(at as u64)).is_some() {}
        }
        let sojourn = l.counters(Time(at as u64 + 1_000_000_000_000)).sojourn;
        let wait = sojourn as f64 / n as f64 / service - 1.0;
        let exact = rho / (2.0 * (1.0 - rho));
        assert!((wait / exact - 1.0).abs() < 0.02, "rho {rho}: {wait}, not {exact}");
    }
}

#[test]
fn outage_at_slot_boundaries() {
    let model = SlotModel {
        sigma: 0.5,
        extra_delay: [Duration::ZERO, Duration::from_micros(12_500)],
        outage: Duration::from_millis(100),
        ..SlotModel::plain(Rate(100 * MBIT))
    };
    let mut l = link(&LinkConfig { rate: RateModel::Slots(model), ..config(1, Limit::Unlimited, 20) });
    for ms in 0..60_000 {
        let lost =
            l.push(Time::from_millis(ms), Pkt(ms, 1000)).is_err_and(|d| d.reason == DropReason::Outage);
        assert_eq!(lost, ms >= 12_000 && (ms - 12_000) % 15_000 < 100, "{ms} ms");
    }
    assert_eq!(l.counters(Time::from_millis(60_000)).dropped_outage, count(400, 1000));
    // A lower extra delay in the next slot never reorders.
    assert!(deliveries(&mut l, Time::NEVER).is_sorted_by(|a, b| a.0 <= b.0 && a.1.0 < b.1.0));
}

#[test]
fn same_seed_same_run_and_streams_apart() {
    let run = |seed, loss| {
        let mut config = config(50, Limit::Packets(40), 20);
        config.jitter = Duration::from_millis(3);
        config.loss = loss;
        let mut l: Link<Pkt> = Link::new(&config, seed, "l");
        for i in 0..2000 {
            let _ = l.push(Time(i * 240_000), Pkt(i, 1500));
        }
        deliveries(&mut l, Time::NEVER)
    };
    assert_eq!(run(1, 0.1), run(1, 0.1));
    assert_ne!(run(1, 0.1), run(2, 0.1));
    // At a higher loss rate the same packets are lost, and more.
    let (few, many) = (run(1, 0.01), run(1, 0.1));
    assert!(many.iter().all(|m| few.iter().any(|f| f.1 == m.1)));
}

#[test]
fn rate_zero_never_delivers() {
    let mut l = link(&config(0, Limit::Packets(1), 10));
    assert!(l.push(Time(3), Pkt(0, 1500)).is_ok());
    assert!(l.push(Time(3), Pkt(1, 1500)).is_ok());
    assert!(l.push(Time::NEVER, Pkt(2, 1500)).is_err());
    assert_eq!((l.next(), l.pop(Time::NEVER)), (None, None));
    assert_eq!(l.backlog(Time::NEVER), count(2, 1500));
    assert_eq!(l.counters(Time::NEVER).sojourn, 0);
}

#[test]
fn time_never_runs_backwards() {
    let mut l = link(&config(12, Limit::Unlimited, 0));
    l.push(Time::from_millis(10), Pkt(0, 1500)).unwrap();
    let late = l.push(Time::from_millis(5), Pkt(1, 1500));
    assert_eq!(late, Ok(Admitted { queue_time: Some(queue_ms(1, 2)) }));
}

/// A smaller limit drops no waiting packet: it refuses arrivals until they fit. A larger one admits
/// from its exact time on.
#[test]
fn steps_of_the_limit() {
    let steps = [(10, 2), (20, 6)].map(|(at, n)| (Time::from_millis(at), Limit::Packets(n)));
    let config = LinkConfig { limit_steps: Steps(steps.to_vec()), ..config(12, Limit::Packets(9), 0) };
    let mut l = link(&config);
    let offer = |l: &mut Link<Pkt>, ms, n: u64| {
        (0..n).filter(|&i| l.push(Time::from_millis(ms), Pkt(i, 1500)).is_ok()).count()
    };
    assert_eq!(offer(&mut l, 7, 12), 10, "nine wait behind one");
    assert_eq!(offer(&mut l, 9, 12), 2, "the old limit");
    // Each takes a millisecond: at 10 ms eight wait, at 16 ms two, at 17 ms one.
    assert_eq!([10, 16, 17].map(|ms| offer(&mut l, ms, 1)), [0, 0, 1]);
    assert_eq!(l.backlog(Time::from_millis(17)).packets, 3, "two wait behind one");
    assert_eq!(offer(&mut l, 20, 12), 7);
    assert_eq!(deliveries(&mut l, Time::NEVER).len(), 20, "all that were admitted");
}

/// The delay is that at departure, not at arrival: a packet that waits through the step has the new
/// one. Tests both implementations.
#[test]
fn steps_of_the_delay() {
    let codel = Aqm::Codel(crate::aqm::codel::Params::default());
    for aqm in [Aqm::default(), codel] {
        let steps = Steps(vec![(Time::from_millis(2), Duration::from_millis(50))]);
        let mut l = link(&LinkConfig { delay_steps: steps, aqm, ..config(12, Limit::Unlimited, 10) });
        (0..4).for_each(|i| assert!(l.push(Time::ZERO, Pkt(i, 1500)).is_ok()));
        let mut delivered = Vec::new();
        while let Some(at) = l.next() {
            delivered.extend(l.pop(at).map(|_| at.0 / 1_000_000));
        }
        assert_eq!(delivered, [11, 52, 53, 54]);
    }
}

/// Rejects steps whose times do not increase, thresholds in % of a queue with steps, and reordering
/// beyond the shortest delay.
#[test]
fn refuses_steps_in_words() {
    let ms = Time::from_millis;
    let plain = || LinkConfig { delay: Duration::from_millis(9), ..LinkConfig::plain(Rate(MBIT)) };
    let delay_steps = Steps(vec![(ms(5), Duration::from_millis(2)), (ms(5), Duration::from_millis(3))]);
    let falling = LinkConfig { delay_steps, ..plain() };
    assert!(falling.check().unwrap_err().contains("steps of `delay` must increase"));
    let limit_steps = Steps(vec![(ms(5), Limit::Packets(3)), (ms(4), Limit::Packets(2))]);
    let falling = LinkConfig { limit_steps, ..plain() };
    assert!(falling.check().unwrap_err().contains("steps of `queue` must increase"));
    let half = Aqm::Red(crate::aqm::red::Params::mark_above(crate::Threshold::OfLimit(0.5)));
    let limit_steps = Steps(vec![(ms(5), Limit::Packets(3))]);
    let part = LinkConfig { aqm: half, limit: Limit::Packets(9), limit_steps, ..plain() };
    assert!(part.check().unwrap_err().contains("`queue` has steps"));
    let delay_steps = Steps(vec![(ms(5), Duration::from_millis(2))]);
    let reorder = Some(Reorder { every: 3, by: Duration::from_millis(3) });
    assert!(LinkConfig { delay_steps, reorder, ..plain() }.check().unwrap_err().contains("`delay` of 2 ms"));
}

#[test]
fn reads_experiment_files() {
    let read = |text: &str| toml::from_str::<LinkConfig>(text);
    assert_eq!(read("rate = '10 Mbit/s'").unwrap(), LinkConfig::plain(Rate(10 * MBIT)));
    let text = "rate = [['0 s', '10 Mbit/s'], ['30 s', '5 Mbit/s']]\nlimit = '24 packets'\n\
        limit-counts = 'queue+delay'\ndelay = '25 ms'\nreorder = { every = 100, by = '5 ms' }\nloss = 0.01";
    let config = read(text).unwrap();
    assert_eq!(config.limit_counts, LimitCounts::QueueAndDelay);
    assert_eq!(
        config.rate,
        RateModel::Steps(vec![(Time::ZERO, Rate(10 * MBIT)), (Time::from_millis(30_000), Rate(5 * MBIT))])
    );
    let steps = read(
        "rate = '10 Mbit/s'\nlimit = '9 packets'\nlimit-steps = [['5 s', '3 packets']]\n\
        delay-steps = [['1 s', '2 ms']]",
    )
    .unwrap();
    let slots = read("[rate]\nmedian = '100 Mbit/s'\nsigma = 0.4\noutage = '80 ms'").unwrap();
    for config in [config, steps, slots] {
        assert_eq!(config.check(), Ok(()));
        assert_eq!(read(&toml::to_string(&config).unwrap()).unwrap(), config);
    }
}

#[test]
fn refuses_in_words() {
    let error = |text| toml::from_str::<LinkConfig>(text).unwrap_err().to_string();
    assert!(error("rate = 10").contains("10 Mbit/s"));
    assert!(error("rate = '10 Mb'").contains("Mbit/s"));
    assert!(error("rate = { median = '1 Mbit/s', sigme = 1 }").contains("sigma"));
    assert!(error("rate = '10 Mbit/s'\ndealy = '1 ms'").contains("delay"));
    let plain = || LinkConfig::plain(Rate(MBIT));
    assert!(LinkConfig { loss: 1.5, ..plain() }.check().unwrap_err().contains("loss"));
    let reorder = Some(Reorder { every: 3, by: Duration(1) });
    assert!(LinkConfig { reorder, ..plain() }.check().unwrap_err().contains("more than the `delay`"));
    for (config, word) in [
        (LinkConfig { corrupt: -0.1, ..plain() }, "`corrupt`"),
        (LinkConfig { duplicate: 2.0, ..plain() }, "`duplicate`"),
        (LinkConfig { drop: vec![3, 0], ..plain() }, "`drop`"),
        (LinkConfig { blackhole: vec![(Time(5), Time(5))], ..plain() }, "`blackhole`"),
    ] {
        assert!(config.check().unwrap_err().contains(word), "{word}");
    }
}

pub(super) fn limits() -> impl Strategy<Value = Limit> {
    prop_oneof![
        (0..40_u64).prop_map(Limit::Packets),
        (0..60_000_u64).prop_map(|b| Limit::Bytes(Bytes(b))),
        Just(Limit::Unlimited)
    ]
}

pub(super) fn rates() -> impl Strategy<Value = RateModel> {
    let rate = || prop_oneof![Just(0), 100_000..1_000_000_000_u64].prop_map(Rate);
    prop_oneof![
        rate().prop_map(RateModel::Constant),
        prop::collection::vec((0..40_000_000_u64, rate()), 0..6)
            .prop_map(|s| RateModel::Steps(s.into_iter().map(|(at, r)| (Time(at), r)).collect())),
        (1..30_u64, rate(), 0..5_u64).prop_map(|(ms, median, outage)| RateModel::Slots(SlotModel {
            period: Duration::from_millis(ms),
            sigma: 0.7,
            min: Rate(1_000_000),
            extra_delay: [Duration::ZERO, Duration::from_millis(4)],
            outage: Duration::from_millis(outage),
            ..SlotModel::plain(median)
        })),
        (100_000..1_000_000_000_u64, 0..3_000_000_u64, 0..3_000_000_u64, 1..5_u64).prop_map(
            |(phy, gap, backoff, most)| {
                RateModel::Aggregates(AggregateModel {
                    gap: Duration(gap),
                    backoff: Duration(backoff),
                    aggregate: Limit::Packets(most),
                    ..AggregateModel::plain(Rate(phy))
                })
            }
        ),
    ]
}

/// Steps in any order.
pub(super) fn limit_steps() -> impl Strategy<Value = Steps<Limit>> {
    prop::collection::vec((0..40_000_000_u64, limits()), 0..3)
        .prop_map(|s| Steps(s.into_iter().map(|(at, limit)| (Time(at), limit)).collect()))
}

/// Steps in any order.
fn delay_steps() -> impl Strategy<Value = Steps<Duration>> {
    prop::collection::vec((0..40_000_000_u64, 0..20_000_000_u64), 0..3)
        .prop_map(|s| Steps(s.into_iter().map(|(at, delay)| (Time(at), Duration(delay))).collect()))
}

/// Returns losses in bursts of both kinds.
fn bursts() -> impl Strategy<Value = Option<Bursts>> {
    let share = || 0.0..1.0;
    let packets = (share(), share()).prop_map(|(p, r)| Spells::Packets { p, r });
    let times = (0..9_000_000_u64, 0..9_000_000_u64);
    let times = times.prop_map(|(bad, good)| Spells::Times { bad: Duration(bad), good: Duration(good) });
    let all = (prop_oneof![packets, times], share(), share())
        .prop_map(|(spells, bad_loss, good_loss)| Some(Bursts { spells, bad_loss, good_loss }));
    prop_oneof![Just(None), all]
}

/// Returns drops by number, black holes, and the probabilities of damage and copies.
fn faults() -> impl Strategy<Value = (Vec<u64>, Vec<Blackhole>, f64, f64)> {
    let holes = prop::collection::vec((0..40_000_000_u64, 0..9_000_000_u64), 0..3)
        .prop_map(|holes| holes.into_iter().map(|(at, span)| (Time(at), Time(at + span))).collect());
    let share = || prop_oneof![Just(0.0), 0.0..1.0];
    (prop::collection::vec(0..300_u64, 0..5), holes, share(), share())
}

prop_compose! {
    pub(super) fn configs()(
        rate in rates(), limit in limits(), netem in any::<bool>(),
        burst in prop_oneof![Just(0), 0..9000_u64],
        delay in 0..20_000_000_u64, delay_steps in delay_steps(), jitter in prop_oneof![Just(0), 0..9_000_000_u64],
        (jitter_correlation, jitter_order) in (prop_oneof![Just(0.0), 0.0..1.0], prop_oneof![Just(JitterOrder::Link), Just(JitterOrder::Flow)]),
        every in 0..5_u64, by in 0..30_000_000_u64, loss in prop_oneof![Just(0.0), 0.0..1.0], bursts in bursts(),
        (drop, blackhole, corrupt, duplicate) in faults(),
    ) -> LinkConfig {
        LinkConfig {
            burst: Bytes(if rate.is_gated() { 0 } else { burst }), rate, limit,
            limit_counts: if netem { LimitCounts::QueueAndDelay } else { LimitCounts::Queue },
            limit_steps: Steps::default(), delay_steps,
            delay: Duration(delay), jitter: Duration(jitter), jitter_correlation, jitter_order,
            reorder: (every > 0).then_some(Reorder { every, by: Duration(by) }), loss, bursts,
            aqm: Aqm::default(), bleach: false, mtu: None, mtu_steps: Steps::default(),
            drop, blackhole, corrupt, duplicate,
        }
    }
}

/// Offers one packet of 1500 bytes each millisecond at 12 Mbit/s, so that each has left when the
/// next arrives. Returns the packets that arrive.
fn arrivals(config: &LinkConfig, packets: u64) -> (Vec<Pkt>, Counters) {
    let mut l = link(config);
    let mut all = Vec::new();
    for i in 1..=packets {
        let _ = l.push(Time::from_millis(i), Pkt(i, 1500));
        while let Some(packet) = l.pop(Time::from_millis(i + 1)) {
            all.push(packet);
        }
    }
    while let Some(at) = l.next() {
        all.extend(l.pop(at));
    }
    let counters = l.counters(Time::from_millis(packets + 1000));
    (all, counters)
}

/// Planned losses do not change the random draws: the random losses of both runs are the same.
#[test]
fn losses_that_are_planned() {
    let blackhole =
        vec![(Time::from_millis(10), Time::from_millis(13)), (Time::from_millis(40), Time::NEVER)];
    let random = LinkConfig { loss: 0.2, ..config(12, Limit::Unlimited, 5) };
    let planned = LinkConfig { drop: vec![7, 3, 11, 99], blackhole, ..random.clone() };
    let (without, _) = arrivals(&random, 50);
    let (with, c) = arrivals(&planned, 50);
    let gone = |n: u64| [3, 7].contains(&n) || (10..13).contains(&n) || n >= 40;
    assert_eq!(with, without.into_iter().filter(|p| !gone(p.0)).collect::<Vec<_>>());
    assert_eq!(
        (c.dropped_listed.packets, c.dropped_blackhole.packets),
        (2, 3 + 11),
        "11 fell into the black hole"
    );
    assert_eq!(c.pushed, c.admitted + c.dropped());
}

/// Packets above the MTU of their time never enter the queue, of either kind, and do not shift the
/// random draws.
#[test]
fn packets_above_the_mtu() {
    let steps = Steps(vec![(Time::from_millis(20), Bytes(1499)), (Time::from_millis(40), Bytes(1501))]);
    let random = LinkConfig { loss: 0.2, ..config(12, Limit::Packets(10), 5) };
    for aqm in [Aqm::default(), Aqm::Codel(crate::aqm::codel::Params::default())] {
        let without = LinkConfig { aqm, ..random.clone() };
        let with = LinkConfig { mtu: Some(Bytes(1500)), mtu_steps: steps.clone(), ..without.clone() };
        let ((all, _), (passed, c)) = (arrivals(&without, 50), arrivals(&with, 50));
        assert_eq!(passed, all.into_iter().filter(|p| !(20..40).contains(&p.0)).collect::<Vec<_>>());
        assert_eq!((c.dropped_too_large, c.pushed), (count(20, 1500), c.admitted + c.dropped()));
        let refused = link(&with).push(Time::from_millis(20), Pkt(1, 1500));
        assert_eq!(refused.unwrap_err().reason, DropReason::TooLarge);
    }
}

/// Losses in bursts count as random, and leave the draws of single losses as they are.
#[test]
fn losses_in_bursts() {
    let spells = Spells::Packets { p: 0.05, r: 0.2 };
    let bursts = Some(Bursts { spells, bad_loss: 1.0, good_loss: 0.0 });
    let single = LinkConfig { loss: 0.1, ..config(12, Limit::Unlimited, 5) };
    let both = LinkConfig { bursts, ..single.clone() };
    let alone = LinkConfig { loss: 0.0, ..both.clone() };
    assert!((both.mean_loss() - (1.0 - 0.9 * 0.8)).abs() < 1e-12);
    let ([without, with, alone], c) =
        ([&single, &both, &alone].map(|config| arrivals(config, 2000).0), arrivals(&both, 2000).1);
    let expected: Vec<Pkt> = without.into_iter().filter(|packet| alone.contains(packet)).collect();
    assert_eq!(with, expected);
    assert_eq!((c.dropped_random, c.dropped_random + c.admitted), (c.dropped(), c.pushed));
}

/// The shares of damaged and duplicated packets match the probabilities. The original precedes its
/// copy, and the copy is intact and in order.
#[test]
fn damage_and_copies() {
    let (packets, share) = (20_000, 0.1);
    let faulty = LinkConfig { corrupt: share, duplicate: share, ..config(12, Limit::Unlimited, 5) };
    let (all, c) = arrivals(&faulty, packets);
    let sigma = (packets as f64 * share * (1.0 - share)).sqrt();
    for count in [c.corrupted, c.duplicated] {
        assert!((count.packets as f64 - packets as f64 * share).abs() < 4.0 * sigma, "{count:?}");
    }
    let damaged = all.iter().filter(|p| p.0 & DAMAGED > 0).count() as u64;
    assert_eq!((damaged, all.len() as u64), (c.corrupted.packets, packets + c.duplicated.packets));
    assert!(all.is_sorted_by_key(|p| p.0 & !DAMAGED));
    let twice: Vec<_> = all.windows(2).filter(|w| (w[0].0 ^ w[1].0) & !DAMAGED == 0).collect();
    assert_eq!(twice.len() as u64, c.duplicated.packets);
    assert!(twice.iter().all(|w| w[1].0 & DAMAGED == 0) && twice.iter().any(|w| w[0].0 & DAMAGED > 0));
}

/// Script of (gap in ns, size, whether to pop due packets).
fn scripts() -> impl Strategy<Value = Vec<(u64, u32, bool)>> {
    prop::collection::vec((prop_oneof![Just(0), 0..2_000_000_u64], 1..3000_u32, any::<bool>()), 1..300)
}

proptest! {
    /// Checks conservation, limits and Little's law on any link, for any script.
    #[test]
    fn any_link_any_script(config in configs(), script in scripts()) {
        let mut l = link(&config);
        let (mut now, mut popped, mut last) = (Time::ZERO, Count::default(), Time::ZERO);
        for (i, &(gap, size, pop)) in script.iter().enumerate() {
            now += Duration(gap);
            let _ = l.push(now, Pkt(i as u64, size));
            while let Some(packet) = pop.then(|| l.pop(now)).flatten() {
                popped.add(packet.size());
            }
            let counted = counted(&mut l, now);
            match config.limit {
                Limit::Packets(n) => prop_assert!(counted.packets <= n),
                Limit::Bytes(Bytes(n)) => prop_assert!(counted.bytes <= n),
                Limit::Unlimited => {}
            }
        }
        let c = l.counters(now);
        prop_assert_eq!(c.pushed.packets, script.len() as u64);
        prop_assert_eq!(c.pushed.bytes, script.iter().map(|s| u64::from(s.1)).sum::<u64>());
        prop_assert_eq!(c.pushed, c.admitted + c.dropped());
        prop_assert_eq!(c.delivered, popped);
        prop_assert_eq!((c.admitted + c.duplicated).packets - popped.packets, l.wire.len() as u64);
        prop_assert!(c.sojourn <= c.backlog_integral);

        while let Some(at) = l.next() {
            prop_assert!(at >= last);
            last = at;
            l.pop(at).unwrap();
        }
        let end = now.max(last) + Duration::from_secs(1);
        let c = l.counters(end);
        if l.wire.len() == 0 {
            prop_assert_eq!(c.admitted + c.duplicated, c.delivered);
        }
        if l.backlog(end) == Backlog::default() {
            prop_assert_eq!(c.sojourn, c.backlog_integral);
        }
    }

    /// Checks for panics and time order with values of any size.
    #[test]
    fn huge_values(
        rate in any::<u64>(), burst in any::<u64>(), delay in any::<u64>(), jitter in any::<u64>(),
        step in any::<u64>(), by in any::<u64>(),
        script in prop::collection::vec((any::<u64>(), any::<u32>()), 1..40),
    ) {
        let config = LinkConfig {
            rate: RateModel::Steps(vec![(Time(step), Rate(rate)), (Time(step / 2), Rate(rate % 1000))]),
            burst: Bytes(burst),
            delay: Duration(delay),
            delay_steps: Steps(vec![(Time(step), Duration(delay / 3)), (Time(step / 2), Duration(by))]),
            jitter: Duration(jitter),
            reorder: Some(Reorder { every: 2, by: Duration(by) }),
            ..LinkConfig::plain(Rate(0))
        };
        let mut l = link(&config);
        for (i, (now, size)) in script.into_iter().enumerate() {
            let _ = l.push(Time(now), Pkt(i as u64, size));
            let before = l.next();
            l.pop(Time(now));
            prop_assert!(l.next().is_none_or(|next| Some(next) >= before));
        }
        l.counters(Time::NEVER);
    }
}

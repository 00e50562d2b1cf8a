//! Tests of links with an AQM: common properties, and both implementations against each other.

use proptest::prelude::*;
use units::{Bytes, Duration, Rate};

use super::tests::{configs, counted, limit_steps, limits};
use super::*;
use crate::aqm::fixtures::{Pkt, ms};
use crate::aqm::{codel, dual_pi2, fq_codel, pie, red};
use crate::counters::{DropReason, QueueTime};
use crate::{AggregateModel, Aqm, Count, JitterOrder, Limit, LimitCounts, RateModel, Threshold};

const MBIT: u64 = 1_000_000;

fn config(mbit: u64, limit: Limit, aqm: Aqm) -> LinkConfig {
    LinkConfig { limit, aqm, ..LinkConfig::plain(Rate(mbit * MBIT)) }
}

fn link(config: &LinkConfig) -> Link<Pkt> {
    Link::new(config, 1, "l")
}

fn outcomes(link: &mut Link<Pkt>) -> Vec<PacketOutcome<Pkt>> {
    std::iter::from_fn(|| link.next_outcome()).collect()
}

/// A CoDel that never drops or marks.
fn inert() -> Aqm {
    Aqm::Codel(codel::Params { target: Duration::MAX, ..codel::Params::default() })
}

/// Returns all deliveries, each with its time.
fn drain(link: &mut Link<Pkt>) -> Vec<(Time, u64)> {
    let mut all = Vec::new();
    while let Some(at) = link.next() {
        while let Some(packet) = link.pop(at) {
            all.push((at, packet.id));
        }
    }
    all
}

#[test]
fn marks_and_drops_by_red_at_arrival() {
    let half = red::Params::mark_above(Threshold::OfLimit(0.5));
    let mut l = link(&config(12, Limit::Packets(10), Aqm::Red(half.clone())));
    let answers: Vec<_> =
        (0..12).map(|i| l.push(ms(0), Pkt::new(i, 1500).with_ecn(Ecn::Ect0)).is_ok()).collect();
    assert_eq!(answers, [[true; 11].as_slice(), &[false]].concat(), "drops only when ten wait");
    let c = l.counters(ms(0));
    assert_eq!(
        (c.marked.packets, c.dropped_full.packets, c.dropped_aqm.packets),
        (4, 1, 0),
        "the packets that find 6 to 9 waiting"
    );
    let ce = drain_marks(&mut l);
    assert_eq!(ce, [7, 8, 9, 10]);
    // Packets that are not ECN-capable pass with mark-only, and are dropped with mark and with
    // drop.
    for (action, ecn, taken) in [
        (red::Action::MarkOnly, Ecn::NotEct, 11),
        (red::Action::Mark, Ecn::NotEct, 7),
        (red::Action::Drop, Ecn::Ect0, 7),
    ] {
        let mut l = link(&config(12, Limit::Packets(10), Aqm::Red(red::Params { action, ..half.clone() })));
        let ok = (0..11).filter(|&i| l.push(ms(0), Pkt::new(i, 1500).with_ecn(ecn)).is_ok()).count();
        assert_eq!(ok, taken, "{action:?}");
        let c = l.counters(ms(0));
        assert_eq!((c.marked.packets, c.dropped_aqm.packets, c.pushed.packets), (0, 11 - taken as u64, 11));
    }
}

fn drain_marks(l: &mut Link<Pkt>) -> Vec<u64> {
    let mut ce = Vec::new();
    while let Some(at) = l.next() {
        ce.extend(l.pop(at).filter(|p| p.ecn() == Ecn::Ce).map(|p| p.id));
    }
    ce
}

#[test]
fn bleaching_hides_the_flow_from_the_aqm() {
    let aqm =
        Aqm::Red(red::Params { action: red::Action::Mark, ..red::Params::mark_above(Threshold::Packets(5)) });
    let mut l = link(&LinkConfig { bleach: true, ..config(12, Limit::Unlimited, aqm) });
    let dropped: Vec<_> =
        (0..10).filter_map(|i| l.push(ms(0), Pkt::new(i, 1500).with_ecn(Ecn::Ect1)).err()).collect();
    assert_eq!(dropped.len(), 3, "the packets find 0, 0, 1, 2 ... 8 waiting");
    assert!(dropped.iter().all(|d| d.reason == DropReason::Aqm && d.packet.ecn() == Ecn::NotEct));
    assert_eq!(l.counters(ms(0)).marked, Count::default());
    assert_eq!(l.pop(ms(1)).map(|p| p.ecn()), Some(Ecn::NotEct));
    let mut l = link(&LinkConfig { bleach: true, ..config(12, Limit::Unlimited, Aqm::default()) });
    l.push(ms(0), Pkt::new(0, 1500).with_ecn(Ecn::Ce)).unwrap();
    assert_eq!(l.pop(ms(1)).map(|p| p.ecn()), Some(Ecn::NotEct), "with drop-tail too");
}

/// The packet in transmission is out of the discipline's reach. Its time in the queue is reported
/// when transmission begins.
#[test]
fn outcomes_come_in_order() {
    let mut l = link(&config(12, Limit::Packets(2), inert()));
    for i in 0..4 {
        let answer = l.push(ms(0), Pkt::new(i, 1500));
        assert_eq!(answer.is_ok(), i < 3);
        assert_eq!(answer.map_or(None, |a| a.queue_time), None);
    }
    let span = Duration::from_millis;
    let departs =
        |n| PacketOutcome::Departs { flow: 0, queue_time: QueueTime { wait: span(n - 1), total: span(n) } };
    assert_eq!(outcomes(&mut l), [departs(1)]);
    assert_eq!(l.backlog(ms(0)).packets, 3);
    assert_eq!((l.next(), l.pop(ms(0))), (Some(ms(1)), None));
    assert_eq!(drain(&mut l), [(ms(1), 0), (ms(2), 1), (ms(3), 2)]);
    assert_eq!(outcomes(&mut l), [departs(2), departs(3)]);
}

/// A packet dropped by CoDel was admitted and no longer is. Little's law counts its time until the
/// drop.
#[test]
fn drops_at_departure_are_reported_and_counted() {
    let mut l = link(&config(12, Limit::Unlimited, Aqm::Codel(codel::Params::default())));
    let (mut dropped, mut departed) = (0, 0);
    for now in 0..2000 {
        for id in 0..2 {
            assert!(l.push(ms(now), Pkt::new(id, 1500).with_flow(9)).is_ok());
        }
        for outcome in outcomes(&mut l) {
            match outcome {
                PacketOutcome::Departs { flow, .. } => departed += u64::from(flow == 9),
                PacketOutcome::Dropped(d) => {
                    dropped += u64::from(d.reason == DropReason::Aqm && d.packet.flow() == 9);
                }
            }
        }
    }
    let c = l.counters(ms(1999));
    assert_eq!((c.dropped_aqm.packets, c.pushed.packets), (dropped, 4000));
    assert_eq!(c.admitted.packets, 4000 - dropped);
    assert!(dropped > 50 && departed == 2000, "{dropped} {departed}");
    drain(&mut l);
    let c = l.counters(ms(10_000));
    assert_eq!((c.delivered, c.sojourn), (c.admitted, c.backlog_integral));
}

#[test]
fn only_drop_tail_counts_propagation() {
    for aqm in Aqm::all() {
        let config =
            LinkConfig { limit_counts: LimitCounts::QueueAndDelay, ..config(12, Limit::Packets(9), aqm) };
        let refused = config.check().is_err_and(|wrong| wrong.contains(config.aqm.name()));
        assert_eq!(refused, config.aqm != Aqm::default());
    }
    let half = Aqm::Red(red::Params::mark_above(Threshold::OfLimit(0.5)));
    assert!(config(12, Limit::Unlimited, half).check().unwrap_err().contains("`min` and `max`"));
}

#[test]
fn reads_experiment_files() {
    let text = "rate = '25 Mbit/s'\nlimit = '125 kB'\nbleach = true\n\
        aqm = { name = 'pie', target = '20 ms', delay = 'timestamp' }";
    let read: LinkConfig = toml::from_str(text).unwrap();
    let params =
        pie::Params { target: Duration::from_millis(20), delay: pie::Delay::Timestamp, ..Default::default() };
    assert_eq!((read.aqm.clone(), read.bleach), (Aqm::Pie(params), true));
    assert_eq!(toml::from_str::<LinkConfig>(&toml::to_string(&read).unwrap()).unwrap(), read);
}

#[test]
fn same_seed_same_run_and_streams_apart() {
    let run = |seed, loss| {
        let mut config = config(12, Limit::Packets(60), Aqm::Pie(pie::Params::default()));
        config.loss = loss;
        let mut l: Link<Pkt> = Link::new(&config, seed, "l");
        for now in 0..3000 {
            for id in 0..1 + now % 2 {
                let _ = l.push(ms(now), Pkt::new(2 * now + id, 1500));
            }
        }
        drain(&mut l)
    };
    assert_eq!(run(1, 0.0), run(1, 0.0));
    assert_ne!(run(1, 0.0), run(2, 0.0));
    assert_ne!(run(1, 0.0), run(1, 0.01));
}

/// A burst of tokens lets packets pass a discipline at once, as it does a FIFO.
#[test]
fn what_passes_on_tokens_was_never_in_the_backlog() {
    let mut l = link(&LinkConfig { burst: Bytes(3000), ..config(12, Limit::Packets(1), inert()) });
    let taken: Vec<_> = (0..4).map(|i| l.push(Time(5), Pkt::new(i, 1500)).is_ok()).collect();
    assert_eq!(taken, [true, true, true, false]);
    assert_eq!(l.counters(Time(5)).max_backlog, Count { packets: 1, bytes: 1500 });
}

fn thresholds() -> impl Strategy<Value = Threshold> {
    prop_oneof![
        (0..30_u64).prop_map(Threshold::Packets),
        (0..40_000_u64).prop_map(|b| Threshold::Bytes(Bytes(b))),
        (0.0..=1.0_f64).prop_map(Threshold::OfLimit),
    ]
}

prop_compose! {
    fn reds()(
        min in thresholds(), max in thresholds(), max_p in 0.0..=1.0_f64, weight in prop_oneof![Just(1.0), 0.0..1.0_f64],
        gentle in any::<bool>(), by_bytes in any::<bool>(),
        action in prop_oneof![Just(red::Action::Drop), Just(red::Action::Mark), Just(red::Action::MarkOnly)],
    ) -> Aqm {
        Aqm::Red(red::Params { min, max, max_p, weight, gentle, by_bytes, action, mean_packet: Bytes(1000) })
    }
}

/// Short times, so that scripts of a few milliseconds reach every state.
fn aqms() -> impl Strategy<Value = Aqm> {
    let span = || (0..3_000_000_u64).prop_map(Duration);
    let codels = (span(), span(), any::<bool>(), 0..3000_u64)
        .prop_map(|(target, interval, ecn, mtu)| codel::Params { target, interval, ecn, mtu: Bytes(mtu) });
    let fqs = (codels.clone(), 0..5_u32, 0..4000_u64, 0..60_u64, 0..5_u64).prop_map(
        |(codel, flows, quantum, limit, drop_batch)| fq_codel::Params {
            target: codel.target,
            interval: codel.interval,
            mtu: codel.mtu,
            ecn: codel.ecn,
            flows,
            quantum: Bytes(quantum),
            limit,
            drop_batch,
        },
    );
    let pies = (span(), span(), 0.0..100.0_f64, 0.0..100.0_f64, any::<bool>(), any::<bool>()).prop_map(
        |(target, t_update, alpha, beta, ecn, stamps)| pie::Params {
            target,
            t_update,
            alpha,
            beta,
            ecn,
            max_burst: target,
            delay: if stamps { pie::Delay::Timestamp } else { pie::Delay::DepartureRate },
            ..pie::Params::default()
        },
    );
    let duals = (span(), span(), 0.0..100.0_f64, 0.0..100.0_f64, 0.0..9.0_f64, 0.0..=1.0_f64).prop_map(
        |(target, t_update, alpha, beta, k, c_share)| dual_pi2::Params {
            target,
            t_update,
            alpha,
            beta,
            k,
            c_share,
            ..dual_pi2::Params::default()
        },
    );
    prop_oneof![
        reds(),
        codels.prop_map(Aqm::Codel),
        fqs.prop_map(Aqm::FqCodel),
        pies.prop_map(Aqm::Pie),
        duals.prop_map(Aqm::DualPi2),
    ]
}

/// Script of (gap in ns, size, ECN field, flow, whether to pop due packets).
fn scripts() -> impl Strategy<Value = Vec<(u64, u32, Ecn, u32, bool)>> {
    let ecn = prop_oneof![Just(Ecn::NotEct), Just(Ecn::Ect0), Just(Ecn::Ect1), Just(Ecn::Ce)];
    let gap = prop_oneof![Just(0), 0..2_000_000_u64];
    prop::collection::vec((gap, 1..3000_u32, ecn, 0..6_u32, any::<bool>()), 1..300)
}

/// Returns the deliveries up to `until`, each with its time and ECN field.
fn delivered(link: &mut Link<Pkt>, until: Time) -> Vec<(Time, u64, Ecn)> {
    let mut all = Vec::new();
    while let Some(at) = link.next().filter(|at| *at <= until) {
        all.extend(link.pop(at).map(|packet| (at, packet.id, packet.ecn())));
    }
    all
}

/// With an order of the flows, one flow's packets overtake another's, and each flow keeps its own
/// order, behind either implementation.
#[test]
fn flows_keep_their_own_order() {
    let jitter = Duration::from_millis(20);
    for aqm in [Aqm::default(), inert()] {
        let of_flows =
            LinkConfig { jitter, jitter_order: JitterOrder::Flow, ..config(12, Limit::Unlimited, aqm) };
        let mut l = link(&of_flows);
        assert!(l.transit(ms(0), 100, Ecn::NotEct).is_none(), "the link must keep the packets");
        for id in 0..1000 {
            assert!(l.push(ms(id), Pkt::new(id, 1500).with_flow(id as u32 % 4)).is_ok());
        }
        let order: Vec<u64> = drain(&mut l).iter().map(|delivered| delivered.1).collect();
        assert!(!order.is_sorted());
        for flow in 0..4 {
            assert!(order.iter().filter(|id| *id % 4 == flow).is_sorted(), "flow {flow}");
        }
    }
}

/// A discipline gives up the packets of an aggregate when it begins, and no others: of 20 packets
/// that wait, 8 leave together and follow each other, and one that arrives meanwhile waits.
#[test]
fn an_aggregate_leaves_at_once() {
    let rate = RateModel::Aggregates(AggregateModel {
        gap: Duration::from_millis(1),
        aggregate: Limit::Packets(8),
        ..AggregateModel::plain(Rate(12 * MBIT))
    });
    let codel = LinkConfig { rate: rate.clone(), ..config(1, Limit::Packets(20), inert()) };
    for config in [LinkConfig { aqm: Aqm::default(), ..codel.clone() }, codel] {
        let mut l = link(&config);
        let taken =
            |l: &mut Link<Pkt>, at, n| (0..n).filter(|id| l.push(at, Pkt::new(*id, 1500)).is_ok()).count();
        assert_eq!(taken(&mut l, ms(0), 21), 20, "all wait for the gap and count");
        assert_eq!(counted(&mut l, ms(1)), Count { packets: 12, bytes: 12 * 1500 });
        assert_eq!(taken(&mut l, ms(2), 9), 8, "the packets of the aggregate no longer count");
        assert_eq!(counted(&mut l, ms(9)).packets, 20, "the next has not begun");
        assert_eq!(counted(&mut l, ms(10)).packets, 12);
        let left: Vec<_> = drain(&mut l).iter().map(|d| d.0.0 / 1_000_000).collect();
        let closed: Vec<u64> = (0..28).map(|i| 9 * (i / 8) + 2 + i % 8).collect();
        assert_eq!(left, closed, "{}", config.aqm.name());
    }
}

proptest! {
    /// A packet that the caller keeps is marked, lost, delayed and delivered like one that the link
    /// keeps, behind drop-tail and RED. The counters agree at any time.
    #[test]
    fn kept_by_caller_or_link(
        link in configs(), red in prop::option::of(reds()), bleach in any::<bool>(), script in scripts(), after in 0..30_000_000_u64,
    ) {
        let (limit_counts, aqm) = match red {
            Some(red) => (LimitCounts::Queue, red),
            None => (link.limit_counts, Aqm::default()),
        };
        let jitter_order = JitterOrder::Link;
        let config =
            LinkConfig { reorder: None, corrupt: 0.0, duplicate: 0.0, bleach, limit_counts, aqm, jitter_order, ..link };
        let (mut keeps, mut carries) = (self::link(&config), self::link(&config));
        let (mut now, mut kept, mut carried) = (Time::ZERO, Vec::new(), Vec::new());
        for (id, &(gap, size, ecn, _, look)) in (0..).zip(&script) {
            now += Duration(gap);
            kept.extend(delivered(&mut keeps, now));
            let pushed = keeps.push(now, Pkt::new(id, size).with_ecn(ecn));
            let taken = carries.transit(now, size, ecn).expect("the link changes nothing but the ECN field");
            prop_assert_eq!(pushed.map(|a| a.queue_time).map_err(|d| d.reason), taken.map(|c| Some(c.queue_time)));
            if let Ok(Transit { delivery, ecn, .. }) = taken {
                let is_last = carried.last().is_none_or(|last: &(Time, u64, Ecn)| last.0 < delivery);
                prop_assert!(is_last || delivery == Time::NEVER);
                carried.push((delivery, id, ecn));
            }
            if look {
                now += Duration(after);
                kept.extend(delivered(&mut keeps, now));
                prop_assert_eq!(keeps.counters(now), carries.counters(now));
                prop_assert_eq!(keeps.backlog(now), carries.backlog(now));
            }
        }
        kept.extend(delivered(&mut keeps, Time(u64::MAX - 1)));
        carried.retain(|(at, ..)| *at < Time::NEVER);
        prop_assert_eq!(kept, carried);
        prop_assert_eq!(carries.next(), None);
    }

    /// Checks conservation, limits, outcomes and Little's law with any AQM on any link, for any
    /// script.
    #[test]
    fn any_aqm_any_link_any_script(
        link in configs(), aqm in aqms(), bleach in any::<bool>(), limit in limits(), script in scripts(),
    ) {
        let config = LinkConfig { aqm, bleach, limit, limit_counts: LimitCounts::Queue, ..link };
        let mut l = self::link(&config);
        let (mut now, mut refused, mut sizes, mut marks) = (Time::ZERO, 0, 0, 0);
        for (i, &(gap, size, ecn, flow, pop)) in script.iter().enumerate() {
            now += Duration(gap);
            sizes += u64::from(size);
            refused += u64::from(l.push(now, Pkt::new(i as u64, size).with_ecn(ecn).with_flow(flow)).is_err());
            while pop && l.pop(now).is_some() {}
            let counted = counted(&mut l, now);
            match config.limit {
                Limit::Packets(n) => prop_assert!(counted.packets <= n),
                Limit::Bytes(Bytes(n)) => prop_assert!(counted.bytes <= n),
                Limit::Unlimited => {}
            }
        }
        let mut last = Time::ZERO;
        while let Some(at) = l.next() {
            prop_assert!(at >= last);
            last = at;
            while let Some(packet) = l.pop(last) {
                marks += u64::from(packet.ecn() == Ecn::Ce && script[packet.id as usize].2 != Ecn::Ce);
                prop_assert!(!config.bleach || packet.ecn() == Ecn::NotEct);
            }
            prop_assert!(l.next().is_none_or(|next| next > last), "moves on");
        }
        let end = now.max(last) + Duration::from_secs(1);
        let c = l.counters(end);
        prop_assert_eq!((c.pushed.packets, c.pushed.bytes), (script.len() as u64, sizes));
        prop_assert_eq!(c.pushed, c.admitted + c.dropped());
        prop_assert!(marks <= c.marked.packets + c.duplicated.packets);
        prop_assert!(c.sojourn <= c.backlog_integral);
        let (mut departed, mut dropped) = (0, 0);
        for outcome in outcomes(&mut l) {
            match outcome {
                PacketOutcome::Departs { .. } => departed += 1,
                PacketOutcome::Dropped(_) => dropped += 1,
            }
        }
        prop_assert_eq!(refused + dropped, c.dropped().packets);
        if l.backlog(end) == Backlog::default() {
            prop_assert_eq!(c.delivered, c.admitted + c.duplicated);
            prop_assert_eq!(c.sojourn, c.backlog_integral);
            if !matches!(config.aqm, Aqm::Red(_)) {
                prop_assert_eq!(departed, c.admitted.packets);
            }
        }
    }

    /// Both implementations are the same FIFO. A discipline that never drops or marks delivers
    /// every packet at the nanosecond that the analytic link predicted, with the same counters.
    #[test]
    fn an_inert_discipline_is_drop_tail(
        link in configs(), limit_steps in limit_steps(), script in scripts(),
    ) {
        let plain = LinkConfig { limit_counts: LimitCounts::Queue, limit_steps, ..link };
        let (mut analytic, mut events) = (self::link(&plain), self::link(&LinkConfig { aqm: inert(), ..plain }));
        let (mut now, mut delays) = (Time::ZERO, Vec::new());
        for (i, &(gap, size, ecn, flow, pop)) in script.iter().enumerate() {
            now += Duration(gap);
            let packet = Pkt::new(i as u64, size).with_ecn(ecn).with_flow(flow);
            let (a, b) = (analytic.push(now, packet), events.push(now, packet));
            prop_assert_eq!(a.as_ref().err(), b.as_ref().err());
            delays.extend(a.ok().and_then(|a| a.queue_time));
            while let Some(packet) = pop.then(|| analytic.pop(now)).flatten() {
                prop_assert_eq!(events.pop(now), Some(packet));
            }
            prop_assert_eq!(analytic.backlog(now), events.backlog(now));
            // Damage and copies are drawn when the delivery is known.
            let known = |c: Counters| Counters { corrupted: c.admitted, duplicated: c.admitted, ..c };
            prop_assert_eq!(known(analytic.counters(now)), known(events.counters(now)));
        }
        let (a, b) = (drain(&mut analytic), drain(&mut events));
        prop_assert!(a.len() >= b.len());
        // At rate zero the rest waits forever, in the discipline instead of on the wire.
        prop_assert_eq!(&a[..], &b[..]);
        let end = b.last().map_or(now, |d| d.0.max(now));
        prop_assert_eq!(analytic.counters(end), events.counters(end));
        let told: Vec<_> = outcomes(&mut events)
            .into_iter()
            .map(|outcome| match outcome {
                PacketOutcome::Departs { queue_time, .. } => queue_time,
                PacketOutcome::Dropped(_) => QueueTime::default(),
            })
            .collect();
        prop_assert_eq!(&delays[..told.len()], &told[..]);
    }

    /// Checks for panics with values of any size.
    #[test]
    fn huge_values(aqm in aqms(), rate in any::<u64>(), times in prop::collection::vec(any::<u64>(), 1..12)) {
        let mut l = link(&LinkConfig { aqm, ..LinkConfig::plain(Rate(rate)) });
        for time in times {
            let _ = l.push(Time(time), Pkt::new(time, u32::MAX).with_ecn(Ecn::Ect1));
            l.pop(Time(time));
        }
        l.counters(Time::NEVER);
    }
}

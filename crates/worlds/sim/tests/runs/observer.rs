//! Senders act ahead of time where only known acknowledgements determine their actions. A sample
//! observes every flow, and no flow is ahead of it: with one every 50 us no flow can run ahead.
//! Observation must change nothing.

use crate::common::*;

use ackclock_sim::run_with_guests;
use congestion::{Algorithm, Registry};
use link::aqm::{codel, dual_pi2, fq_codel, pie};
use link::{Aqm, LinkConfig, RateModel, Reorder};
use scenario::trace::Trace;
use scenario::{
    Back, End, FlowConfig, Guests, Outcome, Record, Recorder, Route, RunLength, Scenario, Series, Watch,
};
use units::{Duration, Rate, Time};

const MS: Duration = Duration::from_millis(1);
/// Sampling interval, and the factor by which the other observer samples more often.
const EACH: Duration = MS;
const FINER: usize = 20;

/// Returns everything known of a flow at the end, including its packet events.
fn all(record: &Record) -> String {
    let Record { totals, trace, far_trace, delivered, ecn, stats, started, finished, .. } = record;
    let windows =
        (record.slow_start_window, record.reductions, record.least_window, &record.media, &record.objects);
    format!(
        "{totals:?} {trace:?} {far_trace:?} {delivered} {ecn:?} {stats:?} {started:?} {finished:?} {windows:?}"
    )
}

fn same(what: &str, a: &Outcome, b: &Outcome) {
    for (i, (a, b)) in a.flows.iter().zip(&b.flows).enumerate() {
        assert!(a.stats.sent > 5, "{what}: flow {i} sends {} packets", a.stats.sent);
        assert!(all(a) == all(b), "{what}: flow {i} differs when it is observed");
    }
    assert_eq!((&a.link, &a.carried), (&b.link, &b.carried), "{what}");
    assert_eq!(a.end, b.end, "{what}");
    for (a, b) in a.windows.iter().zip(&b.windows) {
        assert_eq!(format!("{a:?}"), format!("{b:?}"), "{what}");
    }
}

/// Column of both runs, and the value that many samples of it combine to.
type Column<'a> = (&'static str, &'a RunLength, &'a RunLength, fn(&[f64]) -> Option<f64>);

/// Compares samples of two runs, one of which was sampled more often.
fn same_samples(what: &str, seldom: &Outcome, often: &Outcome) {
    for (i, (seldom, often)) in seldom.series.flows.iter().zip(&often.series.flows).enumerate() {
        let last = |values: &[f64]| values.last().copied();
        let newest = |values: &[f64]| values.iter().rev().find(|value| !value.is_nan()).copied();
        let mean = |values: &[f64]| Some(values.iter().sum::<f64>() / values.len() as f64);
        // A flow that is done has no delay, not even of its last packet.
        let runs = seldom.cwnd.to_vec();
        let columns: [Column<'_>; 8] = [
            ("cwnd", &seldom.cwnd, &often.cwnd, last),
            ("bytes in flight", &seldom.bytes_in_flight, &often.bytes_in_flight, last),
            ("smoothed RTT", &seldom.smoothed_rtt_ms, &often.smoothed_rtt_ms, last),
            ("latest RTT", &seldom.latest_rtt_ms, &often.latest_rtt_ms, last),
            ("delay", &seldom.owd_ms, &often.owd_ms, newest),
            ("losses", &seldom.lost_packets, &often.lost_packets, last),
            ("marks", &seldom.ce_packets, &often.ce_packets, last),
            ("goodput", &seldom.goodput_mbit_s, &often.goodput_mbit_s, mean),
        ];
        for (name, seldom, often, of) in columns {
            let (seldom, often) = (seldom.to_vec(), often.to_vec());
            assert_eq!(seldom.len(), often.len() / FINER, "{what}: {name} of flow {i}");
            for (at, (one, many)) in seldom.iter().zip(often.chunks(FINER)).enumerate() {
                let many = of(many).filter(|_| name == "goodput" || !runs[at].is_nan()).unwrap_or(f64::NAN);
                let same = (one.is_nan() && many.is_nan()) || (one - many).abs() <= 1e-9 * one.abs();
                assert!(same, "{what}: {name} of flow {i}, sample {at}: {one}, sampled more often {many}");
            }
        }
    }
}

fn watched(what: &str, mut scenario: Scenario) {
    scenario.trace = true;
    scenario.measure = Some((Time::from_millis(700), Time::from_millis(3900)));
    scenario.windows = vec![("early".to_owned(), Time::from_millis(331), Time::from_millis(1007))];
    let alone = run(&scenario);
    scenario.series = Some(EACH / FINER as u64);
    let often = run(&scenario);
    same(what, &alone, &often);
    scenario.series = Some(EACH);
    let seldom = run(&scenario);
    same(what, &alone, &seldom);
    same_samples(what, &seldom, &often);
    assert!(alone.link.dropped().packets > 0, "{what}: nothing is lost");
}

/// Returns flows that begin one after the other: one with a longer path, one that is stopped, one
/// with an end, one in bursts, one that pauses.
fn flows(algorithm: &Algorithm) -> Vec<FlowConfig> {
    let changed = |flow: FlowConfig, change: fn(&mut FlowConfig)| {
        let mut flow = FlowConfig { algorithm: algorithm.clone(), ..flow };
        change(&mut flow);
        flow
    };
    let quic = || quic_flow("name = 'cubic'");
    let tcp = || tcp_flow("name = 'cubic'");
    vec![
        changed(quic(), |flow| flow.handshake = true),
        changed(tcp(), |flow| flow.start = Time::from_millis(13)),
        changed(quic(), |flow| flow.rtt = MS * 120),
        changed(tcp(), |flow| flow.stop = Some(Time::from_millis(2500))),
        changed(quic(), |flow| flow.transfer = Some(400_000)),
        changed(quic(), |flow| flow.recovery.paced = recovery::Paced::Never),
        changed(tcp(), |flow| flow.ack.ack_every = 1.into()),
        changed(quic(), |flow| flow.pauses = vec![(Time::from_millis(900), Time::from_millis(1300))]),
    ]
}

#[test]
fn with_every_controller() {
    for entry in Registry::default().iter() {
        watched(entry.name, scenario(0.6, 5, flows(&entry.algorithm())));
    }
}

#[test]
fn on_every_link() {
    let cubic = algorithm("name = 'cubic'");
    let on = |change: &dyn Fn(&mut LinkConfig)| {
        let mut scenario = scenario(0.6, 5, flows(&cubic));
        change(&mut scenario.link);
        scenario
    };
    watched("CoDel", on(&|link| link.aqm = Aqm::Codel(codel::Params::default())));
    watched("FQ-CoDel", on(&|link| link.aqm = Aqm::FqCodel(fq_codel::Params::default())));
    watched("PIE", on(&|link| link.aqm = Aqm::Pie(pie::Params::default())));
    watched("DualPI2", on(&|link| link.aqm = Aqm::DualPi2(dual_pi2::Params::default())));
    watched("jitter", on(&|link| link.jitter = MS * 3));
    watched("reordering", on(&|link| link.reorder = Some(Reorder { every: 20, by: MS * 5 })));
    watched("duplicates", on(&|link| (link.duplicate, link.corrupt) = (0.01, 0.01)));
    watched("no delay back", on(&|link| link.delay = RTT));
}

#[test]
fn on_more_links() {
    let cubic = algorithm("name = 'cubic'");
    let mut chain = scenario(0.6, 5, flows(&cubic));
    chain.beyond = vec![LinkConfig { delay: MS * 5, ..LinkConfig::plain(Rate(8_000_000)) }];
    chain.flows[1].route = Route { first: 1, last: u16::MAX };
    watched("a chain", chain);
    let mut back = scenario(0.6, 5, flows(&cubic));
    back.reverse = vec![LinkConfig { delay: MS * 10, ..LinkConfig::plain(Rate(1_000_000)) }];
    back.reverse_names = vec!["reverse".to_owned()];
    for flow in &mut back.flows[..4] {
        flow.back = Some(Back { route: Route { first: 1, last: u16::MAX }, size: 80 });
    }
    watched("a way back", back);
    let mut late = scenario(0.6, 5, flows(&cubic));
    late.flows[..4].iter_mut().for_each(|flow| flow.ack.jitter = MS * 4);
    watched("late acknowledgements", late);
}

/// Only a few packets on a long path, so that edges pass without an event: several windows, one in
/// a run that ends later, one of a flow that has ended while its queue drains. Each counts the
/// packets that left the link in it.
#[test]
fn windows_whose_edges_have_no_event() {
    let ms = Time::from_millis;
    let windows = [(0, 20), (5, 900), (0, 6), (3, 900), (0, 7), (700, 900), (30, 2950)];
    for (duration, stop) in [(900, None), (900, Some(30)), (3000, None), (3000, Some(30))] {
        let mut flow = quic_flow("name = 'fixed-window'\nwindow = 60");
        flow.rtt = MS * 2000;
        flow.recovery.paced = recovery::Paced::Never;
        flow.stop = stop.map(ms);
        let mut later = FlowConfig { start: ms(2200), ..flow.clone() };
        later.stop = None;
        let mut scenario = scenario(20.0, 5, vec![flow, later]);
        scenario.link.delay = MS * 500;
        scenario.duration = MS * duration;
        scenario.windows =
            windows.iter().map(|(from, to)| (format!("{from} {to}"), ms(*from), ms(*to))).collect();
        let alone = run(&scenario);
        scenario.series = Some(MS / 20);
        let watched = run(&scenario);
        for ((alone, watched), (from, to)) in alone.windows.iter().zip(&watched.windows).zip(windows) {
            let what = format!("{duration} ms, stopped at {stop:?}, window from {from} to {to}");
            assert_eq!(alone.carried, watched.carried, "{what}");
            assert_eq!(format!("{alone:?}"), format!("{watched:?}"), "{what}");
        }
        // Sixty packets of 1294 bytes leave one after another, a millisecond and 35 us each.
        let until = |time: u64| (time * 1_000_000 / 1_035_200).min(60) * 1294;
        assert_eq!(alone.windows[2].carried, [until(6)], "{duration} ms");
        assert_eq!(alone.windows[1].carried, [until(900) - until(5)], "{duration} ms");
    }
}

/// With three packets in flight and many flows, a sender processes the acknowledgements of a whole
/// round trip in one turn: 0.64 turns a packet. With those of half a round trip there were 0.94.
#[test]
fn a_turn_takes_a_round_trip() {
    let flow = || FlowConfig { rtt: MS * 100, ..tcp_flow("name = 'fixed-window'\nwindow = 3") };
    let flows = (0..300).map(|n| FlowConfig { start: Time::from_millis(n), ..flow() }).collect();
    let mut scenario = scenario(10.0, 20, flows);
    scenario.link.rate = RateModel::Constant(Rate(75_000_000));
    scenario.link.delay = MS * 50;
    let outcome = run(&scenario);
    let packets = outcome.link.delivered.packets;
    assert!(4 * outcome.events < 3 * packets, "{} turns for {packets} packets", outcome.events);
}

/// Records the number of samples handed over at once.
#[derive(Default)]
struct Parts(Vec<usize>);

impl Recorder for Parts {
    fn series(&mut self, part: Series) {
        self.0.push(part.times.len());
    }

    fn events(&mut self, _: usize, _: End, _: &Trace) {}
}

/// The division of samples into parts shows in the order of rows. It depends on their number, and
/// not on the number of turns in a run.
#[test]
fn samples_are_handed_over_by_their_number() {
    for controller in ["name = 'fixed-window'\nwindow = 3", "name = 'cubic'"] {
        let mut scenario = scenario(1.0, 34, vec![quic_flow(controller), tcp_flow("name = 'cubic'")]);
        scenario.series = Some(MS);
        let mut parts = Parts::default();
        run_with_guests(&scenario, Guests::new(), &Watch::default(), Some(&mut parts)).unwrap();
        assert_eq!(parts.0, [(1 << 16) / 2, 34_000 - (1 << 16) / 2]);
    }
}

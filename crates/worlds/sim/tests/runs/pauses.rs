//! Pauses change nothing: a simulation that pauses gives the same outcome, bit for bit, as one that
//! runs at once.

use crate::common::*;
use ackclock_sim::{Simulation, run_with_guests};
use congestion::Registry;
use link::aqm::{codel, dual_pi2, fq_codel, pie};
use link::{Aqm, LinkConfig, Reorder};
use proptest::prelude::*;
use scenario::{
    Application, Back, FlowConfig, Guests, MediaConfig, ObjectsConfig, Outcome, ProbeConfig, Record, Route,
    RunLength, Scenario, Series, UdpConfig, Watch,
};
use units::{Bytes, Duration, Rate, Time};

const MS: Duration = Duration::from_millis(1);

/// Number of kinds of flows, and of links.
const FLOWS: usize = 10;
const LINKS: usize = 11;

/// Returns a flow of this kind, with this controller unless it has one of its own.
fn flow(kind: usize, controller: &str) -> FlowConfig {
    let name = format!("name = '{controller}'");
    let (quic, tcp) = (quic_flow(&name), tcp_flow(&name));
    let media = MediaConfig {
        fps: 30,
        min_rate: Rate(150_000),
        max_rate: Rate(2_500_000),
        start_rate: Rate(300_000),
        reaction: MS * 100,
        variation: 0.2,
        key_frames: None,
        audio: Rate(20_000),
        max_queue: MS * 300,
    };
    let objects = ObjectsConfig {
        smallest: Bytes(10_000),
        largest: Bytes(200_000),
        idle: MS * 100,
        begins_on: true,
        connection: scenario::Connection::New,
    };
    match kind {
        0 => quic,
        1 => tcp,
        2 => FlowConfig { handshake: true, transfer: Some(300_000), ..quic },
        3 => FlowConfig { application: Application::Media(media), ..quic_flow("name = 'gcc'") },
        4 => FlowConfig { application: Application::OnOff(objects), handshake: true, ..quic },
        5 => FlowConfig { pauses: vec![(Time::from_millis(600), Time::from_millis(900))], ..quic },
        6 => {
            let mut late = quic;
            late.ack.jitter = MS * 4;
            late
        }
        7 => FlowConfig { start: Time::from_millis(13), stop: Some(Time::from_millis(1500)), ..tcp },
        8 => {
            let mut burst = FlowConfig { rtt: MS * 120, ..quic };
            burst.recovery.paced = recovery::Paced::Never;
            burst
        }
        _ => FlowConfig { back: Some(Back { route: Route { first: 2, last: u16::MAX }, size: 80 }), ..tcp },
    }
}

fn shape(kind: usize, scenario: &mut Scenario) {
    let link = &mut scenario.link;
    match kind {
        0 => {}
        1 => link.aqm = Aqm::Codel(codel::Params::default()),
        2 => link.aqm = Aqm::FqCodel(fq_codel::Params::default()),
        3 => link.aqm = Aqm::Pie(pie::Params::default()),
        4 => link.aqm = Aqm::DualPi2(dual_pi2::Params::default()),
        5 => link.jitter = MS * 3,
        6 => link.reorder = Some(Reorder { every: 20, by: MS * 5 }),
        7 => (link.duplicate, link.corrupt) = (0.01, 0.01),
        8 => link.loss = 0.01,
        9 => link.delay = MS * 10,
        _ => {
            scenario.probe =
                Some(ProbeConfig { interval: MS * 20, size: 64, route: Route::ALL, back: None, rtt: RTT });
            scenario.udp = vec![UdpConfig {
                label: "udp".to_owned(),
                rate: vec![(Time::ZERO, Rate(1_000_000))],
                on_off: None,
                route: Route::ALL,
                size: 1000,
                start: Time::from_millis(100),
                stop: None,
            }];
        }
    }
}

/// Returns a scenario of these flows, on two links and back over a third.
fn mixed(link: usize, flows: &[(usize, usize)], traced: bool) -> Scenario {
    let registry = Registry::default();
    let names: Vec<&str> = registry.iter().map(|entry| entry.name).collect();
    let flows = flows.iter().map(|(kind, controller)| flow(*kind, names[controller % names.len()]));
    let mut scenario = scenario(0.6, 2, flows.collect());
    // One link, unless a flow needs the way back: only then may packets stay with their flow.
    if scenario.flows.iter().any(|flow| flow.back.is_some()) {
        scenario.link.delay = MS * 15;
        scenario.beyond = vec![LinkConfig { delay: MS * 5, ..LinkConfig::plain(Rate(20_000_000)) }];
        scenario.reverse = vec![LinkConfig { delay: MS * 10, ..LinkConfig::plain(Rate(1_000_000)) }];
        scenario.reverse_names = vec!["reverse".to_owned()];
    }
    shape(link, &mut scenario);
    scenario.series = Some(MS * 7);
    scenario.windows = vec![("early".to_owned(), Time::from_millis(331), Time::from_millis(1007))];
    scenario.trace = traced;
    scenario
}

/// Pauses at these times, with two snapshots at each.
fn paused(scenario: &Scenario, times: impl IntoIterator<Item = Time>) -> Outcome {
    let mut simulation = Simulation::new(scenario, Guests::new());
    for time in times {
        assert!(simulation.step(time, &Watch::default(), &mut None));
        let (once, again) = (simulation.snapshot(), simulation.snapshot());
        assert_eq!(format!("{once:?}"), format!("{again:?}"));
        assert!(simulation.is_done() || simulation.now() == time);
    }
    assert!(simulation.step(Time::NEVER, &Watch::default(), &mut None));
    assert!(simulation.is_done());
    simulation.finish()
}

/// Returns everything in an outcome except the number of events.
fn all(outcome: &Outcome) -> String {
    format!("{:?}", Outcome { events: 0, ..outcome.clone() })
}

/// Returns the time of every packet event, and the nanosecond before it, in order.
fn event_times(flows: &[Record]) -> Vec<Time> {
    let traces = flows.iter().flat_map(|flow| [&flow.trace, &flow.far_trace]).flatten();
    let mut times: Vec<Time> =
        traces.flatten().flat_map(|(at, _)| [Time(at.0.saturating_sub(1)), *at]).collect();
    times.sort_unstable();
    times.dedup();
    times
}

fn every(interval: Duration, end: Time) -> impl Iterator<Item = Time> {
    (1..).map(move |n| Time::ZERO + interval * n).take_while(move |time| *time < end)
}

fn pauses_change_nothing(scenario: &Scenario, random: &[u64]) {
    let whole = run(scenario);
    let traced = run(&Scenario { trace: true, ..scenario.clone() });
    let expected = all(&whole);
    let same = |what: &str, outcome: Outcome| {
        let outcome = all(&outcome);
        let at = expected.bytes().zip(outcome.bytes()).position(|(a, b)| a != b);
        let near =
            |text: &str| at.map(|at| text[at.saturating_sub(200)..].chars().take(300).collect::<String>());
        assert!(
            expected == outcome,
            "{what}: {:?} differs from {:?} in {scenario:?}",
            near(&outcome),
            near(&expected)
        );
    };
    same("every millisecond", paused(scenario, every(MS, whole.end)));
    same("every event", paused(scenario, event_times(&traced.flows).into_iter().map(|t| t.min(whole.end))));
    let mut random: Vec<_> = random.iter().map(|time| Time(time % whole.end.0.max(1))).collect();
    random.sort_unstable();
    same("at random", paused(scenario, random.iter().copied()));
    if let Some(at) = random.first() {
        a_pause_is_an_end(scenario, *at);
    }
}

/// A simulation that is finished at a pause gives what a shorter run gives. The snapshot at the
/// pause says the same.
fn a_pause_is_an_end(scenario: &Scenario, at: Time) {
    let short = Scenario { duration: at - Time::ZERO, ..scenario.clone() };
    let expected = run(&short);
    let mut simulation = Simulation::new(scenario, Guests::new());
    simulation.step(at, &Watch::default(), &mut None);
    let snapshot = simulation.snapshot();
    let outcome = simulation.finish();
    assert_eq!((outcome.link, &outcome.beyond, outcome.end), (expected.link, &expected.beyond, expected.end));
    assert_eq!(snapshot.time, expected.end);
    for ((flow, expected), seen) in outcome.flows.iter().zip(&expected.flows).zip(&snapshot.flows) {
        assert_eq!(
            format!("{:?} {:?}", flow.totals, flow.stats),
            format!("{:?} {:?}", expected.totals, expected.stats)
        );
        assert_eq!((&seen.stats, seen.sample.delivered), (&expected.stats, expected.delivered));
    }
    let dropped = |link: &link::Counters| link.dropped().packets;
    assert_eq!(snapshot.drops, dropped(&expected.link) + expected.beyond.iter().map(dropped).sum::<u64>());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn of_any_scenario(
        link in 0..LINKS,
        flows in prop::collection::vec((0..FLOWS, 0usize..100), 1..4),
        traced: bool,
        random in prop::collection::vec(0u64..2_000_000_000, 1..40),
    ) {
        pauses_change_nothing(&mixed(link, &flows, traced), &random);
    }
}

/// Every controller and kind of flow occurs, on every link.
#[test]
fn of_every_controller() {
    for number in 0..Registry::default().iter().count() {
        let flows = [(number % FLOWS, number), ((number + 1) % FLOWS, number)];
        pauses_change_nothing(&mixed(number % LINKS, &flows, number % 2 == 0), &[700_000_123, 1_234_567_890]);
    }
}

/// Samples taken at pauses are together those of a whole run.
#[test]
fn series_in_parts() {
    let scenario = mixed(0, &[(0, 3), (1, 5), (3, 0), (2, 7)], false);
    let columns = |series: &Series| {
        let flows = series.flows.iter().map(|flow| {
            let own = [&flow.cwnd, &flow.bytes_in_flight, &flow.smoothed_rtt_ms, &flow.latest_rtt_ms];
            let more = [&flow.goodput_mbit_s, &flow.media_mbit_s, &flow.owd_ms];
            let signals = [&flow.lost_packets, &flow.ce_packets];
            own.into_iter().chain(more).chain(signals).map(RunLength::to_vec).collect::<Vec<_>>()
        });
        let path = [&series.times, &series.backlog, &series.drops].map(Clone::clone).to_vec();
        std::iter::once(path).chain(flows).flatten().collect::<Vec<_>>()
    };
    let whole = columns(&run(&scenario).series);
    let mut simulation = Simulation::new(&scenario, Guests::new());
    let mut parts = vec![Vec::new(); whole.len()];
    while !simulation.is_done() {
        simulation.step(simulation.now() + MS * 101, &Watch::default(), &mut None);
        let part = columns(&simulation.take_series());
        parts.iter_mut().zip(part).for_each(|(whole, part)| whole.extend(part));
    }
    assert_eq!(format!("{whole:?}"), format!("{parts:?}"));
    assert!(simulation.finish().series.times.is_empty());
}

/// A time that has passed runs nothing, and no event is beyond a pause.
#[test]
fn time_does_not_run_backwards() {
    let scenario = mixed(0, &[(0, 0)], true);
    let mut simulation = Simulation::new(&scenario, Guests::new());
    let at = Time::from_millis(1000);
    simulation.step(at, &Watch::default(), &mut None);
    let before = format!("{:?}", simulation.snapshot());
    simulation.step(Time::from_millis(500), &Watch::default(), &mut None);
    assert_eq!((simulation.now(), format!("{:?}", simulation.snapshot())), (at, before));
    let trace = simulation.finish().flows.remove(0).trace.unwrap();
    assert!(trace.iter().all(|(time, _)| *time <= at), "nothing is ahead of the pause");
    let behind = run(&scenario).flows.remove(0).trace.unwrap();
    assert_eq!(trace[..], behind[..trace.len()]);
    assert!(behind[trace.len()].0 > at, "everything by then has happened");
}

/// A simulation may move to another thread at a pause.
#[test]
fn on_another_thread() {
    let scenario = mixed(0, &[(0, 0), (1, 1)], false);
    let mut simulation = Simulation::new(&scenario, Guests::new());
    simulation.step(Time::from_millis(500), &Watch::default(), &mut None);
    let there = std::thread::spawn(move || {
        simulation.step(Time::NEVER, &Watch::default(), &mut None);
        simulation.finish()
    });
    let here = run_with_guests(&scenario, Guests::new(), &Watch::default(), None).unwrap();
    assert!(all(&there.join().unwrap()) == all(&here));
}

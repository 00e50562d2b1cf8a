//! Bulk transfers on the stack beside the same on the simulator.

use congestion::{Algorithm, Registry};
use kneepoint_stack::{Cipher, Profile, run};
use link::{Limit, LinkConfig};
use scenario::{FlowConfig, Outcome, Scenario, Transport, Watch};
use units::{Duration, Rate, Time};

const SAMPLE: Duration = Duration::from_millis(20);

fn algorithm(name: &str) -> Algorithm {
    Registry::default().get(name).unwrap().algorithm()
}

/// 10 MB over 10 Mbit/s, 25 ms each way, a queue of 42 packets.
fn scenario(name: &str) -> Scenario {
    let link = LinkConfig {
        limit: Limit::Packets(42),
        delay: Duration::from_millis(25),
        ..LinkConfig::plain(Rate(10_000_000))
    };
    let flow = FlowConfig::new(name, algorithm(name), Transport::default(), Duration::from_millis(50));
    let flow = FlowConfig { transfer: Some(10_000_000), handshake: true, ..flow };
    Scenario { series: Some(SAMPLE), ..Scenario::new(link, [flow], Duration::from_secs(30)) }
}

fn on_stack(scenario: &Scenario, cipher: Cipher) -> Outcome {
    let profile = Profile { cipher, ..Profile::default() };
    run(scenario, &profile, &Watch::default(), None).unwrap().unwrap()
}

fn on_simulator(scenario: &Scenario) -> Outcome {
    sim::run(scenario, &Watch::default()).unwrap()
}

fn done(outcome: &Outcome) -> f64 {
    outcome.flows[0].finished.unwrap().as_secs_f64()
}

/// Median and 95th percentile of the relative difference of two windows over time.
fn difference(a: &Outcome, b: &Outcome) -> (f64, f64) {
    let windows = a.series.flows[0].cwnd.iter().zip(&b.series.flows[0].cwnd);
    let mut all: Vec<f64> =
        windows.map(|(a, b)| ((a - b) / b).abs()).filter(|part| part.is_finite()).collect();
    all.sort_by(f64::total_cmp);
    (all[all.len() / 2], all[all.len() * 95 / 100])
}

fn line(name: &str, world: &str, outcome: &Outcome) {
    let flow = &outcome.flows[0];
    let totals = &flow.totals;
    println!(
        "{name:9} {world:9} done {:.3} s, dropped {}, lost {} (threshold {}, time {}, timeout {}), packets {}, wire {} B, acks {}, reductions {}, slow start to {} B",
        done(outcome),
        totals.dropped,
        flow.stats.lost(),
        flow.stats.lost_by_packet_threshold,
        flow.stats.lost_by_time_threshold,
        flow.stats.lost_by_timeout,
        totals.packets,
        totals.wire,
        totals.acks,
        flow.stats.loss_events,
        flow.slow_start_window
    );
}

#[test]
fn beside_the_simulator() {
    for name in ["new-reno", "cubic", "bbr3"] {
        let scenario = scenario(name);
        let model = on_simulator(&scenario);
        line(name, "simulator", &model);
        for (cipher, world) in [(Cipher::Plain, "plain"), (Cipher::Tls, "tls")] {
            let outcome = on_stack(&scenario, cipher);
            line(name, world, &outcome);
            let (median, p95) = difference(&outcome, &model);
            println!("{name:9} {world:9} cwnd: median {:.2} %, p95 {:.2} %", 100.0 * median, 100.0 * p95);
            assert_eq!(outcome.flows[0].delivered, 10_000_000);
            let late = done(&outcome) / done(&model) - 1.0;
            assert!(late.abs() < 0.02, "{name} {world}: {late}");
            let drops = outcome.flows[0].totals.dropped.abs_diff(model.flows[0].totals.dropped);
            assert!(drops < 20, "{name} {world}: {drops}");
        }
    }
}

#[test]
fn the_same_twice() {
    for cipher in [Cipher::Plain, Cipher::Tls] {
        let scenario = Scenario { trace: true, ..scenario("cubic") };
        let (one, two) = (on_stack(&scenario, cipher), on_stack(&scenario, cipher));
        assert_eq!(format!("{one:?}"), format!("{two:?}"));
    }
}

/// A guest and a simulated flow on one link, one that stops and one without end.
#[test]
fn beside_a_simulated_flow() {
    let mut scenario = scenario("cubic");
    scenario.duration = Duration::from_secs(20);
    scenario.flows[0].transfer = None;
    let other = FlowConfig {
        start: Time::from_millis(2000),
        stop: Some(Time::from_millis(12_000)),
        ..scenario.flows[0].clone()
    };
    scenario.flows.push(other);
    let mut guests = kneepoint_stack::guests(&scenario, &Profile::default()).unwrap();
    guests.remove(0);
    let outcome = sim::run_with_guests(&scenario, guests, &Watch::default(), None).unwrap();
    let delivered = outcome.flows.iter().map(|flow| flow.delivered).collect::<Vec<_>>();
    println!("{delivered:?}");
    assert_eq!(outcome.flows[1].started, Time::from_millis(2000));
    assert_eq!(outcome.flows[1].finished, Some(Time::from_millis(12_000)));
    assert_eq!(outcome.end, Time::ZERO + scenario.duration);
    assert!(delivered.iter().sum::<u64>() > 22_000_000, "the link is full: {delivered:?}");
    assert!(delivered[1] > 4_000_000, "{delivered:?}");
}

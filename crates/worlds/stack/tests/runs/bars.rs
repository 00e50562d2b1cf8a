//! Tolerances for the default profile (TLS, flow control, PINGs, growing sizes) against the
//! simulator, for every controller of the registry on two networks. The window, sampled every 20
//! ms, must agree within 1 % in the median and 3 % at the 95th percentile. Completion must agree
//! within 1 %, and drops within 2 % (one packet if there are fewer than fifty).

use ackclock_stack::Cipher;
use congestion::Registry;
use link::{Limit, RateModel};
use scenario::trace::Event;
use scenario::{Outcome, Route, Scenario, UdpConfig};
use units::{Bytes, Duration, Rate, Time};

use crate::common::*;

/// Known exceptions, each with the tolerances that are missed. An entry that no longer applies
/// makes the test fail. Averaged over neighbouring rates, all controllers are within the
/// tolerances; see `around`.
const MISSES: [(&str, Network, bool, &str); 9] = [
    // Alone on the link, nothing disturbs the model. It stays in a state that loses 17 to 27
    // packets in 0.25 s. One packet of another size moves it to a state that loses 32 to 46. An ACK
    // with data is such a packet, and so is a 100-byte packet of another flow.
    ("bbr1-ecn-gated", Network::Slow, true, "drops, window"),
    // The differences are two and four packets of a hundred.
    ("bbr2-mvfst", Network::Slow, false, "drops"),
    ("bbr2-mvfst", Network::Slow, true, "drops"),
    ("bbr2-ecn-gated", Network::Slow, true, "drops"),
    // Copa's test for competitors asks whether the queue was exactly empty. The time of one packet
    // decides it, and with it the mode of the next round trips. Completion agrees within 0.9 %.
    ("copa", Network::Slow, false, "window"),
    ("copa", Network::Slow, true, "window"),
    ("copa", Network::Fast, false, "window"),
    ("copa", Network::Fast, true, "window"),
    // A push begins an era later or earlier. Completion agrees.
    ("c4", Network::Slow, true, "window"),
];

/// Controllers that draw whether to back off. A packet at another time changes all draws after it,
/// so single runs of `cdg` differ by up to 12 %. With 248 seeds and rates within 1 % of [`Network::Slow`],
/// the endpoint was faster in 76 and slower in 69, and by 0.33 % in the mean (standard error 0.17
/// %).
const RANDOM: [&str; 2] = ["cdg", "pert"];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Network {
    /// 10 Mbit/s, 50 ms, 42 packets; 10 MB.
    Slow,
    /// 100 Mbit/s, 20 ms, 1 BDP; 40 MB.
    Fast,
}

fn scenario(name: &str, network: Network, handshake: bool) -> Scenario {
    let mut scenario = transfer(name);
    // Media controllers never complete the transfer.
    scenario.duration = Duration::from_secs(30);
    scenario.flows[0].handshake = handshake;
    if network == Network::Fast {
        scenario.link.rate = RateModel::Constant(Rate(100_000_000));
        scenario.link.limit = Limit::Bytes(Bytes(250_000));
        (scenario.link.delay, scenario.flows[0].rtt) = (Duration::from_millis(10), Duration::from_millis(20));
        scenario.flows[0].transfer = Some(40_000_000);
    }
    scenario
}

/// Returns how much later a transfer completes than the model's, as a share. If one of them does
/// not complete, compares the delivered bytes.
fn late(model: &Outcome, outcome: &Outcome) -> f64 {
    let [there, here] = [model, outcome].map(|outcome| &outcome.flows[0]);
    match (there.finished, here.finished) {
        (Some(_), Some(_)) => more(done(outcome), done(model)),
        _ => more(here.delivered as f64, there.delivered as f64),
    }
}

/// Returns the tolerances that are missed.
fn missed(model: &Outcome, outcome: &Outcome) -> String {
    let [there, here] = [model, outcome].map(|outcome| &outcome.flows[0]);
    let mut missed = Vec::new();
    let late = late(model, outcome);
    if late.abs() >= 0.01 {
        missed.push("completion");
    }
    let (drops, other) = (there.totals.dropped, here.totals.dropped);
    if drops.abs_diff(other) as f64 > f64::max(1.0, 0.02 * drops as f64) {
        missed.push("drops");
    }
    let (median, p95) = difference(outcome, model);
    if median >= 0.01 || p95 >= 0.03 {
        missed.push("window");
    }
    println!(
        "completion {:+.2} %, dropped {drops} and {other}, window {:.2} and {:.2} %",
        100.0 * late,
        100.0 * median,
        100.0 * p95
    );
    missed.join(", ")
}

#[test]
fn every_controller_meets_them() {
    for entry in Registry::default().iter().filter(|entry| !RANDOM.contains(&entry.name)) {
        for network in [Network::Slow, Network::Fast] {
            for handshake in [false, true] {
                let scenario = scenario(entry.name, network, handshake);
                print!("{}, {network:?}, handshake {handshake}: ", entry.name);
                let missed = missed(&on_simulator(&scenario), &on_stack(&scenario, Cipher::Tls));
                let known = MISSES.iter().find(|m| (m.0, m.1, m.2) == (entry.name, network, handshake));
                assert_eq!(missed, known.map_or("", |m| m.3), "{}, {network:?}, {handshake}", entry.name);
            }
        }
    }
}

/// Returns mean and variance of the mean.
fn mean(drops: &[f64]) -> (f64, f64) {
    let n = drops.len() as f64;
    let mean = drops.iter().sum::<f64>() / n;
    (mean, drops.iter().map(|one| (one - mean) * (one - mean)).sum::<f64>() / (n - 1.0) / n)
}

/// Compares 31 rates within 1 % of the network's rate. A 100-byte packet of another flow every 1.6
/// s ensures that neither run has only packets of one size. Mean drops must agree within 2 %, or
/// differ only by chance (Welch's t of at most 2). Completion must agree within 1 %.
fn around(name: &str, network: Network, handshake: bool) {
    let (mut there, mut here, mut lateness) = (Vec::new(), Vec::new(), 0.0);
    for step in 0..31 {
        let mut scenario = scenario(name, network, handshake);
        let RateModel::Constant(Rate(rate)) = scenario.link.rate else { unreachable!("a constant rate") };
        scenario.link.rate = RateModel::Constant(Rate(rate / 100 * 99 + rate / 1500 * step));
        scenario.udp = vec![UdpConfig {
            label: "another".into(),
            rate: vec![(Time::ZERO, Rate(500))],
            on_off: None,
            route: Route::ALL,
            size: 100,
            start: Time::ZERO,
            stop: None,
        }];
        let (model, outcome) = (on_simulator(&scenario), on_stack(&scenario, Cipher::Tls));
        there.push(model.flows[0].totals.dropped as f64);
        here.push(outcome.flows[0].totals.dropped as f64);
        lateness += late(&model, &outcome) / 31.0;
    }
    let ((model, spread), (endpoint, of_endpoint)) = (mean(&there), mean(&here));
    let t = (endpoint - model) / (spread + of_endpoint).sqrt();
    println!(
        "{name}, {network:?}, handshake {handshake}: dropped {model:.1} and {endpoint:.1}, t {t:.1}, completion {:+.2} %",
        100.0 * lateness
    );
    let apart = (endpoint - model).abs() > f64::max(1.0, 0.02 * model);
    assert!(!apart || t.abs() <= 2.0, "{name}, {network:?}, {handshake}");
    assert!(lateness.abs() < 0.01, "{name}, {network:?}, {handshake}");
}

#[test]
fn those_that_miss_them_by_chance() {
    for (name, network, handshake, _) in MISSES {
        around(name, network, handshake);
    }
}

#[test]
#[ignore = "minutes"]
fn every_controller_around() {
    for entry in Registry::default().iter().filter(|entry| !RANDOM.contains(&entry.name)) {
        for (network, handshake) in
            [Network::Slow, Network::Fast].into_iter().flat_map(|n| [(n, false), (n, true)])
        {
            around(entry.name, network, handshake);
        }
    }
}

/// The simulator's allowance for the end of a handshake in the first datagram
/// (`sim/endpoints/handshake.rs`) equals the endpoint's need.
#[test]
fn the_end_of_a_handshake() {
    let scenario = Scenario { trace: true, ..transfer("cubic") };
    let first = |outcome: Outcome| {
        let trace = outcome.flows.into_iter().next().unwrap().trace.unwrap();
        trace.into_iter().find_map(|(_, event)| match event {
            Event::Sent { bytes, .. } => Some(bytes),
            _ => None,
        })
    };
    assert_eq!(first(on_stack(&scenario, Cipher::Tls)), Some(1252 - 150));
    assert_eq!(first(on_simulator(&scenario)), Some(1252 - 150));
}

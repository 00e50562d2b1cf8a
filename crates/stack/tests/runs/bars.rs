//! The bars of the ordinary profile (TLS, flow control, PINGs, sizes that grow) beside the simulator, for every controller of the registry on two
//! networks: the window every 20 ms within 1 % in the median and 3 % at the 95th percentile, completion within 1 %, drops within 2 %
//! (one packet where there are fewer than fifty).

use congestion::Registry;
use kneepoint_stack::Cipher;
use link::{Limit, RateModel};
use scenario::trace::Event;
use scenario::{Outcome, Scenario, Transport};
use units::{Bytes, Duration, Rate};

use crate::common::*;

/// Who does not meet which bar, and why. Whoever meets it is no longer to stand here.
const MISSES: [(&str, Network, bool, &str); 2] = [
    // A packet of repeats has a byte or two less where a piece ends that was lost, and this start-up counts them: `a_byte_decides_more_than_the_bar`.
    ("bbr2-mvfst", Network::Slow, false, "drops, window"),
    ("bbr2-mvfst", Network::Slow, true, "drops"),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Network {
    /// 10 Mbit/s, 50 ms, 42 packets; 10 MB.
    Slow,
    /// 100 Mbit/s, 20 ms, 1 BDP; 40 MB.
    Fast,
}

fn scenario(name: &str, network: Network, handshake: bool) -> Scenario {
    let mut scenario = transfer(name);
    // Cameras never get there.
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

/// Which bars are missed.
fn missed(model: &Outcome, outcome: &Outcome) -> String {
    let [there, here] = [model, outcome].map(|outcome| &outcome.flows[0]);
    let mut missed = Vec::new();
    let late = match (there.finished, here.finished) {
        (Some(_), Some(_)) => more(done(outcome), done(model)),
        _ => more(here.delivered as f64, there.delivered as f64),
    };
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
    for entry in Registry::default().iter() {
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

/// Of those that miss them, the simulator drops 2 % more or fewer itself when its header of 37 bytes has up to three less or more.
#[test]
fn a_byte_decides_more_than_the_bar() {
    for (name, network, handshake, _) in MISSES {
        let drops = (34..=40).map(|header| {
            let mut scenario = scenario(name, network, handshake);
            scenario.flows[0].transport = Transport::Quic { datagram: 1252, header, overhead: 42 };
            on_simulator(&scenario).flows[0].totals.dropped
        });
        let drops: Vec<u64> = drops.collect();
        println!("{name}, {network:?}, handshake {handshake}: dropped {drops:?}");
        let (least, most) = (*drops.iter().min().unwrap(), *drops.iter().max().unwrap());
        assert!((most - least) as f64 > 0.02 * most as f64, "{drops:?}");
    }
}

/// What the simulator takes off the first datagram for the end of a handshake (`sim/endpoints/handshake.rs`) is what the endpoint needs.
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

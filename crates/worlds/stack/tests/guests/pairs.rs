//! Every ordered pair of stacks, with the first as the client. It sends 1 MB, and the server
//! compares every byte.

use ackclock_stack::{Host, Session, Stack};
use link::aqm::red;
use link::{Aqm, Limit, Threshold};
use scenario::Guest;
use scenario::{Outcome, Scenario, Watch};
use units::{Duration, Ecn, Time};

use crate::HERE;
use crate::common::*;

fn scenario(loss: f64) -> Scenario {
    let mut scenario = transfer("cubic");
    scenario.flows[0].transfer = Some(1_000_000);
    scenario.link.loss = loss;
    scenario
}

pub(crate) fn run(scenario: &Scenario, pair: (Stack, Stack), retry: bool) -> Outcome {
    let host = Host::default();
    let session = Session::new(&scenario.flows[0], 0, scenario, pair, retry, &host).unwrap();
    let guests = vec![(0, Box::new(session) as Box<dyn Guest>)];
    let outcome = sim::run_with_guests(scenario, guests, &Watch::default(), None).unwrap();
    assert_eq!(host.failure(), None);
    outcome
}

fn every_pair(scenario: &Scenario, retry: bool) -> Vec<(String, Outcome)> {
    let pairs = HERE.into_iter().flat_map(|client| HERE.map(|server| (client, server)));
    let run = |pair: (Stack, Stack)| {
        let name = format!("{} to {}", pair.0.word(), pair.1.word());
        let outcome = run(scenario, pair, retry);
        let flow = &outcome.flows[0];
        println!(
            "{name:22} {:?}, dropped {}, lost {}",
            flow.finished,
            flow.totals.dropped,
            flow.stats.lost()
        );
        assert_eq!(flow.delivered, 1_000_000, "{name}");
        assert!(flow.finished.is_some(), "{name}");
        (name, outcome)
    };
    pairs.map(run).collect()
}

/// The time is that of the link, a handshake and slow start.
#[test]
fn handshake_and_transfer() {
    for (name, outcome) in every_pair(&scenario(0.0), false) {
        assert!((1.0..1.3).contains(&done(&outcome)), "{name}");
    }
}

#[test]
fn transfer_with_loss() {
    for (name, outcome) in every_pair(&scenario(0.02), false) {
        assert!(outcome.flows[0].totals.dropped > 5, "{name}");
        assert!(done(&outcome) < 5.0, "{name}");
    }
}

/// The handshake completes over a link with 30 % loss (the interop runner's `handshakeloss`), for
/// ten seeds.
#[test]
fn handshake_with_loss() {
    for seed in 0..10 {
        let mut scenario = scenario(0.3);
        (scenario.seed, scenario.flows[0].transfer) = (seed, Some(1_000));
        for client in HERE {
            for server in HERE {
                let outcome = run(&scenario, (client, server), false);
                let name = format!("{} to {}, seed {seed}", client.word(), server.word());
                assert_eq!(outcome.flows[0].delivered, 1_000, "{name}");
            }
        }
    }
}

/// The server answers the first Initial packet with a Retry, which adds a round trip of 50 ms (RFC
/// 9000 section 8.1.2).
#[test]
fn retry() {
    every_pair(&scenario(0.0), true);
    let mut short = scenario(0.0);
    short.flows[0].transfer = Some(1_000);
    for client in HERE {
        for server in HERE {
            let time = |retry| done(&run(&short, (client, server), retry));
            let later = time(true) - time(false);
            assert!((0.05..0.056).contains(&later), "{} to {}: {later}", client.word(), server.word());
        }
    }
}

/// On a path of 750 ms (the interop runner's `longrtt`), the first flights are repeated needlessly,
/// and the transfer completes.
#[test]
fn long_round_trip() {
    let mut scenario = scenario(0.0);
    scenario.link.delay = Duration::from_millis(375);
    scenario.flows[0].rtt = Duration::from_millis(750);
    for (name, outcome) in every_pair(&scenario, false) {
        assert!((5.0..9.0).contains(&done(&outcome)), "{name}");
    }
}

/// Every receiver reports the link's ECN marks, and every sender reacts to them.
#[test]
fn marks() {
    let mut scenario = scenario(0.0);
    scenario.flows[0].transfer = Some(3_000_000);
    scenario.flows[0].recovery.ecn = Ecn::Ect0;
    scenario.link.limit = Limit::Packets(400);
    scenario.link.aqm = Aqm::Red(red::Params::mark_above(Threshold::OfLimit(0.1)));
    for client in HERE {
        for server in HERE {
            let outcome = run(&scenario, (client, server), false);
            let (flow, name) = (&outcome.flows[0], format!("{} to {}", client.word(), server.word()));
            println!(
                "{name}: {} marked, done {:.3} s, least window {:?}",
                flow.ecn.ce,
                done(&outcome),
                flow.least_window
            );
            assert_eq!((flow.delivered, flow.stats.lost(), flow.totals.dropped), (3_000_000, 0, 0), "{name}");
            assert!(flow.ecn.ce > 100 && done(&outcome) < 2.9, "{name}");
        }
    }
}

/// If all packets are lost, the flow does not complete, however the connection ends.
#[test]
fn a_connection_that_breaks_is_not_done() {
    let mut dark = scenario(1.0);
    dark.duration = Duration::from_secs(60);
    for stack in HERE {
        let outcome = run(&dark, (stack, stack), false);
        assert_eq!((outcome.flows[0].finished, outcome.flows[0].delivered), (None, 0), "{}", stack.word());
        assert!(outcome.end >= Time::from_millis(60_000));
    }
}

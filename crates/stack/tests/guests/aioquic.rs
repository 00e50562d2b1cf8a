//! aioquic in a child process, at both ends and at either of ours: the cases of `pairs.rs` and `faults.rs`, and what is its own. Where Python
//! or aioquic is missing each test says `skipped:` and why.

use kneepoint_stack::Stack;
use scenario::{Outcome, Scenario};

use crate::common::*;
use crate::pairs::run;

/// The first is the client.
const PAIRS: [(Stack, Stack); 3] = [
    (Stack::Kneepoint, Stack::Aioquic),
    (Stack::Aioquic, Stack::Kneepoint),
    (Stack::Aioquic, Stack::Aioquic),
];

/// Whether it is here.
fn is_here() -> bool {
    let found = Stack::Aioquic.find();
    if let Err(why) = &found {
        println!("skipped: {why}");
    }
    found.is_ok()
}

fn scenario(transfer_of: u64) -> Scenario {
    let mut scenario = transfer("cubic");
    scenario.flows[0].transfer = Some(transfer_of);
    scenario
}

/// Every pair carries the transfer to its end.
fn every_pair(scenario: &Scenario, retry: bool) -> Vec<(String, Outcome)> {
    if !is_here() {
        return Vec::new();
    }
    let one = |pair: (Stack, Stack)| {
        let name = format!("{} to {}", pair.0.word(), pair.1.word());
        let outcome = run(scenario, pair, retry);
        let flow = &outcome.flows[0];
        println!(
            "{name:22} {:?}, dropped {}, lost {}, {} reductions, RTT {:.2} ms",
            flow.finished,
            flow.totals.dropped,
            flow.stats.lost(),
            flow.stats.loss_events,
            flow.totals.rtt.mean_ms()
        );
        assert_eq!(Some(flow.delivered), scenario.flows[0].transfer, "{name}");
        assert!(flow.finished.is_some(), "{name}");
        (name, outcome)
    };
    PAIRS.map(one).into()
}

#[test]
fn handshake_and_transfer() {
    for (name, outcome) in every_pair(&scenario(1_000_000), false) {
        assert!((1.0..1.4).contains(&done(&outcome)), "{name}");
    }
}

#[test]
fn transfer_with_loss() {
    let mut lossy = scenario(1_000_000);
    lossy.link.loss = 0.02;
    for (name, outcome) in every_pair(&lossy, false) {
        assert!(outcome.flows[0].totals.dropped > 5, "{name}");
        assert!(done(&outcome) < 6.0, "{name}");
    }
}

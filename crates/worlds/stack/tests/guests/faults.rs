//! Every ordered pair of stacks over links that corrupt, duplicate and fail for a time: the interop
//! runner's `handshakecorruption`, `transfercorruption` and `blackhole`. The receiver compares
//! every byte.

use ackclock_stack::Stack;
use link::LinkConfig;
use scenario::{Outcome, Scenario};
use units::{Duration, Time};

use crate::HERE;
use crate::common::*;
use crate::pairs::run;

fn pairs(transfer_of: u64, change: impl Fn(&mut Scenario)) -> Vec<(String, Outcome)> {
    let mut scenario = transfer("cubic");
    scenario.flows[0].transfer = Some(transfer_of);
    change(&mut scenario);
    let mut all = Vec::new();
    for client in HERE {
        for server in HERE {
            let name = format!("{} to {}", client.word(), server.word());
            let outcome = run(&scenario, (client, server), false);
            println!("{name:22} {:?}", outcome.flows[0].finished);
            assert_eq!(outcome.flows[0].delivered, transfer_of, "{name}");
            all.push((name, outcome));
        }
    }
    all
}

fn link_with(change: impl Fn(&mut LinkConfig)) -> impl Fn(&mut Scenario) {
    move |scenario| change(&mut scenario.link)
}

/// A corrupted datagram fails authentication and is a loss.
#[test]
fn damage_in_the_transfer() {
    for (name, outcome) in pairs(1_000_000, link_with(|link| link.corrupt = 0.02)) {
        assert!(outcome.link.corrupted.packets > 5, "{name}");
        assert!(outcome.flows[0].stats.lost() + 2 >= outcome.link.corrupted.packets, "{name}");
    }
}

#[test]
fn damage_in_the_handshake() {
    for seed in 0..5 {
        pairs(1_000, |scenario| {
            scenario.seed = seed;
            scenario.link.corrupt = 0.3;
        });
    }
}

/// Duplicates are neither data nor a sign of loss.
#[test]
fn copies() {
    for (name, outcome) in pairs(1_000_000, link_with(|link| link.duplicate = 0.2)) {
        assert!(outcome.link.duplicated.packets > 100, "{name}");
    }
}

/// The link fails for two seconds during the transfer.
#[test]
fn a_link_that_goes_dark() {
    let dark = (Time::from_millis(300), Time::from_millis(2300));
    for (name, outcome) in pairs(1_000_000, link_with(|link| link.blackhole = vec![dark])) {
        assert!((2.3..8.0).contains(&done(&outcome)), "{name}: {}", done(&outcome));
    }
}

/// If the link stays down, the connection of every stack times out and reports it: of ours with the
/// file's idle timeout. The transfer does not complete.
#[test]
fn silence_without_end() {
    let mut scenario = transfer("cubic");
    scenario.link.blackhole = vec![(Time::from_millis(2000), Time::from_millis(60_000))];
    for stack in HERE {
        let own = stack == Stack::Ackclock;
        scenario.flows[0].recovery.idle_timeout = own.then(|| Duration::from_secs(30));
        let outcome = run(&scenario, (stack, stack), false);
        let flow = &outcome.flows[0];
        println!("{}: {:?} {:?}", stack.word(), flow.broken, flow.closed);
        let ended = if own { flow.closed.is_some() } else { flow.broken.is_some() };
        assert!(flow.finished.is_none() && ended, "{}", stack.word());
    }
}

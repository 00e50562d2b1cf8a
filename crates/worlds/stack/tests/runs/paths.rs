//! Networks beyond a single drop-tail queue: ECN marks, return links, random loss.

use ackclock_stack::Cipher;
use link::aqm::red;
use link::{Aqm, Limit, LinkConfig, Threshold};
use scenario::{Back, FlowConfig, Route, Scenario};
use units::{Duration, Ecn, Rate, Time};

use crate::common::*;

/// The queue's marks return in ACKs, and the sender reacts. Nothing is dropped after slow start.
#[test]
fn marks_are_answered() {
    let mut scenario = transfer("new-reno");
    scenario.link.limit = Limit::Packets(400);
    scenario.link.aqm = Aqm::Red(red::Params::mark_above(Threshold::OfLimit(0.1)));
    scenario.flows[0].recovery.ecn = Ecn::Ect0;
    let (model, outcome) = (on_simulator(&scenario), on_stack(&scenario, Cipher::Tls));
    let (there, here) = (&model.flows[0], &outcome.flows[0]);
    println!(
        "done {:.3} and {:.3} s, marked {} and {}, reductions {} and {}",
        done(&model),
        done(&outcome),
        there.ecn.ce,
        here.ecn.ce,
        there.stats.ecn_events,
        here.stats.ecn_events
    );
    assert!(here.ecn.ce > 0 && here.stats.ecn_events > 0);
    assert_eq!((here.totals.dropped, here.stats.lost()), (0, 0));
    assert!(more(done(&outcome), done(&model)).abs() < 0.01);
}

/// ACKs cross their own link with their real size. After a loss, a receiver that never elicits ACKs
/// repeats up to 64 ranges (RFC 9000 section 13.2.4). Its ACKs then have a mean of 201 bytes. With
/// a PING in every eighth ACK it can drop old ranges.
#[test]
fn acknowledgements_have_their_own_size() {
    let mut scenario = transfer("cubic");
    let (delay, limit) = (Duration::from_millis(25), Limit::Packets(20));
    scenario.reverse = vec![LinkConfig { delay, limit, ..LinkConfig::plain(Rate(1_000_000)) }];
    scenario.reverse_names = vec!["back".to_owned()];
    let route = Route { first: 1, last: u16::MAX };
    scenario.flows[0].back = Some(Back { route, size: 81 });
    let (model, outcome) = (on_simulator(&scenario), on_stack(&scenario, Cipher::Tls));
    let back = &outcome.reverse[0];
    let mean = back.pushed.bytes as f64 / back.pushed.packets as f64;
    println!(
        "done {:.3} and {:.3} s, {} and {} ACKs of {mean:.1} bytes, {} and {} answered, {} and {} dropped",
        done(&model),
        done(&outcome),
        model.reverse[0].pushed.packets,
        back.pushed.packets,
        model.flows[0].totals.acks,
        outcome.flows[0].totals.acks,
        model.reverse[0].dropped().packets,
        back.dropped().packets
    );
    assert_eq!(back.pushed.packets, outcome.flows[0].totals.feedback);
    assert_eq!(back.dropped().packets, outcome.flows[0].totals.feedback_dropped);
    assert!(more(done(&outcome), done(&model)).abs() < 0.01);
    assert!(mean < 90.0, "{mean}");
}

/// Every byte arrives despite losses, including those of handshake packets.
#[test]
fn random_loss() {
    for (loss, bytes) in [(0.01, 3_000_000), (0.2, 100_000)] {
        for seed in 1..=8 {
            let mut scenario = transfer("cubic");
            (scenario.seed, scenario.link.loss, scenario.duration) = (seed, loss, Duration::from_secs(600));
            scenario.flows[0].transfer = Some(bytes);
            let outcome = on_stack(&scenario, Cipher::Tls);
            assert_eq!(outcome.flows[0].delivered, bytes, "{loss} {seed}");
            assert!(outcome.flows[0].finished.is_some() && outcome.flows[0].stats.lost() > 0);
        }
    }
}

/// Three flows with staggered starts share the link as in the simulator.
#[test]
fn several_flows() {
    let at = |n: u64| FlowConfig { start: Time::from_millis(3000 * n), ..flow("cubic") };
    let scenario = Scenario::new(link(), (0..3).map(at), Duration::from_secs(40));
    let (model, outcome) = (on_simulator(&scenario), on_stack(&scenario, Cipher::Tls));
    let all =
        |outcome: &scenario::Outcome| outcome.flows.iter().map(|flow| flow.delivered).collect::<Vec<_>>();
    println!("{:?} and {:?}", all(&model), all(&outcome));
    let sum = |delivered: Vec<u64>| delivered.iter().sum::<u64>() as f64;
    assert!(more(sum(all(&outcome)), sum(all(&model))).abs() < 0.01);
}

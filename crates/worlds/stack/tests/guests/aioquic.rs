//! aioquic in a child process, as both endpoints or connected to `ackclock-quic`. Repeats the cases
//! of `pairs.rs` and `faults.rs`, and adds some that are specific to aioquic. Without Python or
//! aioquic, each test prints `skipped:` and the reason.

use ackclock_stack::{Host, Profile, Stack, guests_on};
use scenario::{FlowConfig, Outcome, Scenario, Transport, Watch};
use units::{Duration, Ecn, Time};

use crate::common::*;
use crate::on;
use crate::pairs::run;

/// Pairs of client and server.
const PAIRS: [(Stack, Stack); 3] =
    [(Stack::Ackclock, Stack::Aioquic), (Stack::Aioquic, Stack::Ackclock), (Stack::Aioquic, Stack::Aioquic)];

/// Reports whether aioquic is available.
pub(crate) fn is_here() -> bool {
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

/// Checks that every pair completes the transfer.
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

/// The handshake completes over a link with 30 % loss, and over one that corrupts 30 %.
#[test]
fn handshakes_with_loss_and_damage() {
    for seed in 0..4 {
        let mut lossy = scenario(1_000);
        lossy.seed = seed;
        let mut damaging = lossy.clone();
        lossy.link.loss = 0.3;
        damaging.link.corrupt = 0.3;
        every_pair(&lossy, false);
        every_pair(&damaging, false);
    }
}

/// aioquic closes a connection if the first packet that arrives has no CRYPTO frame ("Packet
/// contains no CRYPTO frame"). RFC 9000 section 17.2.2 only requires one in the first packet sent.
/// Here the first flight and the first probe are lost, and the second probe repeats all of their
/// data.
#[test]
fn the_second_probe_arrives_alone() {
    if !is_here() {
        return;
    }
    let mut lossy = scenario(1_000);
    (lossy.seed, lossy.link.loss) = (0, 0.3);
    let outcome = run(&lossy, (Stack::Ackclock, Stack::Aioquic), false);
    assert_eq!(outcome.flows[0].delivered, 1_000);
}

/// A Retry adds a round trip of 50 ms.
#[test]
fn retry() {
    let (plain, retried) = (every_pair(&scenario(1_000), false), every_pair(&scenario(1_000), true));
    for ((name, plain), (_, retried)) in plain.iter().zip(&retried) {
        let later = done(retried) - done(plain);
        assert!((0.05..0.056).contains(&later), "{name}: {later}");
    }
}

/// The first flights are repeated needlessly, and the transfer completes.
#[test]
fn long_round_trip() {
    let mut long = scenario(1_000_000);
    long.link.delay = Duration::from_millis(375);
    long.flows[0].rtt = Duration::from_millis(750);
    for (name, outcome) in every_pair(&long, false) {
        assert!((5.0..9.0).contains(&done(&outcome)), "{name}");
    }
}

/// A corrupted datagram fails authentication and is a loss. A duplicate is neither data nor a sign
/// of loss.
#[test]
fn damage_and_copies() {
    let mut damaging = scenario(1_000_000);
    damaging.link.corrupt = 0.02;
    for (name, outcome) in every_pair(&damaging, false) {
        assert!(outcome.link.corrupted.packets > 5, "{name}");
        assert!(outcome.flows[0].stats.lost() + 2 >= outcome.link.corrupted.packets, "{name}");
    }
    let mut doubling = scenario(1_000_000);
    doubling.link.duplicate = 0.2;
    for (name, outcome) in every_pair(&doubling, false) {
        assert!(outcome.link.duplicated.packets > 100, "{name}");
    }
}

/// The link fails for two seconds during the transfer.
#[test]
fn a_link_that_goes_dark() {
    let mut dark = scenario(1_000_000);
    dark.link.blackhole = vec![(Time::from_millis(300), Time::from_millis(2300))];
    for (name, outcome) in every_pair(&dark, false) {
        assert!((2.3..8.0).contains(&done(&outcome)), "{name}: {}", done(&outcome));
    }
}

/// If all packets are lost, the flow does not complete, however the connection ends.
#[test]
fn a_connection_that_breaks_is_not_done() {
    if !is_here() {
        return;
    }
    let mut dark = scenario(1_000);
    dark.link.loss = 1.0;
    dark.duration = Duration::from_secs(100);
    let outcome = run(&dark, (Stack::Aioquic, Stack::Aioquic), false);
    assert_eq!((outcome.flows[0].finished, outcome.flows[0].delivered), (None, 0));
}

/// aioquic marks no packets and does not report received marks. It is refused as the sender of a
/// marked flow. A marking sender of `ackclock-quic` detects this (RFC 9000 section 13.4.2) before
/// it sends data, and marks none of the data.
#[test]
fn marks() {
    let mut marked = scenario(1_000_000);
    marked.flows[0].recovery.ecn = Ecn::Ect0;
    let why = Stack::Aioquic.check(&marked.flows[0]).unwrap_err().to_string();
    assert_eq!(why, "it marks its packets for ECN, but aioquic marks none");
    if !is_here() {
        return;
    }
    let outcome = run(&marked, (Stack::Ackclock, Stack::Aioquic), false);
    let flow = &outcome.flows[0];
    assert_eq!((flow.delivered, flow.ecn.ect0, flow.stats.ecn_events), (1_000_000, 0, 0));
}

/// The record contains what aioquic reports, and nothing else.
#[test]
fn what_is_counted() {
    if !is_here() {
        return;
    }
    for name in ["new-reno", "cubic"] {
        let mut scenario = transfer(name);
        scenario.flows[0].transfer = Some(2_000_000);
        let outcome = on(Stack::Aioquic, &scenario);
        let flow = &outcome.flows[0];
        assert!(flow.totals.rtt.count() > 500, "a sample for each ACK");
        assert_eq!(flow.totals.sent, 0, "not shown");
        assert_eq!(flow.totals.packets, flow.stats.sent + flow.stats.bare);
        assert!(flow.totals.wire > 2_000_000);
        assert_eq!(flow.stats.lost(), flow.totals.dropped, "every drop is found, and nothing else is lost");
        assert!(flow.stats.loss_events > 0);
        assert!(flow.least_window.is_some_and(|least| least < flow.slow_start_window));
        let series = &outcome.series.flows[0];
        assert!(series.cwnd.iter().skip(1).all(|cwnd| cwnd > 0.0), "{:?}", series.cwnd);
        assert!(series.bytes_in_flight.iter().any(|bytes| bytes > 0.0));
    }
}

/// Two runs are identical, each with its own certificate and process.
#[test]
fn the_same_twice() {
    if !is_here() {
        return;
    }
    for pair in PAIRS {
        let mut scenario = scenario(1_000_000);
        scenario.link.loss = 0.005;
        let (one, two) = (run(&scenario, pair, false), run(&scenario, pair, false));
        assert_eq!(format!("{one:?}"), format!("{two:?}"), "{pair:?}");
    }
}

/// All flows of a run share one process, and a simulated flow shares their link.
#[test]
fn side_by_side() {
    if !is_here() {
        return;
    }
    let flows = ["cubic", "new-reno", "cubic"].map(flow);
    let scenario = Scenario::new(link(), flows, Duration::from_secs(10));
    let host = Host::default();
    let mut guests = guests_on(Stack::Aioquic, &scenario, &Profile::default(), &host).unwrap();
    guests.truncate(2);
    let outcome = sim::run_with_guests(&scenario, guests, &Watch::default(), None).unwrap();
    assert_eq!(host.failure(), None);
    let goodputs = [0, 1, 2].map(|number| goodput(&outcome, number));
    println!("cubic and new-reno in aioquic, cubic simulated: {goodputs:.2?} Mbit/s");
    assert!(goodputs.iter().sum::<f64>() > 9.0);
    assert!(goodputs.iter().all(|one| *one > 1.0));
}

/// Uses the network of docs/src/notebook/stack.md: 10 MB, 10 Mbit/s, a queue of 42 packets of 1200
/// bytes plus 28 of headers. aioquic's slow start ends when the RTT rises, and both controllers are
/// its own. The test only checks that the results are of the right magnitude.
#[test]
fn smaller_packets() {
    if !is_here() {
        return;
    }
    let transport = Transport::Quic { datagram: 1200, header: 37, overhead: 28 };
    for name in ["new-reno", "cubic"] {
        let mut scenario = transfer(name);
        scenario.flows[0] = FlowConfig { transport, ..scenario.flows[0].clone() };
        let (model, outcome) = (on_simulator(&scenario), on(Stack::Aioquic, &scenario));
        for (world, outcome) in [("simulator", &model), ("aioquic", &outcome)] {
            let flow = &outcome.flows[0];
            println!(
                "{name:9} {world:9} done {:.3} s, dropped {}, lost {}, {} reductions, RTT {:.2} ms, slow start to {} B",
                done(outcome),
                flow.totals.dropped,
                flow.stats.lost(),
                flow.stats.loss_events,
                flow.totals.rtt.mean_ms(),
                flow.slow_start_window
            );
        }
        assert_eq!(outcome.flows[0].delivered, 10_000_000);
        assert!(more(done(&outcome), done(&model)).abs() < 0.1, "{name}");
    }
}

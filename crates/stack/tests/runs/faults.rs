//! Links that damage, double, drop by number and go dark: the transfer is complete all the same.

use ackclock_stack::Cipher;
use link::LinkConfig;
use units::Time;

use crate::common::*;

/// 2 MB over this link by our endpoints with TLS.
fn complete(change: impl Fn(&mut LinkConfig)) -> scenario::Outcome {
    let mut scenario = transfer("cubic");
    scenario.flows[0].transfer = Some(2_000_000);
    change(&mut scenario.link);
    let outcome = on_stack(&scenario, Cipher::Tls);
    assert_eq!(outcome.flows[0].delivered, 2_000_000);
    outcome
}

/// A damaged datagram fails its seal: it is a loss, found by those behind it.
#[test]
fn damage_is_loss() {
    let outcome = complete(|link| link.corrupt = 0.02);
    assert!(outcome.link.corrupted.packets > 20);
    assert!(outcome.flows[0].stats.lost() >= outcome.link.corrupted.packets - 2);
}

/// A packet number comes once: copies are neither data nor a sign of anything.
#[test]
fn copies_change_nothing() {
    let (plain, doubled) = (complete(|_| {}), complete(|link| link.duplicate = 0.2));
    assert!(doubled.link.duplicated.packets > 200);
    let (a, b) = (&plain.flows[0], &doubled.flows[0]);
    assert!(more(done(&doubled), done(&plain)).abs() < 0.01);
    // A copy takes a nanosecond, which decides now and then who finds the queue full.
    assert!(b.stats.lost().abs_diff(a.stats.lost()) <= 5, "{} and {}", a.stats.lost(), b.stats.lost());
    assert_eq!(b.stats.spurious, 0);
}

/// The first flight of the handshake, and packets in mid-flow.
#[test]
fn packets_are_dropped_by_number() {
    let outcome = complete(|link| (link.limit, link.drop) = (link::Limit::Unlimited, vec![1, 2, 50, 51]));
    assert_eq!((outcome.link.dropped_listed.packets, outcome.flows[0].totals.dropped), (4, 4));
}

/// A link that stays dark: the connection times out, and the transfer is not done.
#[test]
fn a_connection_that_times_out_is_not_done() {
    let mut scenario = transfer("cubic");
    scenario.link.blackhole = vec![(Time::from_millis(2000), Time::from_millis(60_000))];
    let outcome = on_stack(&scenario, Cipher::Tls);
    let flow = &outcome.flows[0];
    assert!(flow.finished.is_none() && flow.delivered < 3_000_000, "{:?}, {}", flow.finished, flow.delivered);
    let why = flow.why_broken("cubic").unwrap();
    assert!(
        why.starts_with("the connection of cubic was over after 32.") && why.ends_with("the idle timeout"),
        "{why}"
    );
}

/// Two seconds without a link in mid-transfer.
#[test]
fn a_blackhole_is_outlived() {
    let dark = (Time::from_millis(500), Time::from_millis(2500));
    let (plain, outcome) = (complete(|_| {}), complete(|link| link.blackhole = vec![dark]));
    let longer = done(&outcome) - done(&plain);
    assert!(outcome.link.dropped_blackhole.packets > 5 && (1.5..6.0).contains(&longer), "{longer} s");
}

//! Transfers complete over links that corrupt, duplicate, drop listed packets, and fail for a time.

use ackclock_stack::Cipher;
use link::LinkConfig;
use units::Time;

use crate::common::*;

/// Runs a transfer of 2 MB over this link, with TLS, and checks that it completes.
fn complete(change: impl Fn(&mut LinkConfig)) -> scenario::Outcome {
    let mut scenario = transfer("cubic");
    scenario.flows[0].transfer = Some(2_000_000);
    change(&mut scenario.link);
    let outcome = on_stack(&scenario, Cipher::Tls);
    assert_eq!(outcome.flows[0].delivered, 2_000_000);
    outcome
}

/// A corrupted datagram fails authentication. Later packets reveal it as a loss.
#[test]
fn damage_is_loss() {
    let outcome = complete(|link| link.corrupt = 0.02);
    assert!(outcome.link.corrupted.packets > 20);
    assert!(outcome.flows[0].stats.lost() >= outcome.link.corrupted.packets - 2);
}

/// Duplicates of a packet number are neither data nor a congestion signal.
#[test]
fn copies_change_nothing() {
    let (plain, doubled) = (complete(|_| {}), complete(|link| link.duplicate = 0.2));
    assert!(doubled.link.duplicated.packets > 200);
    let (a, b) = (&plain.flows[0], &doubled.flows[0]);
    assert!(more(done(&doubled), done(&plain)).abs() < 0.01);
    // A duplicate takes a nanosecond, which sometimes decides which packet meets a full queue.
    assert!(b.stats.lost().abs_diff(a.stats.lost()) <= 5, "{} and {}", a.stats.lost(), b.stats.lost());
    assert_eq!(b.stats.spurious, 0);
}

/// Drops the first flight of the handshake, and packets during the transfer.
#[test]
fn packets_are_dropped_by_number() {
    let outcome = complete(|link| (link.limit, link.drop) = (link::Limit::Unlimited, vec![1, 2, 50, 51]));
    assert_eq!((outcome.link.dropped_listed.packets, outcome.flows[0].totals.dropped), (4, 4));
}

/// The link fails for two seconds during the transfer.
#[test]
fn a_blackhole_is_outlived() {
    let dark = (Time::from_millis(500), Time::from_millis(2500));
    let (plain, outcome) = (complete(|_| {}), complete(|link| link.blackhole = vec![dark]));
    let longer = done(&outcome) - done(&plain);
    assert!(outcome.link.dropped_blackhole.packets > 5 && (1.5..6.0).contains(&longer), "{longer} s");
}

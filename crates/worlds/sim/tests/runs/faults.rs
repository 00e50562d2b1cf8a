//! Links with planned losses, damage and copies.

use link::LinkConfig;
use scenario::{FlowConfig, Outcome};
use units::{Duration, Time};

use crate::common::{quic_flow, run, scenario, tcp_flow};

const BYTES: u64 = 4_000_000;

/// Runs a transfer of 4 MB on this link, with a ping.
fn transfer(flow: FlowConfig, change: impl Fn(&mut LinkConfig)) -> Outcome {
    let mut s = scenario(2.0, 60, vec![FlowConfig { transfer: Some(BYTES), ..flow }]);
    change(&mut s.link);
    run(&s)
}

fn flows() -> [FlowConfig; 2] {
    [quic_flow("name = 'cubic'"), tcp_flow("name = 'cubic'")]
}

/// All data arrives, once. Damaged packets count as dropped, and no others do.
#[test]
fn damage_is_loss() {
    for flow in flows() {
        let out = transfer(flow, |link| link.corrupt = 0.02);
        let totals = &out.flows[0].totals;
        assert_eq!(out.flows[0].delivered, BYTES);
        assert!(out.link.corrupted.packets > 30);
        assert_eq!(totals.dropped, out.link.corrupted.packets + out.link.dropped().packets);
        assert!(out.flows[0].stats.lost() >= out.link.corrupted.packets - 1);
    }
}

/// Copies are not data. Nothing is declared lost or slowed down because of them.
#[test]
fn copies_change_nothing() {
    for flow in flows() {
        let unlimited = |link: &mut LinkConfig| link.limit = link::Limit::Unlimited;
        let without = transfer(flow.clone(), unlimited);
        let with = transfer(flow, |link| {
            unlimited(link);
            link.duplicate = 0.1;
        });
        let (a, b) = (&without.flows[0], &with.flows[0]);
        assert!(with.link.duplicated.packets > 250);
        assert_eq!((b.delivered, b.totals.packets, b.totals.dropped), (BYTES, a.totals.packets, 0));
        assert_eq!((b.stats.lost(), b.stats.loss_events), (0, 0));
        // The link carried no copy, but delivered them. The last packets are in flight when the
        // transfer is done.
        assert!(with.link.delivered.packets > with.link.departed.packets + 200);
        let late = b.finished.unwrap() - a.finished.unwrap();
        // Each copy takes a nanosecond; TCP answers it, so that other ACKs leave with other
        // packets.
        assert!(late < Duration::from_millis(5), "{late}");
    }
}

/// The second copy is intact whether or not the first is damaged.
#[test]
fn a_copy_of_what_is_damaged() {
    for flow in flows() {
        let out = transfer(flow, |link| {
            (link.limit, link.corrupt, link.duplicate) = (link::Limit::Unlimited, 1.0, 1.0);
        });
        let flow = &out.flows[0];
        assert!(out.link.corrupted.packets > 2500);
        assert_eq!((flow.delivered, flow.totals.dropped, flow.stats.lost()), (BYTES, 0, 0));
        // Each packet left the link once, and arrived twice.
        let ratio = out.link.delivered.packets as f64 / out.link.departed.packets as f64;
        assert!((1.9..=2.0).contains(&ratio), "{ratio}");
    }
}

/// Drops exactly the packets of these numbers, of any flow on the link.
#[test]
fn packets_are_dropped_by_number() {
    for flow in flows() {
        let out =
            transfer(flow, |link| (link.limit, link.drop) = (link::Limit::Unlimited, vec![20, 21, 300]));
        assert_eq!((out.flows[0].totals.dropped, out.link.dropped_listed.packets), (3, 3));
        assert_eq!((out.flows[0].stats.lost(), out.flows[0].delivered), (3, BYTES));
    }
}

/// Nothing passes while the link is dark, and all data arrives in the end.
#[test]
fn a_blackhole_drops_everything() {
    let dark = (Time::from_millis(1000), Time::from_millis(3000));
    for flow in flows() {
        let out = transfer(flow.clone(), |link| link.blackhole = vec![dark]);
        let plain = transfer(flow, |_| {});
        assert!(out.link.dropped_blackhole.packets > 10);
        assert_eq!(out.flows[0].delivered, BYTES);
        let longer = out.flows[0].finished.unwrap() - plain.flows[0].finished.unwrap();
        assert!(longer >= Duration::from_millis(1900) && longer < Duration::from_secs(8), "{longer}");
    }
}

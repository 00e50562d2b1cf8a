//! The search for the MTU of the path (RFC 8899), in model and protocol.

use ackclock_stack::Profile;
use recovery::Config;
use scenario::trace::Event;
use scenario::{Connection, FlowConfig, Outcome, Scenario, Transport, Watch};
use units::{Bytes, Duration, Time};

use crate::common::*;

/// Headers below QUIC, which the link counts.
const OVERHEAD: u64 = 42;
const BASE: u64 = 1200;

/// Returns a flow that searches up to `most`, over a link that carries datagrams up to `mtu`.
fn searching(most: u32, mtu: u64) -> Scenario {
    let transport = Transport::Quic { datagram: most, header: 37, overhead: OVERHEAD as u32 };
    let recovery = Config { mtu_search: true, ..Config::quic() };
    let flow = FlowConfig { recovery, transport, handshake: false, ..flow("new-reno") };
    let mut link = link();
    link.limit = link::Limit::Unlimited;
    link.mtu = Some(Bytes(mtu + OVERHEAD));
    Scenario { trace: true, ..Scenario::new(link, [flow], Duration::from_secs(4)) }
}

/// Runs it on the simulator and on the stack, which has the same packets.
fn both(scenario: &Scenario) -> [Outcome; 2] {
    let outcome = ackclock_stack::run(scenario, &Profile::exact(), &Watch::default(), None);
    [on_simulator(scenario), outcome.unwrap().unwrap()]
}

/// Returns the result of a bisection to below 20 bytes, and the numbers of sizes that passed and
/// were refused.
fn bisected(most: u64, mtu: u64) -> (u64, [u64; 2]) {
    let (mut low, mut high, mut sizes) = (BASE, most, [0; 2]);
    while high - low >= 20 {
        let size = (low + high).div_ceil(2);
        sizes[usize::from(size > mtu)] += 1;
        if size > mtu { high = size } else { low = size }
    }
    (low, sizes)
}

fn fixed_window(window: u64) -> congestion::Algorithm {
    congestion::algorithms::fixed_window::Params { window }.into()
}

fn delivered(outcome: &Outcome) -> u64 {
    outcome.flows[0].delivered
}

/// One probe for a size that passes and three for one that is refused. Nothing else is dropped, and
/// the window is never reduced. Objects keep the queue short: in a queue without limit, slow start
/// would double the RTT from probe to probe.
#[test]
fn as_many_probes_as_the_closed_form() {
    for (most, mtu) in [(1472, 1472), (1472, 1358), (1472, 1201), (1252, 1300), (1219, 1219), (4000, 2222)] {
        let (size, [passed, refused]) = bisected(most.into(), mtu);
        assert!(mtu.min(most.into()) - size < 20);
        let mut scenario = searching(most, mtu);
        scenario.flows[0].application = objects(Connection::Kept).application;
        scenario.duration = Duration::from_secs(20);
        for outcome in both(&scenario) {
            let (flow, drops) = (&outcome.flows[0], outcome.link.dropped_too_large);
            assert_eq!(flow.stats.datagram_size, Some(size), "{most} {mtu}");
            assert_eq!(flow.stats.mtu_probes, passed + 3 * refused);
            assert_eq!((drops.packets, outcome.link.dropped()), (3 * refused, drops));
            assert_eq!((flow.stats.lost(), flow.stats.spurious), (3 * refused, 0));
            assert_eq!((flow.reductions, flow.stats.loss_events, flow.stats.collapses), (0, 0, 0));
            assert!(delivered(&outcome) > 1_000_000);
        }
    }
}

/// Each probe leaves when the one before is acknowledged: one RTT later, if there is no queue. The
/// largest packets that carry data have the size found so far.
#[test]
fn one_probe_per_round_trip() {
    let mut scenario = searching(1472, 1472);
    scenario.flows[0].algorithm = fixed_window(4);
    scenario.flows[0].recovery.paced = recovery::Paced::ByRate;
    scenario.flows[0].ack.ack_every = 1.into();
    for (world, outcome) in ["sim", "stack"].iter().zip(both(&scenario)) {
        let sent = outcome.flows[0].trace.iter().flatten().filter_map(|(at, event)| match event {
            Event::Sent { bytes, len, .. } => Some((*at, *bytes, *len)),
            _ => None,
        });
        let sent: Vec<_> = sent.collect();
        let probes: Vec<_> = sent.iter().filter(|packet| packet.2 == 0).collect();
        assert_eq!(probes.iter().map(|probe| probe.1).collect::<Vec<_>>(), [1336, 1404, 1438, 1455]);
        for two in probes.windows(2) {
            let (gap, rtt) = (two[1].0 - two[0].0, scenario.flows[0].rtt);
            // A packet takes 1.2 ms on the link, and up to four wait for each other.
            assert!(gap >= rtt && gap < rtt + Duration::from_millis(6), "{gap}");
            let between = sent.iter().filter(|p| two[0].0 < p.0 && p.0 < two[1].0 && p.2 > 0);
            assert!(between.map(|p| p.1).max().unwrap_or(0) < two[0].1, "not before it is acknowledged");
        }
        let arrived = outcome.flows[0].far_trace.iter().flatten().filter_map(|(_, event)| match event {
            Event::Received { bytes, len: 0, .. } => Some(*bytes),
            _ => None,
        });
        // The receiver of the stack logs packets with data alone.
        let expected: &[u32] = if *world == "sim" { &[1336, 1404, 1438, 1455] } else { &[] };
        assert_eq!(arrived.collect::<Vec<_>>(), expected);
        let last = sent.iter().filter(|packet| packet.0 > Time::from_millis(1000));
        assert!(last.clone().count() > 100 && last.map(|packet| packet.1).all(|bytes| bytes == 1455));
    }
}

/// Below 1200 bytes nothing passes, and the link says why.
#[test]
fn a_path_below_the_base() {
    for outcome in both(&searching(1472, 1199)) {
        assert_eq!(delivered(&outcome), 0);
        let link = &outcome.link;
        assert!(link.dropped_too_large.packets > 0 && link.dropped_too_large == link.pushed);
        assert_eq!(outcome.flows[0].stats.mtu_probes, 0);
    }
}

/// The MTU falls in the middle of a transfer: datagrams fall back to 1200 bytes, and 600 s later
/// the search finds the new MTU. All data arrives.
#[test]
fn an_mtu_that_falls() {
    let mut scenario = searching(1472, 1472);
    scenario.link.rate = link::RateModel::Constant(units::Rate(1_000_000));
    scenario.link.limit = link::Limit::Bytes(Bytes(30_000));
    scenario.link.mtu_steps = link::Steps(vec![(Time::from_millis(20_000), Bytes(1300 + OVERHEAD))]);
    scenario.trace = false;
    for (seconds, size) in [(60, 1200), (700, bisected(1472, 1300).0)] {
        scenario.duration = Duration::from_secs(seconds);
        for outcome in both(&scenario) {
            let flow = &outcome.flows[0];
            assert_eq!(flow.stats.datagram_size, Some(size));
            // 2 % of the time for the fall, and what slow start and CUBIC's kind leave unused.
            let capacity = seconds as f64 * 125_000.0 * 1163.0 / 1242.0;
            assert!(delivered(&outcome) as f64 > 0.9 * capacity, "{} of {capacity}", delivered(&outcome));
        }
    }
    scenario.flows[0].transfer = Some(4_000_000);
    for outcome in both(&scenario) {
        assert_eq!((delivered(&outcome), outcome.flows[0].finished.is_some()), (4_000_000, true));
    }
}

/// A search changes nothing if only 1200 bytes may be used.
#[test]
fn nothing_to_search() {
    let with = searching(1200, 1200);
    let mut without = with.clone();
    without.flows[0].recovery.mtu_search = false;
    for (with, without) in both(&with).iter().zip(&both(&without)) {
        assert_eq!(with.flows[0].trace, without.flows[0].trace);
    }
}

//! Controllers based on one-way delay: on TCP's timestamps, and on clocks that count in
//! milliseconds.

use crate::common::*;
use recovery::Clock;
use scenario::{FlowConfig, Outcome, Scenario};
use units::{Duration, Time};

/// Transmission time of a full TCP packet at [`RATE`], in ms.
const TCP_PACKET_MS: f64 = 1500.0 * 8.0 / 10e3;

/// Returns a flow with an ACK for each packet, and with timestamps of this unit.
fn stamped(toml: &str, unit: Duration) -> FlowConfig {
    let mut flow = tcp_flow(toml);
    (flow.ack.timestamps, flow.ack.timestamp_granularity, flow.ack.ack_every) = (1, unit, 1.into());
    flow
}

/// Counts from second 30 on.
fn settled(flow: FlowConfig) -> Scenario {
    let mut s = scenario(16.0, 90, vec![flow]);
    s.measure = Some((Time::from_millis(30_000), Time::from_millis(90_000)));
    s.series = Some(Duration::from_millis(100));
    s
}

fn owd(out: &Outcome) -> f64 {
    out.flows[0].totals.owd.mean_ms()
}

const US: Duration = Duration::from_micros(1);
const MS: Duration = Duration::from_millis(1);

/// RFC 6817: alone, it settles where its queue is TARGET. The same holds on TCP and on QUIC,
/// whatever the unit, up to its rounding.
#[test]
fn ledbat_on_tcp_settles_at_its_target() {
    for (unit, tolerance) in [(US, 1.5), (MS, 2.5)] {
        for target in [25.0, 60.0] {
            let out = run(&settled(stamped(&format!("name = 'ledbat'\ntarget = '{target} ms'"), unit)));
            let queue = owd(&out) - 25.0 - TCP_PACKET_MS;
            assert!((queue - target).abs() < tolerance, "{target} ms in units of {unit}: {queue}");
            assert!(goodput(&out, 0) > 0.99 * 10.0 * 1448.0 / 1500.0);
        }
    }
}

/// Returns the result of DCCC at 1 Mbit/s, where the price of a rate is not small.
fn dccc(flow: FlowConfig) -> f64 {
    let mut s = settled(flow);
    s.link.rate = link::RateModel::Constant(units::Rate(1_000_000));
    owd(&run(&s))
}

/// Returns the true delay, e - late, of equation 19 of D'Aronco et al.: e = T_r + RTT h / (beta x),
/// h = 20 kbit/s, beta = 0.1. The controller sees `late` ms more of one-way delay than its RTT has:
/// RTT = e - late + 25 ms. x counts what the window counts, a part of the 1 Mbit/s on the wire.
fn equation_19(x: f64, late: f64) -> f64 {
    let price = 20e3 / (0.1 * x);
    (100.0 + (25.0 - late) * price) / (1.0 - price) - late
}

const TCP_RATE: f64 = 1e6 * 1448.0 / 1500.0;

#[test]
fn dccc_on_tcp_settles_at_equation_19() {
    for unit in [US, MS] {
        let rests = dccc(stamped("name = 'dccc'\nthreshold = '100 ms'", unit));
        let expected = equation_19(TCP_RATE, 0.0);
        assert!((rests / expected - 1.0).abs() < 0.01, "{unit}: {rests} for {expected}");
    }
}

/// A delayed ACK's timestamps are those of its first packet and of its own departure. The wait for
/// the third packet, two transmissions of 12 ms, therefore counts as delay, whereas the RTT is that
/// of the newest packet.
#[test]
fn delayed_acks_count_as_delay() {
    let mut flow = stamped("name = 'dccc'\nthreshold = '100 ms'", US);
    flow.ack.ack_every = 3.into();
    let (rests, expected) = (dccc(flow), equation_19(TCP_RATE, 24.0));
    assert!((rests / expected - 1.0).abs() < 0.01, "{rests} for {expected}");
}

/// QUIC-DC reduces when the queue exceeds its threshold: the largest queue is hardly above it, on
/// TCP and on QUIC.
#[test]
fn quic_dc_on_tcp_keeps_its_threshold() {
    for unit in [US, MS] {
        let out = run(&settled(stamped("name = 'quic-dc'\nthreshold = '20 ms'", unit)));
        let flow = &out.flows[0];
        let queue = flow.totals.owd.max_ms() - 25.0 - TCP_PACKET_MS;
        assert!(flow.stats.delay_events > 10 && flow.totals.dropped == 0, "{:?}", flow.stats);
        assert!((20.0..25.0).contains(&queue), "{unit}: {queue}");
    }
}

/// Both ends round down. The errors of a delay are those of two clocks, without bias where arrivals
/// and departures fall anywhere in a millisecond. Two clocks with an offset have a bias, like any
/// clocks.
#[test]
fn coarse_clocks_at_both_ends() {
    let at = |clock: Clock| dccc(FlowConfig { clock, ..quic_flow("name = 'dccc'\nthreshold = '100 ms'") });
    let exact = at(Clock::default());
    let coarse = at(Clock { granularity: MS, ..Clock::default() });
    assert!((coarse - exact).abs() < 0.2, "{exact} {coarse}");
    let apart = at(Clock { granularity: MS * 10, offset_seconds: 0.003, ..Clock::default() });
    assert!((exact - apart - 3.0).abs() < 1.0, "{exact} {apart}");
}

/// With units of a millisecond at both ends, a controller sees delays in whole milliseconds, from
/// QUIC's receive times and from TCP's timestamps. Without them it sees fractions.
#[test]
fn the_controller_sees_whole_milliseconds() {
    let seen = |flow: FlowConfig| {
        let mut s = settled(flow);
        s.trace = true;
        let mut seen = std::collections::BTreeSet::new();
        for (_, event) in run(&s).flows[0].trace.iter().flatten() {
            if let scenario::trace::Event::Metrics(metrics) = event {
                let delays = metrics.inner.iter().filter(|(name, _)| *name == "queuing_delay");
                seen.extend(delays.map(|(_, seconds)| (seconds * 1e9).round() as u64));
            }
        }
        seen
    };
    let whole = |ns: &u64| ns.is_multiple_of(1_000_000);
    let clock = Clock { granularity: MS, offset_seconds: -0.0123456, ..Clock::default() };
    let quic = seen(FlowConfig { clock, ..quic_flow("name = 'ledbat'") });
    assert!(quic.len() > 50 && quic.iter().all(whole), "{quic:?}");
    let tcp = seen(stamped("name = 'ledbat'", MS));
    assert!(tcp.len() > 50 && tcp.iter().all(whole), "{tcp:?}");
    assert!(!seen(quic_flow("name = 'ledbat'")).iter().all(whole));
}

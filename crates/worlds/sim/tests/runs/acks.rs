//! Departure of acknowledgements from their receiver, against closed forms.

use crate::common::*;
use link::{Limit, LinkConfig, Reorder};
use recovery::{AckEvery, Paced};
use scenario::trace::Event;
use scenario::{Back, FlowConfig, Outcome, Route, Scenario};
use units::{Duration, Rate, Time};

/// Transmission time of a full QUIC packet at [`RATE`], in ms.
const PACKET_MS: f64 = 1294.0 * 8.0 / 10e3;

fn window(flow: FlowConfig) -> FlowConfig {
    let mut flow = flow;
    (flow.ack.ack_every, flow.recovery.paced) = (1.into(), Paced::Never);
    flow
}

/// Returns a scenario with acknowledgements of 99 bytes over a link of their own, fast enough to be
/// negligible.
fn over_a_link(seconds: u64, flow: FlowConfig) -> Scenario {
    let back = Back { route: Route { first: 1, last: u16::MAX }, size: 99 };
    let s = scenario(4.0, seconds, vec![FlowConfig { back: Some(back), ..flow }]);
    let reverse = LinkConfig { delay: RTT / 2, ..LinkConfig::plain(Rate(1_000_000_000_000)) };
    Scenario { reverse: vec![reverse], reverse_names: vec!["reverse".to_owned()], ..s }
}

/// With one packet per round trip, each draw shows.
///
/// ```text
/// RTT = base RTT + packet + uniform[0, jitter],   rate = 1 / its mean
/// ```
#[test]
fn jitter_is_uniform_and_no_ack_delay() {
    for over_link in [false, true] {
        for jitter in [5.0, 40.0] {
            let mut flow = window(quic_flow("name = 'fixed-window'\nwindow = 1"));
            flow.ack.jitter = Duration::from_millis(jitter as u64);
            let mut s = if over_link { over_a_link(600, flow) } else { scenario(4.0, 600, vec![flow]) };
            s.trace = true;
            let out = run(&s);
            let (least, rtt) = (50.0 + PACKET_MS, &out.flows[0].totals.rtt);
            let samples = rtt.count() as f64;
            let error = 4.0 * jitter / (12.0 * samples).sqrt();
            assert!((rtt.mean_ms() - least - jitter / 2.0).abs() < error, "{jitter}: {}", rtt.mean_ms());
            assert!((rtt.std_ms() - jitter / 12_f64.sqrt()).abs() < 0.03 * jitter, "{}", rtt.std_ms());
            assert!(rtt.max_ms() <= least + jitter + 1e-3, "{}", rtt.max_ms());
            assert!((samples / 600e3 - 1.0 / rtt.mean_ms()).abs() < 1e-5, "{samples}");
            let delays = out.flows[0].trace.iter().flatten().filter_map(|(_, event)| match event {
                Event::Acked(ack) => Some(ack.delay),
                _ => None,
            });
            assert!(
                delays.into_iter().all(|delay| delay == Duration::ZERO),
                "the peer does not report jitter as ACK delay"
            );
        }
    }
}

/// Acknowledgements that leave close together keep their order, whatever each draws. Nothing is
/// declared lost, and the flow gets the rate that the largest delay allows.
#[test]
fn jitter_keeps_order() {
    for tcp in [false, true] {
        let flow = if tcp { tcp_flow } else { quic_flow };
        let mut flow = window(flow("name = 'fixed-window'\nwindow = 200"));
        flow.ack.jitter = Duration::from_millis(20);
        let out = run(&scenario(16.0, 60, vec![flow]));
        let f = &out.flows[0];
        assert_eq!((f.stats.lost(), f.stats.retransmissions), (0, 0), "tcp {tcp}");
        let full = if tcp { 1448.0 / 1500.0 } else { 1215.0 / 1294.0 };
        assert!(goodput(&out, 0) > 0.99 * 10.0 * full, "{}", goodput(&out, 0));
    }
}

fn packets_per_ack(out: &Outcome) -> f64 {
    let t = &out.flows[0].totals;
    t.packets as f64 / t.feedback as f64
}

/// The number of packets per ACK changes at the time of each step and at no other.
#[test]
fn steps_of_the_ack_frequency() {
    let step = |s: u64, packets: u64| (Time::from_millis(1000 * s), packets);
    for tcp in [false, true] {
        let flow = if tcp { tcp_flow } else { quic_flow };
        let mut flow = window(flow("name = 'fixed-window'\nwindow = 60"));
        flow.ack.ack_every = AckEvery::Steps(vec![step(5, 2), step(10, 10), step(20, 1)]);
        for (from, to, packets) in [(1, 10, 2.0), (10, 20, 10.0), (20, 30, 1.0)] {
            let mut s = over_a_link(30, flow.clone());
            // The last acknowledgement of the previous step leaves within 13 ms: ten packets.
            s.measure = Some((Time::from_millis(1000 * from + 20), Time::from_millis(1000 * to)));
            let ratio = packets_per_ack(&run(&s));
            assert!((ratio / packets - 1.0).abs() < 2e-3, "tcp {tcp}, from {from} s: {ratio}");
        }
    }
}

/// The same scenario draws the same jitter; another seed draws another.
#[test]
fn jitter_has_a_stream_of_its_own() {
    let mut flow = window(quic_flow("name = 'cubic'"));
    flow.ack.jitter = Duration::from_millis(3);
    let mut s = scenario(1.0, 10, vec![flow]);
    let (a, b) = (run(&s), run(&s));
    assert_eq!(a.flows[0].totals, b.flows[0].totals);
    s.seed = 2;
    assert_ne!(run(&s).flows[0].totals.rtt, a.flows[0].totals.rtt);
}

/// One packet per round trip waits for a quarter of the base RTT, in whole milliseconds: 13.
#[test]
fn a_quarter_of_the_rtt() {
    for (factor, wait) in [(None, 25.0), (Some(0.25), 13.0)] {
        let mut flow = window(quic_flow("name = 'fixed-window'\nwindow = 1"));
        flow.ack.ack_every = 10.into();
        (flow.ack.delay_factor, flow.ack.timer_tick) = (factor, Duration::from_millis(1));
        let rtt = &run(&scenario(4.0, 20, vec![flow])).flows[0].totals.rtt;
        let expected = 50.0 + PACKET_MS + wait;
        assert!((rtt.mean_ms() - expected).abs() < 1e-3 * expected, "{factor:?}: {}", rtt.mean_ms());
    }
}

/// With a burst for each ACK, a queue overflow loses packets in pieces over more than a round trip.
/// It is still one loss event. As two events, goodput would fall by a tenth where the queue grows
/// by one packet. Queues below a burst of nine differ: there each additional packet adds goodput.
#[test]
fn a_larger_queue_costs_nothing() {
    for controller in ["name = 'new-reno'", "name = 'cubic'"] {
        let goodput_with = |packets: u64| {
            let mut flow = quic_flow(controller);
            (flow.ack.ack_every, flow.recovery.pacing.burst) = (9.into(), Some(2));
            flow.ack.max_ack_delay = Duration::from_micros(12_500);
            let mut s = scenario(1.0, 80, vec![flow]);
            s.link.limit = Limit::Packets(packets);
            goodput(&run(&s), 0)
        };
        let goodputs: Vec<f64> = (9..=40).map(goodput_with).collect();
        for (i, three) in goodputs.windows(3).enumerate() {
            let most = three[0].max(three[2]);
            assert!(three[1] > 0.97 * most, "{controller}, a queue of {} packets: {three:?}", 10 + i);
        }
    }
}

/// An ACK reports its delay in units of 8 microseconds, rounded down (RFC 9000 sections 18.2 and
/// 19.3).
#[test]
fn ack_delays_are_reported_in_units() {
    let mut s = scenario(4.0, 20, vec![quic_flow("name = 'cubic'")]);
    s.trace = true;
    s.link.reorder = Some(Reorder { every: 100, by: Duration::from_micros(1555) });
    let flow = run(&s).flows.remove(0);
    let delays = flow.trace.iter().flatten().filter_map(|(_, event)| match event {
        Event::Acked(ack) => Some(ack.delay.0),
        _ => None,
    });
    let delays: Vec<_> = delays.filter(|delay| *delay > 0).collect();
    assert!(delays.iter().any(|delay| *delay < 2_000_000), "{}", delays.len());
    assert!(delays.iter().all(|delay| delay % 8000 == 0), "{delays:?}");
}

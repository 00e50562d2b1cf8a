//! The round trip before the first data, against closed forms.

use crate::common::*;
use congestion::Algorithm;
use link::LinkConfig;
use recovery::Paced;
use scenario::trace::{Event, Metrics};
use scenario::{Application, Back, Connection, FlowConfig, ObjectsConfig, Outcome, Route, Scenario};
use units::{Bytes, Duration, Rate, Time};

/// A link's transmission of so many bytes, seconds at [`RATE`].
fn wire(bytes: u32) -> f64 {
    f64::from(bytes) * 8.0 / 10e6
}

fn opens(flow: FlowConfig) -> FlowConfig {
    FlowConfig { handshake: true, ..flow }
}

fn traced(flow: FlowConfig) -> Scenario {
    Scenario { trace: true, ..scenario(4.0, 30, vec![flow]) }
}

/// When the first state was logged, and what it was.
fn first_metrics(out: &Outcome) -> (f64, Metrics) {
    let found = out.flows[0].trace.iter().flatten().find_map(|(time, event)| match event {
        Event::Metrics(metrics) => Some((time.as_secs_f64(), metrics.clone())),
        _ => None,
    });
    found.unwrap()
}

fn close(what: &str, got: f64, expected: f64) {
    assert!((got - expected).abs() < 1e-8, "{what}: {got} for {expected}");
}

/// A transfer of one packet takes one and a half round trips, and each packet its transmission:
///
/// ```text
/// RTT of the handshake = base RTT + Initial / rate,   completion = that + base RTT / 2 + packet / rate
/// ```
#[test]
fn one_round_trip_before_the_data() {
    for (flow, initial, packet) in
        [(quic_flow("name = 'cubic'"), 1242, 1079), (tcp_flow("name = 'cubic'"), 52, 1052)]
    {
        let flow = FlowConfig { transfer: Some(1000), ..flow };
        let without = run(&scenario(4.0, 30, vec![flow.clone()]));
        close("without", without.flows[0].finished.unwrap().as_secs_f64(), 0.025 + wire(packet));
        let out = run(&traced(opens(flow)));
        let rtt = 0.05 + wire(initial);
        let (at, metrics) = first_metrics(&out);
        close("sample at", at, rtt);
        close("smoothed_rtt", metrics.smoothed_rtt.as_secs_f64(), rtt);
        close("rttvar", metrics.rttvar.as_secs_f64(), rtt / 2.0);
        assert_eq!((metrics.bytes_in_flight, metrics.latest_rtt), (0, Some(metrics.min_rtt)));
        close("completion", out.flows[0].finished.unwrap().as_secs_f64(), rtt + 0.025 + wire(packet));
        let totals = &out.flows[0].totals;
        assert_eq!((totals.packets, totals.wire, totals.sent), (2, u64::from(initial + packet), 1000));
        assert_eq!(out.flows[0].stats.sent, 1, "the sender counts packets of data alone");
    }
}

/// Over a link back the reply has its size too; ACKs are smaller.
#[test]
fn the_reply_crosses_the_links_back() {
    let back = Back { route: Route { first: 1, last: u16::MAX }, size: 99 };
    let reverse = LinkConfig { delay: RTT / 2, ..LinkConfig::plain(Rate(1_000_000)) };
    let flow = FlowConfig { back: Some(back), transfer: Some(1000), ..opens(quic_flow("name = 'cubic'")) };
    let s = Scenario { reverse: vec![reverse], reverse_names: vec!["reverse".to_owned()], ..traced(flow) };
    let out = run(&s);
    close("rtt", first_metrics(&out).1.smoothed_rtt.as_secs_f64(), 0.05 + wire(1242) + 10.0 * wire(1242));
    assert_eq!(out.reverse[0].pushed.bytes, 1242);
    assert_eq!((out.flows[0].totals.feedback, out.reverse[0].pushed.packets), (1, 1));
}

/// Half of the Initials are lost: the n-th leaves after 2^n - 1 timeouts, with a chance of 2^-(n+1) to be the one that arrives,
/// and its own round trip is the sample.
#[test]
fn lost_ones_are_repeated() {
    for (flow, timeout) in [(quic_flow("name = 'cubic'"), 0.999), (tcp_flow("name = 'cubic'"), 1.0)] {
        let initial = if timeout == 1.0 { 52 } else { 1242 };
        let mut counts = [0; 5];
        for seed in 1000..1400 {
            let mut s = traced(FlowConfig { transfer: Some(1000), ..opens(flow.clone()) });
            (s.link.loss, s.seed) = (0.5, seed);
            s.duration = Duration::from_secs(100_000);
            let (at, metrics) = first_metrics(&run(&s));
            close("sample", metrics.smoothed_rtt.as_secs_f64(), 0.05 + wire(initial));
            let waited = (at - 0.05 - wire(initial)) / timeout;
            let repeats = libm::log2(waited + 1.0);
            assert!((repeats - repeats.round()).abs() < 1e-6, "{at}");
            counts[(repeats.round() as usize).min(4)] += 1;
        }
        for (count, share) in counts.iter().zip([0.5, 0.25, 0.125, 0.0625, 0.0625]) {
            let error = 4.0 * f64::sqrt(400.0 * share * (1.0 - share));
            assert!((f64::from(*count) - 400.0 * share).abs() < error, "{counts:?}");
        }
    }
}

/// The pacer knows the round trip from the first packet on (RFC 9002 section 7.7), and a timeout does not guess.
#[test]
fn the_first_sample_paces_and_times() {
    let spread = |flow: FlowConfig| {
        let out = run(&traced(FlowConfig { transfer: Some(40_000), ..flow }));
        let sent: Vec<Time> = out.flows[0]
            .trace
            .iter()
            .flatten()
            .filter_map(|(time, event)| matches!(event, Event::Sent { .. }).then_some(*time))
            .collect();
        (sent[9] - sent[0]).as_millis_f64()
    };
    let mut flow = quic_flow("name = 'new-reno'");
    flow.recovery.pacing.burst = Some(1);
    assert_eq!(spread(flow.clone()), 0.0, "without a sample the initial window leaves at once");
    let rtt = 1e3 * (0.05 + wire(1242));
    // Nine packets of the ten over the round trip, at the factor of slow start.
    let expected = 0.9 * rtt / flow.recovery.pacing.slow_start_factor;
    assert!((spread(opens(flow)) - expected).abs() < 0.5, "{expected}");
}

/// Each connection has its own: an object takes a round trip longer, on a kept connection the first alone.
#[test]
fn every_new_connection() {
    let objects = |connection, handshake| {
        let objects = ObjectsConfig {
            smallest: Bytes(1000),
            largest: Bytes(1000),
            idle: Duration::from_millis(300),
            begins_on: true,
            connection,
        };
        let flow =
            FlowConfig { application: Application::OnOff(objects), handshake, ..quic_flow("name = 'cubic'") };
        let out = run(&scenario(4.0, 60, vec![flow]));
        let time = &out.flows[0].objects.as_ref().unwrap().time;
        assert!(time.count() > 100);
        (time.mean_ms() * time.count() as f64, time.count() as f64)
    };
    let (one_way, rtt) = (25.0 + 1e3 * wire(1079), 50.0 + 1e3 * wire(1242));
    for (connection, handshakes) in [(Connection::New, 1.0), (Connection::Kept, 0.0)] {
        let (sum, count) = objects(connection, false);
        assert!((sum / count - one_way).abs() < 1e-3, "{connection:?}: {}", sum / count);
        let (sum, count) = objects(connection, true);
        let expected = count * one_way + rtt * f64::max(1.0, handshakes * count);
        assert!((sum - expected).abs() < 1e-3 * count, "{connection:?}: {sum} for {expected}");
    }
}

/// It is opened for the first data: after an idle time or a pause at the start, then and not before.
#[test]
fn opened_for_the_first_data() {
    let pauses = vec![(Time::ZERO, Time::from_millis(3000))];
    let flow = FlowConfig { transfer: Some(1000), pauses, ..opens(quic_flow("name = 'cubic'")) };
    let out = run(&traced(flow));
    close("sample at", first_metrics(&out).0, 3.0 + 0.05 + wire(1242));
}

/// Every controller takes a sample that acknowledges nothing, and every packet is accounted for.
#[test]
fn all_controllers_begin() {
    for algorithm in Algorithm::all() {
        let name = algorithm.name();
        let flow = FlowConfig {
            algorithm: algorithm.clone(),
            transfer: Some(3_000_000),
            ..quic_flow("name = 'cubic'")
        };
        for loss in [0.0, 0.01] {
            let mut s = scenario(1.0, 300, vec![opens(flow.clone())]);
            s.link.loss = loss;
            let out = run(&s);
            assert!(out.flows[0].finished.is_some(), "{name} at {loss}");
            let totals = &out.flows[0].totals;
            assert_eq!(
                (out.link.pushed.packets, out.link.dropped().packets),
                (totals.packets, totals.dropped)
            );
        }
    }
}

/// BBR's first pacing rate is its gain times the initial window over the handshake's round trip, not over a guess
/// (`bbr_init_pacing_rate_from_rtt`).
#[test]
fn bbr_paces_by_the_handshake() {
    let mut flow = opens(tcp_flow("name = 'bbr1'"));
    flow.recovery.paced = Paced::ByRate;
    let (_, metrics) = first_metrics(&run(&traced(FlowConfig { transfer: Some(100_000), ..flow })));
    let rate = metrics.pacing_rate.unwrap() as f64;
    let expected = 2.885 * 0.99 * 14_480.0 * 8.0 / (0.05 + wire(52));
    assert!((rate / expected - 1.0).abs() < 0.02, "{rate} for {expected}");
}

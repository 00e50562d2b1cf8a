//! The round trip before the first data, against closed forms.

use std::collections::BTreeMap;

use crate::common::*;
use congestion::Algorithm;
use link::LinkConfig;
use recovery::Paced;
use scenario::trace::{Event, Metrics};
use scenario::{Application, Back, Connection, FlowConfig, ObjectsConfig, Outcome, Route, Scenario};
use units::{Bytes, Duration, Rate, Time};

/// Bytes that the end of a QUIC handshake takes of the datagram with the first data.
const END: u32 = 150;

/// Returns the transmission time of `bytes` at [`RATE`], in seconds.
fn wire(bytes: u32) -> f64 {
    f64::from(bytes) * 8.0 / 10e6
}

fn opens(flow: FlowConfig) -> FlowConfig {
    FlowConfig { handshake: true, ..flow }
}

fn traced(flow: FlowConfig) -> Scenario {
    Scenario { trace: true, ..scenario(4.0, 30, vec![flow]) }
}

/// Returns the first logged state and its time.
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
/// RTT of the handshake = base RTT + Initial / rate,   completion = that + base RTT / 2 + (end of the handshake + packet) / rate
/// ```
#[test]
fn one_round_trip_before_the_data() {
    // An Initial counts in the window, and increases it as a packet of data would.
    for (flow, initial, packet, end, counted, window) in [
        (quic_flow("name = 'cubic'"), 1242, 1079, END, 3, 12_520 + 1200),
        (tcp_flow("name = 'cubic'"), 52, 1052, 0, 1, 14_480),
    ] {
        let flow = FlowConfig { transfer: Some(1000), ..flow };
        let without = run(&scenario(4.0, 30, vec![flow.clone()]));
        close("without", without.flows[0].finished.unwrap().as_secs_f64(), 0.025 + wire(packet));
        let whole = ("run".to_owned(), Time::ZERO, Time::NEVER);
        let out = run(&Scenario { windows: vec![whole], ..traced(opens(flow)) });
        let rtt = 0.05 + wire(initial);
        let (at, metrics) = first_metrics(&out);
        close("sample at", at, rtt);
        close("smoothed_rtt", metrics.smoothed_rtt.as_secs_f64(), rtt);
        close("rttvar", metrics.rttvar.as_secs_f64(), rtt / 2.0);
        assert_eq!((metrics.bytes_in_flight, metrics.latest_rtt), (0, Some(metrics.min_rtt)));
        close("completion", out.flows[0].finished.unwrap().as_secs_f64(), rtt + 0.025 + wire(end + packet));
        let totals = &out.flows[0].totals;
        assert_eq!((totals.packets, totals.wire, totals.sent), (2, u64::from(initial + end + packet), 1000));
        let same = &out.windows[0].flows[0].totals;
        assert_eq!((same.packets, same.wire), (totals.packets, totals.wire), "a window that is the run");
        assert_eq!((out.flows[0].stats.sent, metrics.cwnd), (counted, window));
    }
}

/// RFC 9002 section 2: an Initial is a packet in flight. Its acknowledgement is a round trip and a
/// rate sample for BBR. In the first flight of data, whose server must reply with HANDSHAKE_DONE,
/// the first packet is acknowledged alone.
#[test]
fn an_initial_is_a_packet() {
    let out = run(&traced(opens(quic_flow("name = 'bbr3'"))));
    let trace = out.flows[0].trace.as_ref().unwrap();
    let (at, metrics) = first_metrics(&out);
    let inner = |name| metrics.inner.iter().find(|(key, _)| *key == name).unwrap().1;
    assert_eq!(inner("round_count"), 1.0);
    // In whole bit/s.
    assert!((inner("bw") - 8.0 * 1200.0 / at).abs() < 1.0);
    let acks = trace.iter().filter_map(|(_, event)| match event {
        Event::Acked(ack) => Some(ack.ranges.to_vec()),
        _ => None,
    });
    assert_eq!(acks.take(3).collect::<Vec<_>>(), [[(0, 0)], [(0, 2)], [(0, 4)]]);
}

/// The end of a handshake takes a part of the first datagram with data. It is never acknowledged,
/// so no window grows by it.
#[test]
fn the_end_of_a_handshake() {
    let out = run(&traced(opens(quic_flow("name = 'new-reno'"))));
    let trace = out.flows[0].trace.as_ref().unwrap();
    let sent = trace.iter().filter_map(|(_, event)| match event {
        Event::Sent { bytes, len, .. } => Some((*bytes, *len)),
        _ => None,
    });
    assert_eq!(sent.take(2).collect::<Vec<_>>(), [(1252 - END, 1215 - END), (1252, 1215)]);
    let states = trace.iter().filter_map(|(_, event)| match event {
        Event::Metrics(metrics) => Some((metrics.cwnd, metrics.bytes_in_flight)),
        _ => None,
    });
    let (first, end) = (12_520 + 1200, u64::from(END));
    // Ten packets, of which the first is acknowledged, which lets one more be sent.
    let expected = [(first, 0), (first + 1252 - end, 9 * 1252)];
    assert_eq!(states.take(2).collect::<Vec<_>>(), expected);
}

/// When its datagram is lost, its bytes leave the flight with an ACK of later packets or, if there
/// are none, by the timer.
#[test]
fn a_lost_end_of_a_handshake() {
    for transfer in [1000, 100_000] {
        let found = (1..100).find_map(|seed| {
            let mut s =
                traced(FlowConfig { transfer: Some(transfer), ..opens(quic_flow("name = 'new-reno'")) });
            (s.link.loss, s.seed) = (0.2, seed);
            let out = run(&s);
            let trace = out.flows[0].trace.as_ref().unwrap();
            let opens = trace.iter().filter(|(_, event)| matches!(event, Event::Opens(_))).count();
            let is_lost = trace.iter().any(|(_, event)| matches!(event, Event::Lost { pn: 0, .. }));
            let lost = is_lost || (transfer == 1000 && out.flows[0].totals.dropped == 1);
            (opens == 1 && lost).then_some(out)
        });
        let flow = &found.unwrap().flows[0];
        assert!(flow.finished.is_some());
        assert_eq!(flow.stats.discarded, 1);
        // After each ACK the bytes in flight are those sent and neither acknowledged nor declared
        // lost.
        let mut flying = BTreeMap::new();
        for (time, event) in flow.trace.iter().flatten() {
            match event {
                Event::Sent { pn, bytes, .. } => drop(flying.insert(*pn, u64::from(*bytes))),
                Event::Lost { pn, .. } => drop(flying.remove(pn)),
                Event::Acked(ack) => {
                    flying.retain(|pn, _| !ack.ranges.iter().any(|range| (range.0..=range.1).contains(pn)));
                }
                Event::Metrics(metrics) => {
                    assert_eq!(metrics.bytes_in_flight, flying.values().sum::<u64>(), "{time:?}");
                }
                _ => {}
            }
        }
    }
}

/// A lost Initial is an ordinary loss (RFC 9002 section 6.1): the window is halved when its
/// retransmission is answered. A lost SYN is not.
#[test]
fn a_lost_initial_is_a_loss() {
    for (flow, losses) in [(quic_flow("name = 'new-reno'"), 1), (tcp_flow("name = 'new-reno'"), 0)] {
        let found = (1..100).find_map(|seed| {
            let mut s = traced(FlowConfig { transfer: Some(1000), ..opens(flow.clone()) });
            (s.link.loss, s.seed) = (0.5, seed);
            let out = run(&s);
            let repeats = out.flows[0].trace.iter().flatten();
            let opens = repeats.filter(|(_, event)| matches!(event, Event::Opens(_))).count();
            (opens == 2 && out.flows[0].totals.dropped == 1).then_some(out)
        });
        let out = found.unwrap();
        let stats = &out.flows[0].stats;
        assert_eq!((stats.lost(), stats.loss_events), (losses, losses));
    }
}

/// Over a return link the reply takes its full size; ACKs are smaller.
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

/// Half of the Initials are lost. The n-th leaves after 2^n - 1 timeouts and arrives first with
/// probability 2^-(n+1). Its own round trip is the sample.
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

/// The pacer knows the round trip from the first packet on (RFC 9002 section 7.7), and a timeout
/// needs no guess.
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
    // Nine packets at the factor of slow start; a window of ten and the Initial takes a round trip.
    let expected = 9.0 * 1252.0 / (12_520.0 + 1200.0) * rtt / flow.recovery.pacing.slow_start_factor;
    assert!((spread(opens(flow)) - expected).abs() < 0.5, "{expected}");
}

/// Each connection has its own handshake: every object takes a round trip longer, on a kept
/// connection only the first.
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
        let expected = count * one_way + (rtt + 1e3 * wire(END)) * f64::max(1.0, handshakes * count);
        assert!((sum - expected).abs() < 1e-3 * count, "{connection:?}: {sum} for {expected}");
    }
}

/// The connection is opened for the first data: after an idle time or a pause at the start, and not
/// before.
#[test]
fn opened_for_the_first_data() {
    let pauses = vec![(Time::ZERO, Time::from_millis(3000))];
    let flow = FlowConfig { transfer: Some(1000), pauses, ..opens(quic_flow("name = 'cubic'")) };
    let out = run(&traced(flow));
    close("sample at", first_metrics(&out).0, 3.0 + 0.05 + wire(1242));
}

/// Every controller accepts a sample that acknowledges nothing, and every packet is accounted for.
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

/// The window is reduced for the loss of a packet only if it left later than the previous
/// reduction, not at the same time (RFC 9002 appendix B.5:
/// `sent_time <= congestion_recovery_start_time`). The log of sent and lost packets gives the
/// number of reductions, with and without a handshake. With few ACKs a pacer sends much between a
/// reduction and the next ACK.
#[test]
fn reductions_after_a_handshake() {
    for handshake in [false, true] {
        let mut flow = FlowConfig { handshake, ..quic_flow("name = 'bbr3'") };
        (flow.ack.ack_every, flow.recovery.paced) = (20.into(), Paced::ByRate);
        let mut s = traced(flow);
        s.link.loss = 0.03;
        let out = run(&s);
        let (mut sent, mut start, mut events, mut reduced) = (BTreeMap::new(), None, 0, 0);
        for (time, event) in out.flows[0].trace.iter().flatten() {
            match event {
                Event::Sent { pn, .. } => _ = sent.insert(*pn, *time),
                Event::Lost { pn, .. } if start.is_none_or(|start| sent[pn] > start) => {
                    (start, events) = (Some(*time), events + 1);
                }
                Event::Reduced(_) => reduced += 1,
                _ => {}
            }
        }
        assert!(events > 100, "{events}");
        assert_eq!(reduced, events, "handshake: {handshake}");
    }
}

/// BBR's first pacing rate is its gain times the initial window over the handshake's round trip,
/// not over a guess (`bbr_init_pacing_rate_from_rtt`).
#[test]
fn bbr_paces_by_the_handshake() {
    let mut flow = opens(tcp_flow("name = 'bbr1'"));
    flow.recovery.paced = Paced::ByRate;
    let (_, metrics) = first_metrics(&run(&traced(FlowConfig { transfer: Some(100_000), ..flow })));
    let rate = metrics.pacing_rate.unwrap() as f64;
    let expected = 2.885 * 0.99 * 14_480.0 * 8.0 / (0.05 + wire(52));
    assert!((rate / expected - 1.0).abs() < 0.02, "{rate} for {expected}");
}

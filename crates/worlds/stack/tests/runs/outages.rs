//! Outages of the link: the times of probes, and the idle timeout, in model and protocol.

use ackclock_stack::Profile;
use recovery::Config;
use scenario::trace::{Event, Metrics};
use scenario::{Outcome, Scenario, Watch};
use units::{Duration, Time};

use crate::common::*;

/// Returns an endless flow with these rules, over a link that is down from 5 s to 65 s.
fn outage(recovery: Config, transfer: Option<u64>) -> Scenario {
    let flow = scenario::FlowConfig { recovery, transfer, handshake: false, ..flow("new-reno") };
    let mut link = link();
    link.blackhole = vec![(Time::from_millis(5000), Time::from_millis(65_000))];
    Scenario { trace: true, ..Scenario::new(link, [flow], Duration::from_secs(200)) }
}

/// Runs it on the simulator and on the stack, without flow control: frames with credit that arrive
/// in the outage would restart the idle timer.
fn both(scenario: &Scenario) -> [Outcome; 2] {
    let outcome = ackclock_stack::run(scenario, &Profile::exact(), &Watch::default(), None);
    [on_simulator(scenario), outcome.unwrap().unwrap()]
}

/// Returns the departures in the outage, the last ACK before them, and the PTO from then on
/// (RFC 9002 section 6.2.1).
fn silence(outcome: &Outcome) -> (Vec<Time>, Time, Duration) {
    let (mut sent, mut last) = (Vec::new(), None);
    for (at, event) in outcome.flows[0].trace.iter().flatten() {
        match event {
            Event::Metrics(metrics) if *at < Time::from_millis(65_000) => {
                last = Some((*at, metrics.clone()));
                sent.clear();
            }
            Event::Sent { .. } if *at < Time::from_millis(65_000) => sent.push(*at),
            _ => {}
        }
    }
    let (at, Metrics { smoothed_rtt, rttvar, .. }) = last.unwrap();
    let pto = smoothed_rtt + (rttvar * 4).max(Duration::from_millis(1)) + Duration::from_millis(25);
    (sent, at, pto)
}

/// Two probes each at last departure + PTO (1 + 2 + 4 + ...), and with a bound each `max-pto` after
/// the ones before. With it the flow is back at most `max-pto` after the outage.
#[test]
fn probes_double_up_to_the_bound() {
    for max_pto in [None, Some(Duration::from_secs(5))] {
        for outcome in both(&outage(Config { max_pto, ..Config::quic() }, None)) {
            let (sent, last, pto) = silence(&outcome);
            // The last ACK releases packets, and then only probes leave.
            let since = sent.iter().rposition(|at| *at < last + pto).map(|at| sent[at]).unwrap();
            let mut due = since;
            let mut expected = Vec::new();
            for n in 0.. {
                due += (pto * (1 << n)).min(max_pto.unwrap_or(Duration::MAX));
                if due >= Time::from_millis(65_000) {
                    break;
                }
                expected.extend([due; 2]);
            }
            let probes: Vec<Time> = sent.iter().copied().filter(|at| *at > since).collect();
            assert_eq!(probes, expected, "{pto:?}");
            let ends = outcome.flows[0].trace.iter().flatten();
            let back = ends.map(|(at, _)| *at).find(|at| *at >= Time::from_millis(65_000)).unwrap();
            assert_eq!(back, due);
            assert_eq!(max_pto.is_some(), back <= Time::from_millis(70_000));
        }
    }
}

/// RFC 9000 section 10.1: the last ACK arrives at `last` and releases a packet at once, so that the
/// connection is closed at `last` + max(timeout, 3 PTO). The transfer does not finish, and the run
/// is valid.
#[test]
fn the_idle_timeout_closes() {
    for timeout in [Duration::from_secs(30), Duration::from_millis(1)] {
        let rules = Config { idle_timeout: Some(timeout), ..Config::quic() };
        let scenario = outage(rules, Some(100_000_000));
        for outcome in both(&scenario) {
            let (sent, last, pto) = silence(&outcome);
            let flow = &outcome.flows[0];
            assert_eq!(sent[0], last, "the ACK releases a packet");
            assert_eq!(flow.closed, Some(last + timeout.max(pto * 3)));
            assert_eq!((flow.finished, outcome.broken(&scenario)), (None, vec![]));
            assert_eq!(flow.measured(outcome.end), flow.closed.unwrap() - flow.started);
        }
    }
}

/// An outage shorter than the timeout, and a transfer without an outage, are not affected.
#[test]
fn the_idle_timeout_waits() {
    let of = |idle_timeout| outage(Config { idle_timeout, ..Config::quic() }, Some(10_000_000));
    let (with, without) = (of(Some(Duration::from_secs(100))), of(None));
    for (with, without) in both(&with).iter().zip(&both(&without)) {
        let (with, without) = (&with.flows[0], &without.flows[0]);
        assert_eq!((with.finished, with.closed), (without.finished, None));
        assert!(with.finished > Some(Time::from_millis(65_000)));
        assert_eq!(with.trace, without.trace);
    }
}

use super::*;
use crate::Controller;
use crate::testing::closed_loop::{Flow, Loop};
use crate::testing::fixtures::{MDS, acked, congestion, path};
use units::Rate;

const MS: Duration = Duration::from_millis(1);

fn new(params: Params) -> LedbatPlusPlusController {
    LedbatPlusPlusController::new(params, path(MDS))
}

/// A controller in congestion avoidance with a base RTT and a queuing delay, in us.
fn with(packets: f64, base: u64, queuing: u64) -> LedbatPlusPlusController {
    let mut cc = new(Params { current_filter: 1, ..Params::default() });
    (cc.frame.window.cwnd, cc.frame.window.ssthresh) = (packets, packets);
    cc.rule.enter(Phase::Avoidance, Time::NEVER);
    for us in [base, base + queuing] {
        cc.rule.delays.add(Time::ZERO, 1000 * us as i64);
    }
    cc
}

fn packets(cc: &LedbatPlusPlusController) -> f64 {
    cc.frame.window.cwnd
}

/// An ACK without an RTT sample.
fn ack(packets: u64) -> Ack<'static> {
    Ack { latest_rtt: None, ..acked(packets * MDS) }
}

/// Section 4.2: 1 / min(16, ceil(120 ms / base)).
#[test]
fn gain() {
    for (us, divisor) in [
        (1000, 16.0),
        (7500, 16.0),
        (8000, 15.0),
        (10_000, 12.0),
        (30_000, 4.0),
        (60_000, 2.0),
        (100_000, 2.0),
        (120_000, 1.0),
        (500_000, 1.0),
    ] {
        assert_eq!(with(10.0, us, 0).rule.gain(), 1.0 / divisor, "{us}");
    }
    assert_eq!(new(Params::default()).rule.gain(), 1.0 / 16.0, "unknown");
}

/// Sections 4.2 and 4.3: GAIN up to TARGET, then a decrease of up to half of the window.
#[test]
fn change_per_round_trip() {
    for (queuing, change) in [
        (0, 0.5),
        (60_000, 0.5),
        (60_300, 0.0),
        (66_000, -9.5),
        (90_000, -49.5),
        (91_000, -50.0),
        (400_000, -50.0),
    ] {
        let cc = with(100.0, 100_000, queuing);
        assert!((cc.rule.change(100.0) - change).abs() < 1e-9, "{queuing}: {}", cc.rule.change(100.0));
        // A round trip of one ACK, then of a hundred.
        for acks in [1, 100] {
            let mut cc = cc.clone();
            (0..acks).for_each(|_| _ = cc.on_ack(&ack(100 / acks)));
            let tolerance = if acks == 1 { 1e-9 } else { 0.35 * f64::abs(change) + 1e-9 };
            assert!((packets(&cc) - 100.0 - change).abs() <= tolerance, "{queuing}: {}", packets(&cc));
        }
    }
}

/// Section 4.1: from two packets, by GAIN per packet, until the queuing delay exceeds 45 ms.
#[test]
fn slow_start() {
    let mut cc = new(Params { current_filter: 1, ..Params::default() });
    assert_eq!(cc.control().cwnd, 2 * MDS);
    for (ms, cwnd, slow) in [(100, 3.0, true), (145, 4.5, true), (146, 4.5, false)] {
        let bytes = (packets(&cc) * MDS as f64) as u64;
        let rtt = MS * ms;
        cc.on_ack(&Ack { latest_rtt: Some(rtt), smoothed_rtt: rtt, ..acked(bytes) });
        assert_eq!((packets(&cc).min(4.5), cc.control().in_slow_start()), (cwnd, slow), "{ms}");
    }
}

/// Section 4.4: two RTTs after slow start two packets for two RTTs, then slow start up to the old
/// window. The next slowdown follows after nine times the duration.
#[test]
fn slowdowns() {
    for gain_in_ramp in [true, false] {
        let mut cc = new(Params { gain_in_ramp, ..Params::default() });
        cc.frame.window.cwnd = 16.0;
        let mut at = |ms| {
            cc.on_ack(&Ack { now: Time::from_millis(ms), growth: 0, ..acked(0) });
            (cc.rule.phase, packets(&cc), cc.frame.window.ssthresh)
        };
        assert_eq!(at(0).0, Phase::SlowStart);
        cc.frame.window.ssthresh = 16.0;
        let mut at = |ms, packets| {
            cc.on_ack(&Ack { now: Time::from_millis(ms), ..acked(packets * MDS) });
            (cc.rule.phase, cc.frame.window.cwnd, cc.frame.window.ssthresh)
        };
        assert_eq!(at(100, 0), (Phase::Avoidance, 16.0, 16.0));
        assert_eq!(at(299, 0), (Phase::Avoidance, 16.0, 16.0));
        assert_eq!(at(300, 0), (Phase::Freeze, 2.0, 16.0));
        assert_eq!(at(499, 9), (Phase::Freeze, 2.0, 16.0));
        let grown = if gain_in_ramp { 4.0 } else { 6.0 };
        assert_eq!(at(500, 4), (Phase::Ramp, grown, 16.0));
        let rest = if gain_in_ramp { 24 } else { 10 };
        assert_eq!(at(600, rest), (Phase::Ramp, 16.0, 16.0));
        assert_eq!(at(700, 0), (Phase::Avoidance, 16.0, 16.0));
        // 400 ms of slowdown.
        assert_eq!(at(4299, 0).0, Phase::Avoidance);
        assert_eq!(at(4300, 0).0, Phase::Freeze);
    }
}

/// A loss in a freeze halves the window that the slowdown found. Nothing undoes a slowdown.
#[test]
fn events_in_a_slowdown() {
    let mut cc = with(40.0, 100_000, 0);
    cc.on_congestion(&congestion(Cause::Loss, 0));
    assert_eq!((packets(&cc), cc.frame.window.ssthresh), (20.0, 20.0));
    cc.rule.until = Time::ZERO;
    cc.on_ack(&ack(0));
    assert_eq!((cc.rule.phase, packets(&cc), cc.frame.window.ssthresh), (Phase::Freeze, 2.0, 20.0));
    cc.on_spurious();
    assert_eq!(packets(&cc), 2.0);
    cc.on_congestion(&congestion(Cause::Loss, 0));
    assert_eq!((packets(&cc), cc.frame.window.ssthresh), (2.0, 10.0));
}

/// Half after a loss. A timeout or persistent congestion begins a first slow start.
#[test]
fn events() {
    for (cause, cwnd, ssthresh, phase) in [
        (Cause::Loss, 20.0, 20.0, Phase::Avoidance),
        (Cause::Ecn, 20.0, 20.0, Phase::Avoidance),
        (Cause::Timeout, 1.0, 20.0, Phase::SlowStart),
        (Cause::PersistentCongestion, 2.0, 40.0, Phase::SlowStart),
    ] {
        let mut cc = with(40.0, 100_000, 0);
        cc.on_congestion(&congestion(cause, 0));
        let got = (packets(&cc), cc.frame.window.ssthresh, cc.rule.phase);
        assert_eq!(got, (cwnd, ssthresh, phase), "{cause:?}");
    }
}

/// Without permission of the sender the window does not grow, but the delay still shrinks it.
#[test]
fn without_a_grant() {
    for (queuing, left) in [(0, 100.0), (66_000, 90.5)] {
        let mut cc = with(100.0, 100_000, queuing);
        cc.on_ack(&Ack { growth: 0, ..ack(100) });
        assert!((packets(&cc) - left).abs() < 1e-9, "{queuing}");
    }
}

/// A pipe of 100 packets with an RTT of max(1, w / 100) * 100 ms, in whole us: window and phase
/// after each ten round trips. `vectors/ledbat_plus_plus.py`.
#[test]
fn on_a_pipe() {
    let mut cc = new(Params::default());
    let mut start = 0;
    for (i, expected) in PIPE.into_iter().enumerate() {
        for _ in 0..10 {
            let us = (1000.0 * packets(&cc).max(100.0)) as u64;
            let (rtt, acks) = (Duration::from_micros(us), packets(&cc) as u64);
            for n in 1..=acks {
                let now = Time(1000 * (start + us * n / acks));
                cc.on_ack(&Ack { now, latest_rtt: Some(rtt), smoothed_rtt: rtt, ..acked(MDS) });
            }
            start += us;
        }
        // The script prints four digits after the point.
        assert!((packets(&cc) - expected.0).abs() < 1e-4, "{i}: {}", packets(&cc));
        assert_eq!(STATES[cc.rule.phase as usize], expected.1, "{i}");
    }
}

/// 1000 packets per second, 50 ms of propagation delay.
fn flow(start_s: u64) -> Flow<LedbatPlusPlusController> {
    Flow::new(Box::new(new(Params::default())), MS * 50, Time::from_millis(1000 * start_s))
}

/// A flow that starts after 100 s shares the link: slowdowns show the empty queue to both. LEDBAT's
/// late flow takes all of it.
#[test]
fn latecomer() {
    let mut link = Loop::new(vec![flow(0), flow(100)], MDS, Rate(8_000_000));
    link.run_to(Time::from_millis(200_000));
    let before: Vec<_> = link.flows.iter().map(|f| f.delivered).collect();
    link.run_to(Time::from_millis(400_000));
    let got: Vec<_> =
        link.flows.iter().zip(before).map(|(f, b)| ((f.delivered - b) / MDS) as f64 / 2e5).collect();
    assert!(got.iter().all(|share| (0.45..0.55).contains(share)), "{got:?}");
}

/// Output of `vectors/ledbat_plus_plus.py`.
const PIPE: [(f64, &str); 30] = [
    (105.5, "slow start"),
    (11.0, "ramp"),
    (160.4592, "avoidance"),
    (160.4931, "avoidance"),
    (160.4768, "avoidance"),
    (160.4728, "avoidance"),
    (160.3103, "avoidance"),
    (160.4393, "avoidance"),
    (160.2728, "avoidance"),
    (160.4576, "avoidance"),
    (2.0, "freeze"),
    (105.5, "ramp"),
    (160.4709, "avoidance"),
    (160.19, "avoidance"),
    (160.3791, "avoidance"),
    (160.3954, "avoidance"),
    (160.221, "avoidance"),
    (160.3578, "avoidance"),
    (160.2601, "avoidance"),
    (160.3825, "avoidance"),
    (36.5, "ramp"),
    (160.0895, "avoidance"),
    (160.1784, "avoidance"),
    (160.1326, "avoidance"),
    (160.1232, "avoidance"),
    (159.7091, "avoidance"),
    (160.0389, "avoidance"),
    (159.8524, "avoidance"),
    (160.084, "avoidance"),
    (9.5, "ramp"),
];

use super::*;
use crate::Controller;
use crate::testing::closed_loop::{Flow, Loop};
use crate::testing::fixtures::{MDS, acked, congestion, path};
use units::Rate;

const MS: Duration = Duration::from_millis(1);

/// A controller in this phase since time 0, with RTTmin and RTTnow in us.
fn with(phase: Phase, packets: f64, min: u64, rtt: u64) -> LolaController {
    let mut cc = LolaController::new(Params::default(), path(MDS));
    (cc.frame.window.cwnd, cc.frame.window.ssthresh) = (packets, packets);
    for us in [min, rtt] {
        let now = Time::from_millis(if us == min { 0 } else { 100 });
        cc.rule.rtts.sample(now, Duration::from_micros(us), &Params::default());
    }
    (cc.rule.phase, cc.rule.since) = (phase, Time::ZERO);
    cc
}

fn packets(cc: &LolaController) -> f64 {
    cc.frame.window.cwnd
}

/// An ACK of a packet with an RTT in us.
fn ack(cc: &mut LolaController, ms: u64, us: u64) {
    let latest_rtt = Some(Duration::from_micros(us));
    cc.on_ack(&Ack { now: Time::from_millis(ms), latest_rtt, ..acked(MDS) });
}

/// Equation 2, in bytes.
#[test]
fn fair_share() {
    let rule = Lola::from(Params::default());
    for (ms, bytes) in [(35.0, 1.0), (70.0, 8.0), (105.0, 27.0), (350.0, 1000.0), (3500.0, 1e6)] {
        assert!((rule.share(1e-3 * ms) / bytes - 1.0).abs() < 1e-12, "{ms}");
    }
    // (250 / 35)^3
    assert!((rule.share(0.25) - 364.43).abs() < 0.01);
}

/// Equation 4: the smallest RTT of 40 ms. Equations 5 to 7 follow.
#[test]
fn measurements() {
    let params = Params::default();
    let mut rtts = Rtts::new(&params);
    assert!(!rtts.known());
    for (ms, rtt, now, min) in [
        (0, 100, 100, 100),
        (10, 120, 100, 100),
        (40, 130, 100, 100),
        (41, 130, 120, 100),
        (51, 130, 130, 100),
        (52, 90, 90, 90),
    ] {
        rtts.sample(Time::from_millis(ms), MS * rtt, &params);
        assert_eq!((rtts.now(), rtts.min, rtts.queuing()), (MS * now, MS * min, MS * (now - min)), "{ms}");
    }
    assert_eq!(rtts.range, Some((MS * 90, MS * 130)));
}

/// The tailored decrease leaves gamma of the pipe. Equation 3 leads the curve through this window
/// at t = 0 and through the old one at t = K.
#[test]
fn tailored_decrease() {
    for (us, left) in [(120_000, 100.0), (105_000, 120.0 / 1.05), (240_000, 50.0)] {
        let mut cc = with(Phase::Hold, 120.0, 100_000, us);
        ack(&mut cc, 249, us);
        assert_eq!((cc.rule.phase, packets(&cc)), (Phase::Hold, 120.0));
        ack(&mut cc, 250, us);
        let left = left * 973.0 / 1024.0;
        let (max, k) = cc.rule.origin;
        assert_eq!((cc.rule.phase, max), (Phase::Cubic, 120.0));
        assert!((k - libm::cbrt((120.0 - left) / 0.4)).abs() < 1e-9, "{us}: {k}");
        assert!((cc.rule.curve(0.0) - left).abs() < 1e-9 && (cc.rule.curve(k) - 120.0).abs() < 1e-9);
        // This ACK also grows the window along the curve.
        assert!((packets(&cc) - left).abs() < 0.1, "{us}: {}", packets(&cc));
    }
}

/// Transitions of figure 1. The queue of the time before a reduction does not count for two round
/// trips.
#[test]
fn phases() {
    let mut cc = LolaController::new(Params::default(), path(MDS));
    for (ms, us, phase) in [
        (0, 100_000, Phase::SlowStart),
        (10, 102_000, Phase::SlowStart),
        (20, 102_001, Phase::Cubic),
        (70, 101_000, Phase::Cubic),
        (120, 101_001, Phase::Balancing),
        (200, 105_000, Phase::Balancing),
        (260, 105_001, Phase::Hold),
        (509, 105_001, Phase::Hold),
        (510, 105_001, Phase::Cubic),
        (700, 105_001, Phase::Cubic),
        (720, 105_001, Phase::Cubic),
        (721, 105_001, Phase::Balancing),
        (722, 105_001, Phase::Hold),
    ] {
        ack(&mut cc, ms, us);
        assert_eq!(cc.rule.phase, phase, "{ms}");
    }
}

/// Growth per round trip: up to the curve a round trip later, up to X within 40 ms, and never below
/// 0.
#[test]
fn growth() {
    let at = |phase, us, ms| {
        let mut cc = with(phase, 100.0, 100_000, us);
        cc.rule.origin = (120.0, 2.0);
        cc.rule.growth(100.0, Time::from_millis(ms), 1000.0)
    };
    // 0.4 (1 + 0.1 - 2)^3 + 120 - 100
    assert!((at(Phase::Cubic, 100_000, 1000) - (20.0 - 0.4 * 0.729)).abs() < 1e-9);
    // X = 27 packets after 1.05 s, Q_data = 100 * 20 / 120 packets, three times 40 ms.
    let missing = 27.0 - 100.0 / 6.0;
    assert!((at(Phase::Balancing, 120_000, 1050) - 3.0 * missing).abs() < 1e-9);
    assert_eq!([at(Phase::Hold, 120_000, 100), at(Phase::SlowStart, 120_000, 100)], [0.0, 0.0]);
    for (ms, left) in [(1050, 100.0 + 0.03 * missing), (100, 100.0)] {
        let mut cc = with(Phase::Balancing, 100.0, 100_000, 120_000);
        cc.rule.params.q_target = MS * 1000;
        cc.on_ack(&Ack { now: Time::from_millis(ms), latest_rtt: None, ..acked(MDS) });
        assert!((packets(&cc) - left).abs() < 1e-9, "{ms}: {}", packets(&cc));
    }
    // At most half a packet.
    let mut cc = with(Phase::Cubic, 10.0, 100_000, 100_000);
    cc.rule.origin = (1000.0, 0.0);
    cc.on_ack(&Ack { latest_rtt: None, ..acked(MDS) });
    assert_eq!(packets(&cc), 10.5);
}

/// RTTmin is forgotten after a number of tailored decreases without an RTT close to it.
#[test]
fn base_rtt() {
    let params = Params { reset_after: 3, ..Params::default() };
    let mut rtts = Rtts::new(&params);
    let mut play = |ms, us| {
        rtts.sample(Time::from_millis(ms), Duration::from_micros(us), &params);
        rtts.on_decrease(&params);
        rtts.min.0 / 1000
    };
    let seen = [(0, 100_000), (100, 101_000), (200, 100_100), (300, 101_000), (400, 101_000), (500, 102_000)];
    let min = [100_000, 100_000, 100_000, 100_000, 100_000, 102_000];
    assert_eq!(seen.map(|(ms, us)| play(ms, us)), min);
}

/// 0.7 of the window and a cubic increase after a loss. A timeout begins slow start anew, with a
/// new range.
#[test]
fn events() {
    for (cause, cwnd, phase) in [
        (Cause::Loss, 71_700.0 / 1024.0, Phase::Cubic),
        (Cause::Ecn, 71_700.0 / 1024.0, Phase::Cubic),
        (Cause::Timeout, 1.0, Phase::SlowStart),
        (Cause::PersistentCongestion, 2.0, Phase::SlowStart),
    ] {
        let mut cc = with(Phase::Balancing, 100.0, 100_000, 103_000);
        cc.on_congestion(&congestion(cause, 0));
        assert!((packets(&cc) - cwnd).abs() < 1e-9, "{cause:?}");
        assert_eq!((cc.rule.phase, cc.rule.rtts.range.is_none()), (phase, phase == Phase::SlowStart));
        if phase == Phase::Cubic {
            assert!((cc.rule.curve(0.0) - cwnd).abs() < 1e-9 && cc.rule.origin.0 == 100.0);
        }
    }
    // A loss in slow start that was spurious leaves the cubic increase.
    let mut cc = LolaController::new(Params::default(), path(MDS));
    cc.on_ack(&acked(10 * MDS));
    cc.on_congestion(&congestion(Cause::Loss, 0));
    cc.on_spurious();
    assert_eq!(packets(&cc), 20.0);
    cc.on_ack(&acked(MDS));
    assert!(!cc.control().in_slow_start() && packets(&cc) <= 20.5);
}

/// A pipe of 100 packets with an RTT of max(1, w / 100) * 100 ms, in whole us: window and phase
/// after each five round trips. `vectors/lola.py`.
#[test]
fn on_a_pipe() {
    let mut cc = LolaController::new(Params::default(), path(MDS));
    let mut start = 0;
    for (i, expected) in PIPE.into_iter().enumerate() {
        for _ in 0..5 {
            let us = (1000.0 * packets(&cc).max(100.0)) as u64;
            let (rtt, acks) = (Duration::from_micros(us), packets(&cc) as u64);
            for n in 1..=acks {
                let now = Time(1000 * (start + us * n / acks));
                cc.on_ack(&Ack { now, latest_rtt: Some(rtt), ..acked(MDS) });
            }
            start += us;
        }
        // The script prints four digits after the point.
        assert!((packets(&cc) - expected.0).abs() < 1e-4, "{i}: {}", packets(&cc));
        assert_eq!(STATES[cc.rule.phase as usize], expected.1, "{i}");
    }
}

/// Mean and largest queue in ms, and shares of flows with these RTTs in ms, over the last half of a
/// minute. The next flow starts after 2 s.
fn on_a_link(mbit: u64, rtts: &[u64]) -> (f64, f64, Vec<f64>) {
    let flow = |(i, &ms): (usize, &u64)| {
        let cc = LolaController::new(Params::default(), path(MDS));
        Flow::new(Box::new(cc), MS * ms, Time::from_millis(2000 * i as u64))
    };
    let rate = Rate(mbit * 1_000_000);
    let mut link = Loop::new(rtts.iter().enumerate().map(flow).collect(), MDS, rate);
    link.run_to(Time::from_millis(30_000));
    let before: Vec<_> = link.flows.iter().map(|flow| flow.delivered).collect();
    let (mut sum, mut most, mut n) = (0.0, 0.0, 0.0);
    while let Some(i) = link.step(Time::from_millis(60_000)) {
        let queue =
            link.flows[i].latest_rtt.saturating_sub(MS * rtts[i] + rate.time_for(MDS)).as_millis_f64();
        (sum, most, n) = (sum + queue, f64::max(most, queue), n + 1.0);
    }
    let capacity = rate.bytes_in(MS * 30_000) as f64;
    let shares = link.flows.iter().zip(before).map(|(flow, b)| (flow.delivered - b) as f64 / capacity);
    (sum / n, most, shares.collect())
}

/// The queue stays near the target, whatever the number of flows, and the link full. Shares are
/// equal for equal RTTs, and similar for different ones.
#[test]
fn flows() {
    for (mbit, rtts, fairness) in [
        (8, &[50][..], 1.0),
        (8, &[50, 50], 0.99),
        (80, &[50, 50], 0.99),
        (80, &[30, 120], 0.93),
        (80, &[20, 40, 60, 80], 0.93),
    ] {
        let (mean, most, shares) = on_a_link(mbit, rtts);
        // Twice the target, and a packet per flow.
        let packets = rtts.len() as f64 * 8.0 / mbit as f64;
        assert!(mean < 5.0 && most < 10.0 + packets, "{rtts:?}: {mean} {most}");
        let (sum, squares) = (shares.iter().sum::<f64>(), shares.iter().map(|s| s * s).sum::<f64>());
        let jain = sum * sum / (rtts.len() as f64 * squares);
        assert!(sum > 0.97 && jain >= fairness - 1e-9, "{rtts:?}: {shares:?}");
    }
}

/// Output of `vectors/lola.py`.
const PIPE: [(f64, &str); 30] = [
    (160.0002, "cwnd hold"),
    (105.6355, "cwnd hold"),
    (98.1069, "cubic increase"),
    (101.2467, "fair flow balancing"),
    (105.5763, "fair flow balancing"),
    (97.56, "cubic increase"),
    (101.4515, "fair flow balancing"),
    (105.529, "fair flow balancing"),
    (97.5787, "cubic increase"),
    (101.5014, "fair flow balancing"),
    (105.5111, "fair flow balancing"),
    (97.5804, "cubic increase"),
    (101.5066, "fair flow balancing"),
    (105.5083, "fair flow balancing"),
    (97.5809, "cubic increase"),
    (101.5069, "fair flow balancing"),
    (105.5086, "fair flow balancing"),
    (97.5811, "cubic increase"),
    (101.5071, "fair flow balancing"),
    (105.5096, "fair flow balancing"),
    (97.5813, "cubic increase"),
    (101.508, "fair flow balancing"),
    (105.5084, "fair flow balancing"),
    (97.5812, "cubic increase"),
    (101.5076, "fair flow balancing"),
    (105.5086, "fair flow balancing"),
    (97.5812, "cubic increase"),
    (101.5075, "fair flow balancing"),
    (105.5084, "fair flow balancing"),
    (97.5811, "cubic increase"),
];

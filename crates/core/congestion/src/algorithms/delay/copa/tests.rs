use super::*;
use crate::testing::closed_loop::{Flow, Loop};
use crate::testing::fixtures::{MDS, acked, congestion, path};
use units::Time;

const MS: Duration = Duration::from_millis(1);

/// A controller that has left slow start and has measured RTTmin and RTTstanding, in us.
fn with(params: Params, cwnd: f64, min: u64, standing: u64) -> Copa {
    let mut cc = Copa::new(params, path(MDS));
    cc.window = Window { cwnd, slow_start: false };
    cc.round_cwnd = cwnd;
    for (ms, us) in [(0, min), (5000, standing)] {
        let (now, rtt) = (Time::from_millis(ms), Duration::from_micros(us));
        cc.delays.sample(now, rtt, rtt, &cc.params);
    }
    cc
}

fn ack(packets: u64) -> Ack<'static> {
    Ack { now: Time::from_millis(5000), latest_rtt: None, ..acked(packets * MDS) }
}

/// The window grows by v / (delta w) up to lambda = lambda_t, and shrinks above. With w = 42,
/// RTTmin = 40 ms and d_q = 2 ms both are 1000 packets/s.
#[test]
fn target_rate() {
    for (standing, moved) in [(40_000, 2.0), (42_000, 2.0), (42_001, -2.0), (90_000, -2.0)] {
        for velocity in [1.0, 4.0] {
            let params = Params { reset_at_turn: false, ..Params::default() };
            let mut cc = with(params, 42.0, 40_000, standing);
            cc.velocity = velocity;
            cc.on_ack(&ack(3));
            let expected = 42.0 + 3.0 * velocity * moved / 42.0;
            assert!((cc.window.cwnd - expected).abs() < 1e-9, "{standing}: {}", cc.window.cwnd);
        }
    }
    // mvfst's delta: ten times the queue.
    let mut cc = with(Params { delta: 0.05, ..Params::default() }, 60.0, 40_000, 60_000);
    cc.on_ack(&ack(1));
    assert!(cc.window.cwnd > 60.0);
}

/// A single flow at 10 Mbit/s with packets of 1500 bytes: the queuing delay at which the target
/// rate is the link's, 1 / (delta lambda), is 2.4 ms.
#[test]
fn queuing_delay_of_a_link() {
    let per_second = 10e6 / (8.0 * 1500.0);
    let at = |us: u64| {
        let standing = 40_000 + us;
        let cc = with(Params::default(), per_second * standing as f64 * 1e-6, 40_000, standing);
        cc.below_target()
    };
    assert_eq!([2399, 2401].map(at), [true, false]);
}

/// A step of at most a packet per packet, or of any size, and never below two packets.
#[test]
fn limits() {
    for (max_step, expected) in [(Some(1.0), 43.0), (Some(0.5), 42.5), (None, 42.0 + 200.0 / 42.0)] {
        let mut cc = with(Params { max_step, ..Params::default() }, 42.0, 40_000, 40_000);
        (cc.velocity, cc.direction) = (100.0, Ordering::Greater);
        cc.on_ack(&ack(1));
        assert!((cc.window.cwnd - expected).abs() < 1e-9, "{max_step:?}");
    }
    let mut cc = with(Params::default(), 2.5, 40_000, 400_000);
    cc.on_ack(&ack(1));
    assert_eq!(cc.window.cwnd, 2.0);
}

/// The velocity doubles from the third repetition of a direction on, and a turn or a window that
/// stays resets it.
#[test]
fn velocity() {
    for (velocity_rounds, expected) in
        [(3, [1.0, 1.0, 1.0, 2.0, 4.0, 1.0, 1.0, 1.0]), (1, [1.0, 2.0, 4.0, 8.0, 16.0, 1.0, 2.0, 1.0])]
    {
        let mut cc = with(Params { velocity_rounds, ..Params::default() }, 10.0, 40_000, 40_000);
        for (cwnd, v) in [11.0, 12.0, 13.0, 14.0, 15.0, 14.0, 13.0, 13.0].into_iter().zip(expected) {
            cc.window.cwnd = cwnd;
            cc.follow_direction();
            assert_eq!(cc.velocity, v, "{velocity_rounds} {cwnd}");
        }
    }
    let mut cc = with(Params::default(), 42.0, 40_000, 90_000);
    (cc.velocity, cc.direction) = (8.0, Ordering::Greater);
    cc.on_ack(&ack(1));
    assert_eq!((cc.velocity, cc.direction), (1.0, Ordering::Less));
}

/// The window doubles each round trip until the queue is above the target.
#[test]
fn slow_start() {
    let mut cc = Copa::new(Params::default(), path(MDS));
    for (ms, rtt, packets, slow) in
        [(0, 40, 20, true), (40, 40, 40, true), (80, 41, 80, true), (200, 44, 79, false)]
    {
        let (now, rtt) = (Time::from_millis(ms), MS * rtt);
        let bytes = cc.control().cwnd;
        let ack = Ack { now, latest_rtt: Some(rtt), smoothed_rtt: rtt, ..acked(bytes) };
        cc.on_ack(&Ack { acked: if slow { bytes } else { 40 * MDS }, ..ack });
        assert_eq!((cc.control().cwnd / MDS, cc.control().in_slow_start()), (packets, slow), "{ms}");
    }
}

/// 2 w / RTTstanding, unknown before the first sample.
#[test]
fn pacing() {
    let cc = Copa::new(Params::default(), path(MDS));
    assert_eq!(cc.control().pacing_rate, None);
    let cc = with(Params::default(), 42.0, 40_000, 42_000);
    assert_eq!(cc.control().pacing_rate, Some(Rate(16_000_000)));
}

/// More than five RTTs without a nearly empty queue: 1 / delta grows by one each round trip, is
/// halved at a loss, but not below 2, and is 2 again once the queue is nearly empty.
#[test]
fn modes() {
    let inv = |ccs: &[Copa]| ccs.iter().map(|cc| cc.inv_delta).collect::<Vec<_>>();
    let ack_at = |cc: &mut Copa, ms: u64, rtt: u64, round_start| {
        cc.on_ack(&Ack {
            now: Time::from_millis(ms),
            latest_rtt: Some(MS * rtt),
            smoothed_rtt: MS * 100,
            round_start,
            ..acked(MDS)
        });
    };
    let new = |competitive_mode| Copa::new(Params { competitive_mode, ..Params::default() }, path(MDS));
    let mut ccs = [new(true), new(false)];
    for cc in &mut ccs {
        ack_at(cc, 0, 100, true);
        (1..=50).for_each(|i| ack_at(cc, 10 * i, 150, i % 10 == 0));
        assert_eq!(cc.mode, Mode::Default);
        (51..=90).for_each(|i| ack_at(cc, 10 * i, 150, i % 10 == 0));
    }
    assert_eq!(inv(&ccs), [6.0, 2.0]);
    assert_eq!((ccs[0].mode, ccs[1].mode), (Mode::Competitive, Mode::Default));
    let [cc, _] = &mut ccs;
    for left in [3.0, 2.0, 2.0] {
        let cwnd = cc.window.cwnd;
        cc.on_congestion(&congestion(Cause::Loss, 0));
        cc.on_spurious();
        assert_eq!((cc.inv_delta, cc.window.cwnd), (left, cwnd));
    }
    // RTTmax is 150 ms: a tenth of the range is 5 ms. RTTstanding forgets 150 ms after 50 ms.
    ack_at(cc, 960, 106, false);
    assert_eq!(cc.mode, Mode::Competitive);
    ack_at(cc, 961, 105, false);
    assert_eq!((cc.mode, cc.inv_delta), (Mode::Default, 2.0));
}

/// A path without a queue is not competitive.
#[test]
fn constant_rtt() {
    let mut cc = Copa::new(Params::default(), path(MDS));
    for i in 0..200 {
        cc.on_ack(&Ack { now: Time::from_millis(10 * i), round_start: i % 10 == 0, ..acked(MDS) });
    }
    assert_eq!(cc.mode, Mode::Default);
}

/// A window that the application leaves unused does not grow, but it shrinks. After a loss it grows
/// on.
#[test]
fn application() {
    let unused = Ack { cwnd_limited: false, app_limited: true, growth: 0, ..ack(1) };
    for (standing, grows) in [(40_000, false), (90_000, true)] {
        let mut cc = with(Params::default(), 42.0, 40_000, standing);
        cc.on_ack(&unused);
        assert_eq!(cc.window.cwnd != 42.0, grows, "{standing}");
    }
    let mut cc = with(Params::default(), 42.0, 40_000, 40_000);
    cc.on_congestion(&congestion(Cause::Loss, 0));
    cc.on_ack(&Ack { growth: 0, in_recovery: true, ..ack(1) });
    assert!(cc.window.cwnd > 42.0);
}

/// Two packets and slow start, which an undo takes back.
#[test]
fn timeouts() {
    for cause in [Cause::Timeout, Cause::PersistentCongestion] {
        let mut cc = with(Params::default(), 42.0, 40_000, 40_000);
        cc.on_congestion(&congestion(cause, 0));
        assert_eq!((cc.window.cwnd, cc.control().in_slow_start()), (2.0, true));
        cc.on_spurious();
        let undone = cause == Cause::Timeout;
        assert_eq!(cc.window.cwnd == 42.0, undone);
        assert_eq!(cc.control().in_slow_start(), !undone);
    }
}

/// Rounds of the script: RTT in us and whether a packet is lost.
fn rounds() -> Vec<(u64, bool)> {
    let mut rounds = vec![(40_000, false); 3];
    rounds.extend([(46_000, false); 2]);
    rounds.extend([(41_000, false); 8]);
    rounds.extend([(60_000, false); 4]);
    rounds.extend([(80_000, false), (100_000, false), (100_000, true)]);
    rounds.extend([(90_000, false); 6]);
    rounds.extend([(44_000, false); 3]);
    rounds
}

/// Window, velocity and 1 / delta after each round of ACKs. `vectors/copa.py`.
#[test]
fn script() {
    let mut cc = Copa::new(Params::default(), path(MDS));
    let mut start = 0;
    for (i, ((us, lost), expected)) in rounds().into_iter().zip(SCRIPT).enumerate() {
        let acks = cc.window.cwnd as u64;
        if lost {
            cc.on_congestion(&congestion(Cause::Loss, 0));
        }
        for n in 1..=acks {
            let rtt = Duration::from_micros(us);
            cc.on_ack(&Ack {
                now: Time(1000 * (start + us * n / acks)),
                latest_rtt: Some(rtt),
                smoothed_rtt: rtt,
                round_start: n == 1,
                in_recovery: lost,
                ..acked(MDS)
            });
        }
        start += us;
        let Copa { window: Window { cwnd, .. }, velocity, inv_delta, .. } = cc;
        // The script prints four digits after the point.
        assert!((cwnd - expected.0).abs() < 1e-4, "{i}: {cwnd}");
        assert_eq!((velocity, inv_delta), (expected.1, expected.2), "{i}");
    }
}

/// Section 3, on a link of 1000 packets per second with an RTT of 100 ms: between 0 and 2.5 /
/// delta^ packets, 1.25 / delta^ on average, and equal shares.
#[test]
fn queue_of_flows() {
    for flows in [1, 2, 4] {
        let params = Params { competitive_mode: false, ..Params::default() };
        let flow = |_| Flow::new(Box::new(Copa::new(params.clone(), path(MDS))), MS * 99, Time::ZERO);
        let mut link = Loop::new((0..flows).map(flow).collect(), MDS, Rate(8_000_000));
        link.run_to(Time::from_millis(30_000));
        let before: Vec<_> = link.flows.iter().map(|flow| flow.delivered).collect();
        let mut queues = Vec::new();
        while let Some(i) = link.step(Time::from_millis(60_000)) {
            queues.push((link.flows[i].latest_rtt - MS * 100).as_millis_f64());
        }
        let [least, most] = [f64::min, f64::max].map(|pick| queues.iter().copied().reduce(pick));
        let mean = queues.iter().sum::<f64>() / queues.len() as f64;
        let n = f64::from(flows);
        // The packet in service counts as queued half of the time, and windows are whole packets.
        assert!((mean - 2.5 * n).abs() < 0.15 * 2.5 * n, "{flows}: {mean}");
        assert!(least < Some(1.0) && (4.0 * n..=6.0 * n).contains(&most.unwrap_or(0.0)), "{flows}: {most:?}");
        for (flow, before) in link.flows.iter().zip(before) {
            let share = (flow.delivered - before) as f64 / 3e7;
            // A tenth of the fair share.
            assert!((share - 1.0 / n).abs() < 0.1 / n, "{flows}: {share}");
        }
    }
}

/// A single flow remains in the default mode, with the same queue.
#[test]
fn alone() {
    let mut link = Loop::new(
        vec![Flow::new(Box::new(Copa::new(Params::default(), path(MDS))), MS * 99, Time::ZERO)],
        MDS,
        Rate(8_000_000),
    );
    link.link.buffer = 100;
    link.run_to(Time::from_millis(10_000));
    for second in 11..30 {
        let figures = link.run_secs(1);
        assert_eq!(link.flow().cc.mode, Mode::Default, "{second}");
        assert!(figures.goodput > 0.98 && (1.015..1.035).contains(&figures.rtt), "{second}: {figures:?}");
    }
}

/// Output of `vectors/copa.py`.
const SCRIPT: [(f64, f64, f64); 29] = [
    (20.0, 1.0, 2.0),
    (40.0, 1.0, 2.0),
    (80.0, 1.0, 2.0),
    (118.309, 1.0, 2.0),
    (116.2972, 1.0, 2.0),
    (114.2851, 1.0, 2.0),
    (112.2725, 1.0, 2.0),
    (108.2094, 2.0, 2.0),
    (99.9095, 4.0, 2.0),
    (102.8396, 1.0, 3.0),
    (106.734, 1.0, 4.0),
    (111.5901, 1.0, 5.0),
    (122.9533, 2.0, 6.0),
    (120.9527, 1.0, 2.0),
    (118.9521, 1.0, 2.0),
    (116.9514, 1.0, 2.0),
    (112.9149, 2.0, 2.0),
    (104.6822, 4.0, 2.0),
    (87.3685, 8.0, 2.0),
    (45.672, 16.0, 2.0),
    (5.9271, 1.0, 3.0),
    (6.7028, 1.0, 4.0),
    (9.341, 1.0, 5.0),
    (10.9013, 1.0, 6.0),
    (12.2532, 1.0, 7.0),
    (14.7675, 1.0, 8.0),
    (16.5623, 1.0, 2.0),
    (18.3989, 1.0, 2.0),
    (21.9826, 2.0, 2.0),
];

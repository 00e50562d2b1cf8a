use super::*;
use crate::algorithms::reno::window::tests::avoiding;
use crate::testing::fixtures::{MDS, acked, congestion, path};
use crate::{Ack, AckedPacket, Cause, Controller, Sent};
use units::Time;

/// A controller and the packets of its flight.
struct Flow {
    cc: CdgController,
    pn: u64,
    now: Time,
}

impl Flow {
    fn new(params: Params) -> Self {
        Self { cc: Cdg::controller(params, path(MDS)), pn: 0, now: Time::ZERO }
    }

    fn avoiding(params: Params, packets: u64) -> Self {
        let mut flow = Self::new(params);
        flow.cc.frame.window = avoiding(packets * MDS);
        flow
    }

    fn packets(&self) -> u64 {
        self.cc.control().cwnd / MDS
    }

    /// Sends a window and acknowledges it packet by packet with this RTT. With a loss, or after a
    /// backoff, the flight is in recovery until its last ACK. Returns the number of backoffs.
    fn flight(&mut self, us: u64, lost: bool) -> u64 {
        let (first, packets) = (self.pn, self.packets());
        self.pn += packets;
        self.now += Duration::from_micros(us);
        for pn in first..self.pn {
            let (now, bytes_in_flight) = (self.now, 2 * MDS);
            self.cc.on_sent(&Sent { now, pn, bytes: MDS, bytes_in_flight, app_limited: false });
        }
        if lost {
            self.cc.on_congestion(&congestion(Cause::Loss, 0));
        }
        let (mut cut, mut backoffs) = (lost, 0);
        for pn in first..self.pn {
            let sent = Time::ZERO;
            let packet = AckedPacket { pn, bytes: MDS, sent, received: None, before_reduction: cut };
            let asked = self.cc.on_ack(&Ack {
                now: self.now,
                packets: &[packet],
                latest_rtt: Some(Duration::from_micros(us)),
                growth: if cut { 0 } else { MDS },
                in_recovery: cut && pn + 1 < self.pn,
                ..acked(MDS)
            });
            if let Some(cause) = asked {
                self.cc.on_congestion(&congestion(cause, 0));
                (cut, backoffs) = (true, backoffs + 1);
            }
        }
        backoffs
    }
}

/// The vector of the probability: 1 - exp(-42e-6 g).
#[test]
fn probabilities() {
    let cdg = Cdg::new(Params::default(), 1);
    for (g, p) in [(100, 0.00419), (500, 0.02078), (1000, 0.04113), (5000, 0.18942), (10_000, 0.34295)] {
        // The vector has five digits.
        assert!((cdg.probability(g) - p).abs() < 5e-6, "{g}");
    }
}

/// As many backoffs as the probability says. The same seed gives the same.
#[test]
fn draws() {
    let run = |seed| {
        let mut cdg = Cdg::new(Params { use_ineff: None, ..Params::default() }, seed);
        (0..20_000).map(|_| cdg.draw(5000)).collect::<Vec<_>>()
    };
    let share = run(1).iter().filter(|&&drawn| drawn).count() as f64 / 20_000.0;
    // Standard deviation sqrt(p (1 - p) / n) = 0.0028; four of them.
    assert!((share - 0.18942).abs() < 0.0112, "{share}");
    assert!(run(1) == run(1) && run(1) != run(2));
    assert!(!Cdg::new(Params::default(), 1).draw(0) && !Cdg::new(Params::default(), 1).draw(-5));
}

/// The sum of the last eight gradients is the RTT minus the RTT eight round trips ago. Before
/// that it is extrapolated.
#[test]
fn sums() {
    let mut gradients = Gradients::new(8);
    let rtts = [100, 110, 90, 150, 150, 170, 130, 140, 200, 260, 100, 500];
    for (i, pair) in rtts.windows(2).enumerate() {
        let gradient = MinMax { min: pair[1] - pair[0], max: pair[1] - pair[0] };
        let g = gradients.add(gradient);
        let expected = if i < 7 { (pair[1] - 100) * 8 / (i as i64 + 1) } else { pair[1] - rtts[i - 7] };
        assert_eq!(g, expected, "{i}");
    }
    let mut gradients = Gradients::new(1);
    assert_eq!(gradients.add(MinMax { min: 3, max: 9 }), 3);
    assert_eq!(gradients.add(MinMax { min: -3, max: 9 }), 9, "the largest, if the smallest does not rise");
    assert_eq!(gradients.add(MinMax { min: 0, max: -2 }), -2);
}

/// A constant RTT leaves Reno.
#[test]
fn constant_rtt() {
    let mut flow = Flow::avoiding(Params::default(), 20);
    for n in 1..50 {
        assert_eq!(flow.flight(100_000, false), 0);
        assert_eq!(flow.packets(), 20 + n);
    }
    flow.flight(100_000, true);
    assert_eq!(flow.packets(), 34, "half of 69");
}

/// Five backoffs without a falling RTT, then none. The sum of gradients is a second each time.
#[test]
fn ineffectual_backoffs() {
    for (use_ineff, expected) in [(Some(5), 5), (Some(1), 1), (None, 37)] {
        let mut flow = Flow::avoiding(Params { use_ineff, ..Params::default() }, 400);
        // Recovery ends with each flight, and only then is there a gradient again.
        let backoffs: u64 = (0..38).map(|i| flow.flight(100_000 + 1_000_000 * i, false)).sum();
        assert_eq!(backoffs, expected, "{use_ineff:?}");
    }
}

/// The shadow window keeps what backoffs took: a loss leaves half of it, but no more than the
/// window.
#[test]
fn shadow_window() {
    for (use_shadow, left) in [(true, 50), (false, 35)] {
        let mut flow = Flow::avoiding(Params { use_shadow, ..Params::default() }, 100);
        flow.flight(100_000, false);
        flow.cc.frame.window = avoiding(70 * MDS);
        flow.cc.rule.shadow = Some(100 * MDS);
        flow.cc.on_congestion(&congestion(Cause::Loss, 0));
        assert_eq!((flow.packets(), flow.cc.rule.shadow), (left, Some(50 * MDS)));
    }
    let mut flow = Flow::avoiding(Params::default(), 70);
    flow.cc.rule.shadow = Some(300 * MDS);
    flow.cc.on_congestion(&congestion(Cause::Loss, 0));
    assert_eq!((flow.packets(), flow.cc.rule.shadow), (70, Some(70 * MDS)));
}

/// Delayed ACKs only lower the smallest RTT, as many as ACKs of several packets came before.
#[test]
fn delayed_acks() {
    let mut cdg = Cdg::new(Params::default(), 1);
    let mut take = |us, packets| {
        cdg.sample(Duration::from_micros(us), packets);
        cdg.rtt.map(|rtt| (rtt.min, rtt.max))
    };
    assert_eq!(take(100, 2), Some((100, 100)));
    assert_eq!(take(140, 1), Some((100, 100)));
    assert_eq!(take(140, 1), Some((100, 140)));
    assert_eq!(take(150, 2), Some((100, 150)));
    assert_eq!(take(90, 1), Some((90, 150)));
    assert_eq!(take(0, 2), Some((90, 150)));
}

/// Tolerance: the smallest RTT rises and the largest does not, so the queue is full. Otherwise a
/// loss is ignored.
#[test]
fn tolerance() {
    for (min, max, queue, left) in [
        (50, 0, Queue::Full, 50),
        (50, 50, Queue::NonFull, 100),
        (-50, -50, Queue::NonFull, 100),
        (31, 31, Queue::Unknown, 50),
    ] {
        let mut flow = Flow::avoiding(Params { use_tolerance: true, ..Params::default() }, 100);
        let last = MinMax { min: 1000, max: 2000 };
        flow.cc.rule.gradient(last.plus(MinMax { min, max }), last);
        assert_eq!(flow.cc.rule.queue, queue);
        flow.cc.on_congestion(&congestion(Cause::Loss, 0));
        assert_eq!(flow.packets(), left, "{min} {max}");
    }
}

/// Slow start ends at 9/8 of the smallest RTT after eight ACKs, or with a train of ACKs of half
/// of it.
#[test]
fn slow_start() {
    for (us, expected) in [(112_500, 40), (112_501, 29)] {
        let mut flow = Flow::new(Params { ack_train: false, backoff_factor: 0.0, ..Params::default() });
        flow.flight(100_000, false);
        flow.flight(us, false);
        // The first ACK ends a round trip. The eighth sample after it is the ninth ACK's, and the
        // next ACK finds enough.
        assert_eq!(flow.packets(), expected, "{us}");
    }
    for (ack_train, ended) in [(true, true), (false, false)] {
        let mut flow = Flow::new(Params { ack_train, ..Params::default() });
        for i in 0..60 {
            let latest_rtt = Some(Duration::from_millis(100));
            flow.cc.on_ack(&Ack { now: Time::from_millis(i), latest_rtt, ..acked(MDS) });
        }
        assert_eq!(!flow.cc.control().in_slow_start(), ended);
    }
}

/// An idle time resets all but the random numbers.
#[test]
fn restart() {
    let mut flow = Flow::avoiding(Params::default(), 100);
    (0..4).for_each(|i| _ = flow.flight(100_000 + i, false));
    let second = Duration::from_secs(1);
    flow.cc.on_idle(&crate::Idle { now: flow.now, idle: second * 9, rto: second });
    let Cdg { rtt, last, g, shadow, round_end, .. } = &flow.cc.rule;
    assert_eq!((rtt, last, g, *round_end), (&None, &None, &None, flow.pn));
    assert_eq!((flow.packets(), *shadow), (10, Some(10 * MDS)));
}

/// RTT in microseconds and whether a packet is lost, flight by flight. Gradients are at most 0
/// or so large that the probability of a backoff is 1.
const FLIGHTS: [(u64, bool); 40] = [
    (100_000, false),
    (100_000, false),
    (100_000, false),
    (100_000, true),
    (100_000, false),
    (100_000, false),
    (100_000, false),
    (2_000_000, false),
    (2_000_000, false),
    (2_000_000, false),
    (2_000_000, true),
    (100_000, false),
    (100_000, false),
    (100_000, false),
    (100_000, false),
    (3_000_000, false),
    (4_000_000, false),
    (5_500_000, false),
    (6_000_000, false),
    (7_000_000, false),
    (8_000_000, false),
    (9_000_000, false),
    (10_000_000, false),
    (11_000_000, false),
    (12_000_000, false),
    (13_000_000, false),
    (14_000_000, false),
    (15_000_000, false),
    (16_000_000, true),
    (17_000_000, false),
    (18_000_000, false),
    (19_000_000, false),
    (20_000_000, false),
    (10_000, false),
    (10_000, false),
    (10_000, false),
    (10_000, false),
    (10_000, false),
    (10_000, true),
    (10_000, false),
];

/// Linux's rules on a fixed sequence of RTTs and losses: window and shadow window after each
/// flight. `vectors/cdg.py`.
#[test]
fn as_linux() {
    let mut flow = Flow::new(Params::default());
    for (i, ((us, lost), expected)) in FLIGHTS.into_iter().zip(LINUX).enumerate() {
        flow.flight(us, lost);
        let shadow = flow.cc.rule.shadow.map_or(0, |shadow| shadow / MDS);
        assert_eq!((flow.packets(), shadow), expected, "flight {i}");
    }
}

/// Output of `vectors/cdg.py`.
const LINUX: [(u64, u64); 40] = [
    (20, 20),
    (40, 40),
    (80, 80),
    (40, 40),
    (41, 41),
    (42, 42),
    (43, 43),
    (30, 43),
    (21, 43),
    (14, 43),
    (14, 14),
    (15, 15),
    (16, 16),
    (17, 17),
    (18, 18),
    (12, 18),
    (8, 18),
    (5, 18),
    (3, 18),
    (2, 18),
    (2, 18),
    (3, 19),
    (4, 20),
    (5, 21),
    (6, 22),
    (7, 23),
    (8, 24),
    (9, 25),
    (9, 9),
    (10, 10),
    (11, 11),
    (12, 12),
    (13, 13),
    (9, 13),
    (6, 13),
    (4, 13),
    (2, 13),
    (2, 13),
    (2, 2),
    (2, 2),
];

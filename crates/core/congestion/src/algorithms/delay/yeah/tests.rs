use super::*;
use crate::algorithms::reno::window::tests::avoiding as window;
use crate::testing::fixtures::{MDS, acked, congestion, path};
use crate::{AckedPacket, Cause, Controller};
use units::Time;

/// A controller and the packets of its flight.
struct Flow {
    cc: YeahController,
    pn: u64,
}

impl Flow {
    fn new() -> Self {
        Self { cc: YeahController::new(Params::default(), path(MDS)), pn: 0 }
    }

    /// A flow in congestion avoidance that knows a baseRTT of 100 ms.
    fn avoiding(packets: u64) -> Self {
        let mut flow = Self::new();
        flow.cc.frame.window = window(packets * MDS);
        flow.cc.rule.base_rtt = Duration::from_millis(100);
        flow
    }

    fn packets(&self) -> u64 {
        self.cc.control().cwnd / MDS
    }

    fn sent(&mut self, packets: u64) {
        for pn in self.pn..self.pn + packets {
            let (now, bytes_in_flight) = (Time::ZERO, 2 * MDS);
            self.cc.on_sent(&Sent { now, pn, bytes: MDS, bytes_in_flight, app_limited: false });
        }
    }

    /// Sends a window and acknowledges it packet by packet with this RTT. With a loss, the flight
    /// is in recovery until its last ACK.
    fn flight(&mut self, us: u64, lost: bool) {
        let packets = self.packets();
        self.sent(packets);
        if lost {
            self.cc.on_congestion(&congestion(Cause::Loss, 0));
        }
        for i in 1..=packets {
            let (bytes, sent) = (MDS, Time::ZERO);
            let packet = AckedPacket { pn: self.pn, bytes, sent, received: None, before_reduction: lost };
            self.pn += 1;
            self.cc.on_ack(&Ack {
                packets: &[packet],
                latest_rtt: Some(Duration::from_micros(us)),
                growth: if lost { 0 } else { MDS },
                in_recovery: lost && i < packets,
                ..acked(MDS)
            });
        }
    }

    /// Measures a round trip with this RTT in us.
    fn measured(packets: u64, us: u64) -> Self {
        let mut flow = Self::avoiding(packets);
        flow.cc.rule.min_rtt = Duration::from_micros(us);
        flow.cc.rule.measure(&mut flow.cc.frame);
        flow
    }
}

/// Queue, window, reno_count and mode for closed forms: base 100 ms, cwnd (rtt - base) / rtt.
#[test]
fn decisions() {
    for (window, us, queue, left, reno_count, slow) in [
        (400, 100_000, 0, 400, 2, 0),
        // An eighth of baseRTT is allowed.
        (400, 112_500, 44, 400, 2, 0),
        (400, 112_501, 44, 400, 200, 1),
        (720, 112_500, 80, 720, 2, 0),
        (729, 112_500, 81, 648, 324, 1),
        (1000, 150_000, 333, 667, 333, 1),
        // At most half of the window.
        (1000, 400_000, 750, 500, 250, 1),
    ] {
        let flow = Flow::measured(window, us);
        let Yeah { queue: got, reno_count: count, slow: trips, .. } = flow.cc.rule;
        assert_eq!((got, count, trips), (Some(queue), reno_count, slow), "{window} {us}");
        assert_eq!(flow.packets(), left, "{window} {us}");
        assert_eq!(flow.cc.frame.window.ssthresh, left * MDS);
    }
}

/// A decongestion leaves reno_count. Fifty-one round trips in fast mode forget it.
#[test]
fn reno_window() {
    let mut flow = Flow::avoiding(1000);
    flow.cc.rule.reno_count = 900;
    flow.cc.rule.min_rtt = Duration::from_millis(200);
    flow.cc.rule.measure(&mut flow.cc.frame);
    assert_eq!((flow.packets(), flow.cc.rule.reno_count), (900, 901));
    for i in 0..=50 {
        assert_eq!(flow.cc.rule.reno_count, 901, "{i}");
        flow.cc.rule.uncongested();
    }
    assert_eq!((flow.cc.rule.reno_count, flow.cc.rule.fast_count, flow.cc.rule.slow), (2, 0, 0));
}

/// Fast mode: a packet per 100 packets, or per window if that is less. Slow mode: per window.
#[test]
fn growth() {
    for (window, slow, grown) in [(300, 0, 3), (50, 0, 1), (300, 1, 1), (50, 1, 1)] {
        let mut flow = Flow::avoiding(window);
        flow.cc.rule.slow = slow;
        (0..window).for_each(|_| _ = flow.cc.on_ack(&acked(MDS)));
        assert_eq!(flow.packets(), window + grown, "{window} {slow}");
    }
    let mut flow = Flow::avoiding(300);
    flow.cc.on_ack(&acked(250 * MDS));
    assert_eq!((flow.packets(), flow.cc.frame.window.memory.bytes_acked), (302, 50 * MDS));
}

/// A loss takes the queue, but at least an eighth and at most a half. From the sixteenth round
/// trip in slow mode on, it takes half.
#[test]
fn losses() {
    for (queue, slow, left) in
        [(None, 0, 700), (Some(100), 15, 700), (Some(300), 15, 500), (Some(700), 0, 400), (Some(0), 16, 400)]
    {
        let mut flow = Flow::avoiding(800);
        (flow.cc.rule.queue, flow.cc.rule.slow, flow.cc.rule.reno_count) = (queue, slow, 30);
        flow.cc.on_congestion(&congestion(Cause::Loss, 0));
        assert_eq!((flow.packets(), flow.cc.frame.window.ssthresh), (left, left * MDS), "{queue:?}");
        assert_eq!((flow.cc.rule.fast_count, flow.cc.rule.reno_count), (0, 15));
    }
    let mut flow = Flow::avoiding(3);
    flow.cc.rule.slow = 20;
    flow.cc.on_congestion(&congestion(Cause::Loss, 0));
    assert_eq!(flow.packets(), 2);
}

/// Too few samples decide nothing. The end of a recovery begins a round trip, and an idle time
/// forgets baseRTT.
#[test]
fn round_trips() {
    let mut flow = Flow::avoiding(2);
    flow.flight(100_000, false);
    flow.flight(900_000, false);
    assert_eq!(flow.cc.rule.queue, None);
    let mut flow = Flow::avoiding(50);
    flow.flight(100_000, true);
    assert_eq!((flow.cc.rule.round_end, flow.cc.rule.samples), (50, 0));
    let sent =
        |pn, bytes_in_flight| Sent { now: Time::ZERO, pn, bytes: MDS, bytes_in_flight, app_limited: false };
    flow.cc.on_sent(&sent(60, 2 * MDS));
    assert_eq!(flow.cc.rule.base_rtt, Duration::from_millis(100));
    flow.cc.on_sent(&sent(61, MDS));
    assert_eq!((flow.cc.rule.base_rtt, flow.cc.rule.round_end), (Duration::MAX, 61));
}

/// RTT in microseconds and whether a packet is lost, flight by flight.
const FLIGHTS: [(u64, bool); 40] = [
    (100_000, false),
    (100_000, false),
    (100_000, false),
    (100_000, false),
    (100_000, false),
    (140_000, true),
    (100_000, false),
    (101_000, false),
    (102_000, false),
    (108_000, false),
    (114_000, false),
    (114_000, false),
    (150_000, false),
    (150_000, false),
    (150_000, false),
    (120_000, false),
    (120_000, true),
    (101_000, false),
    (101_000, false),
    (101_000, false),
    (300_100, false),
    (300_100, false),
    (300_100, false),
    (300_100, false),
    (300_100, false),
    (130_000, false),
    (130_000, false),
    (130_000, false),
    (130_000, false),
    (130_000, false),
    (130_000, false),
    (130_000, false),
    (130_000, false),
    (130_000, false),
    (130_000, false),
    (130_000, false),
    (130_000, true),
    (99_000, false),
    (99_000, false),
    (99_000, true),
];

/// Linux's rules on a fixed sequence of RTTs and losses: window, queue and reno_count after each
/// flight. `vectors/yeah.py`.
#[test]
fn as_linux() {
    let mut flow = Flow::new();
    for (i, ((us, lost), expected)) in FLIGHTS.into_iter().zip(LINUX).enumerate() {
        flow.flight(us, lost);
        let Yeah { queue, reno_count, .. } = flow.cc.rule;
        assert_eq!((flow.packets(), queue.unwrap_or(0), reno_count), expected, "flight {i}");
    }
}

/// Output of `vectors/yeah.py`.
const LINUX: [(u64, u64, u64); 40] = [
    (20, 0, 2),
    (40, 0, 2),
    (80, 0, 2),
    (160, 0, 2),
    (320, 0, 2),
    (280, 0, 2),
    (282, 0, 2),
    (285, 0, 2),
    (288, 2, 2),
    (291, 5, 2),
    (294, 21, 2),
    (295, 36, 147),
    (296, 36, 148),
    (199, 98, 149),
    (200, 66, 150),
    (201, 33, 151),
    (168, 33, 75),
    (169, 33, 75),
    (170, 1, 75),
    (172, 1, 75),
    (174, 1, 75),
    (89, 116, 76),
    (90, 59, 77),
    (91, 60, 78),
    (92, 60, 79),
    (93, 21, 80),
    (94, 21, 81),
    (95, 21, 82),
    (96, 21, 83),
    (97, 22, 84),
    (98, 22, 85),
    (99, 22, 86),
    (100, 22, 87),
    (101, 23, 88),
    (102, 23, 89),
    (103, 23, 90),
    (80, 23, 45),
    (81, 23, 45),
    (82, 0, 45),
    (72, 0, 22),
];

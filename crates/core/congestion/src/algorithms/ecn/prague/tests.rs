use super::*;
use crate::AckedPacket;
use crate::testing::fixtures::{MDS, acked, congestion, path, stamped};
use units::Duration;

fn with(params: Params) -> Prague {
    Prague::new(params, path(MDS))
}

/// A controller in congestion avoidance with this window, for which the virtual RTT counts.
fn avoiding(packets: f64, params: Params) -> Prague {
    let mut cc = with(params);
    cc.inner.rule.params.rtt_transition = 0;
    (cc.inner.frame.window.cwnd, cc.inner.frame.window.ssthresh) = (packets, packets);
    cc
}

fn packets(cc: &Prague) -> f64 {
    cc.inner.frame.window.cwnd
}

/// A flow whose packets are acknowledged one by one, each round trip at its end.
struct Link {
    cc: Prague,
    rtt: Duration,
    now: Time,
    pn: u64,
    /// Marks that the next round trip still has to carry, in packets.
    owed: f64,
}

impl Link {
    fn new(cc: Prague, ms: u64) -> Self {
        Self { cc, rtt: Duration::from_millis(ms), now: Time::ZERO, pn: 0, owed: 0.0 }
    }

    fn event(&mut self, cause: Cause) {
        let smoothed_rtt = self.rtt;
        let event = Congestion { now: self.now, smoothed_rtt, ..congestion(cause, 0) };
        self.cc.on_congestion(&event);
    }

    /// Plays a round trip whose first `marked` packets carry marks. -1 is a loss.
    fn round(&mut self, marked: i64) {
        let acks = packets(&self.cc) as u64;
        self.now += self.rtt;
        for pn in self.pn..self.pn + acks {
            let (now, bytes_in_flight) = (self.now, acks * MDS);
            self.cc.on_sent(&Sent { now, pn, bytes: MDS, bytes_in_flight, app_limited: false });
        }
        match marked {
            0 => {}
            ..0 => self.event(Cause::Loss),
            _ => self.event(Cause::Ecn),
        }
        for i in 0..acks {
            let packets = &[AckedPacket { bytes: MDS, ..stamped(self.pn, Time::ZERO, 0) }];
            self.pn += 1;
            self.cc.on_ack(&Ack {
                now: self.now,
                packets,
                ce: u64::from((i as i64) < marked),
                growth: if marked == 0 { MDS } else { 0 },
                in_recovery: marked != 0,
                smoothed_rtt: self.rtt,
                latest_rtt: Some(self.rtt),
                round_start: i + 1 == acks,
                ..acked(MDS)
            });
        }
    }

    /// Marks a share of all packets until the window is settled. Returns the mean window.
    fn settle(&mut self, share: f64) -> f64 {
        let (mut sum, mut rounds) = (0.0, 0.0);
        for i in 0..6000 {
            self.owed += share * packets(&self.cc).floor();
            let marked = self.owed.floor();
            self.owed -= marked;
            self.round(marked as i64);
            if i >= 3000 {
                (sum, rounds) = (sum + packets(&self.cc), rounds + 1.0);
            }
        }
        sum / rounds
    }
}

/// The growth of a round trip is (srtt / 25 ms)^2 packets. `vectors/prague.py`.
#[test]
fn rtt_independence() {
    for (us, expected) in
        [(500, 0.0004), (1000, 0.0016), (5000, 0.04), (10_000, 0.16), (25_000, 1.0), (50_000, 1.0)]
    {
        let mut cc = avoiding(1e6, Params::default());
        let smoothed_rtt = Duration::from_micros(us);
        cc.on_ack(&Ack { smoothed_rtt, ..acked(1_000_000 * MDS) });
        assert!((packets(&cc) - 1e6 - expected).abs() < 1e-9, "{us}: {}", packets(&cc));
    }
}

/// The virtual RTT does not count in the first round trips after slow start.
#[test]
fn transition() {
    let mut link = Link::new(avoiding(20.0, Params::default()), 5);
    link.cc.inner.rule.params.rtt_transition = 3;
    let mut grown = Vec::new();
    for _ in 0..5 {
        let before = packets(&link.cc);
        link.round(0);
        grown.push(packets(&link.cc) - before);
    }
    // The third round trip ends with its last ACK, which grows by less. A round trip acknowledges
    // whole packets of a growing window, up to a tenth less.
    assert!(grown[..2].iter().all(|g| (0.9..=1.0).contains(g)), "{grown:?}");
    assert!((0.85..1.0).contains(&grown[2]), "{grown:?}");
    assert!(grown[3..].iter().all(|g| (0.036..=0.04).contains(g)), "{grown:?}");
}

const ROUNDS: [i64; 30] =
    [0, 0, 3, 0, 5, 1, 0, 0, 2, 2, 2, 2, -1, 0, 0, 0, 9, 0, 1, 1, 1, 0, 0, -1, 0, 0, 4, 4, 0, 0];

/// Output of `vectors/prague.py`: window and alpha after each round trip.
const AT_10_MS: [(f64, f64); 30] = [
    (40.0, 0.25),
    (80.0, 0.25),
    (71.0916, 0.2367),
    (72.0835, 0.2219),
    (65.1222, 0.2124),
    (59.2959, 0.2001),
    (60.2689, 0.1876),
    (60.428, 0.1876),
    (54.9298, 0.1876),
    (55.081, 0.1774),
    (55.2348, 0.1774),
    (50.5036, 0.1774),
    (25.2518, 0.1682),
    (25.4097, 0.1682),
    (25.5667, 0.1682),
    (25.7227, 0.1577),
    (23.8022, 0.1577),
    (23.9563, 0.1577),
    (24.1028, 0.1564),
    (22.3829, 0.1564),
    (22.5325, 0.1564),
    (22.6882, 0.1484),
    (22.8429, 0.1484),
    (11.4214, 0.1484),
    (11.5746, 0.1392),
    (11.7258, 0.1392),
    (11.0121, 0.1392),
    (11.1134, 0.1399),
    (11.2707, 0.1399),
    (11.4259, 0.1399),
];
/// Likewise.
const AT_40_MS: [(f64, f64); 30] = [
    (40.0, 0.25),
    (80.0, 0.25),
    (71.0916, 0.2367),
    (72.0835, 0.2219),
    (65.1222, 0.2124),
    (59.2959, 0.2001),
    (60.2828, 0.1876),
    (61.2702, 0.1759),
    (56.9291, 0.1669),
    (53.2031, 0.1587),
    (50.0117, 0.1511),
    (47.2592, 0.1442),
    (23.6296, 0.1352),
    (24.5845, 0.1267),
    (25.5428, 0.1188),
    (26.5042, 0.1114),
    (25.6988, 0.1261),
    (26.6545, 0.1182),
    (26.0579, 0.1132),
    (25.5805, 0.1085),
    (25.1657, 0.1042),
    (26.1409, 0.0977),
    (27.118, 0.0916),
    (13.559, 0.0859),
    (14.4884, 0.0805),
    (15.4265, 0.0755),
    (15.5691, 0.0874),
    (15.6112, 0.0986),
    (16.546, 0.0925),
    (17.4878, 0.0867),
];

/// Linux's rules on a fixed sequence of marks and losses: window and alpha after each round trip,
/// at 10 and at 40 ms. `vectors/prague.py`.
#[test]
fn as_linux() {
    for (ms, expected) in [(10, AT_10_MS), (40, AT_40_MS)] {
        let mut link = Link::new(
            with(Params {
                rtt_transition: 5,
                alpha_on_init: 0.25,
                initial_window: Some(20),
                ..Params::default()
            }),
            ms,
        );
        for (i, (marks, (cwnd, alpha))) in ROUNDS.into_iter().zip(expected).enumerate() {
            link.round(marks);
            let now = (packets(&link.cc), link.cc.inner.rule.alpha);
            // The script prints four digits.
            assert!((now.0 - cwnd).abs() < 1e-4 && (now.1 - alpha).abs() < 1e-4, "{ms} {i}: {now:?}");
        }
    }
}

/// In steady state a flow has two marks per virtual RTT, so its rate does not depend on its RTT
/// below 25 ms. `vectors/prague.py`.
#[test]
fn steady_state() {
    for (share, ms, expected) in
        [(0.1, 25, 18.0), (0.05, 25, 38.0), (0.02, 25, 98.0), (0.02, 5, 19.6), (0.02, 50, 98.0)]
    {
        let window = Link::new(avoiding(expected, Params::default()), ms).settle(share);
        // A round trip acknowledges whole packets, and 2 % of 19 packets are marked in every other
        // one only.
        assert!((window - expected).abs() < 0.08 * expected, "{share} {ms}: {window}");
    }
}

/// Alpha stays at its first value until the first mark, which thus halves the window and ends slow
/// start.
#[test]
fn first_mark() {
    for (alpha_on_init, left) in [(1.0, 20.0), (0.0, 40.0)] {
        let mut link = Link::new(with(Params { alpha_on_init, ..Params::default() }), 50);
        (0..2).for_each(|_| link.round(0));
        assert_eq!((packets(&link.cc), link.cc.inner.rule.alpha), (40.0, alpha_on_init));
        link.event(Cause::Ecn);
        assert_eq!((packets(&link.cc), link.cc.control().in_slow_start()), (left, false));
    }
}

/// Marked packets do not grow the window in slow start, nor do packets of an unused window.
#[test]
fn what_grows() {
    let packets = [AckedPacket { bytes: MDS, ..stamped(0, Time::ZERO, 0) }; 4];
    let ack = Ack { packets: &packets, ce: 1, ..acked(4 * MDS) };
    let mut cc = with(Params::default());
    cc.on_ack(&ack);
    assert_eq!(cc.inner.frame.window.cwnd, 13.0);
    for (app_limited, cwnd_limited, grown) in [(true, false, 0.0), (true, true, 3.0), (false, false, 3.0)] {
        let mut cc = avoiding(1000.0, Params::default());
        cc.on_ack(&Ack { app_limited, cwnd_limited, growth: 0, ..ack });
        // The ACK grows a window of 1000 packets by a thousandth per packet.
        assert!((cc.inner.frame.window.cwnd - 1000.0 - grown / 1000.0).abs() < 1e-9);
    }
    let mut cc = avoiding(1000.0, Params::default());
    cc.on_ack(&Ack { ce: 9, ..ack });
    assert_eq!(cc.inner.frame.window.cwnd, 1000.0, "more marks than packets count as all");
}

fn lost(cc: &mut Prague, pn: u64, ms: u64) {
    let now = Time::from_millis(ms);
    let packet = LostPacket {
        pn,
        bytes: MDS,
        sent: Time::ZERO,
        detection: Detection::PacketThreshold,
        tx_in_flight: 0,
        lost_at_send: 0,
        app_limited: false,
    };
    let packets = &[packet];
    cc.on_lost(&Lost { now, packets, total_lost: MDS, delivered: 0, bytes_in_flight: 0 });
}

/// A loss in the recovery period of a mark halves the window once, whether or not the sender
/// reports an event for it. Outside, the event does.
#[test]
fn loss_after_a_mark() {
    let mut cc = avoiding(100.0, Params { alpha_on_init: 0.0, ..Params::default() });
    for pn in 0..10 {
        let (now, bytes_in_flight) = (Time::ZERO, MDS);
        cc.on_sent(&Sent { now, pn, bytes: MDS, bytes_in_flight, app_limited: false });
    }
    lost(&mut cc, 1, 1);
    assert_eq!(packets(&cc), 100.0, "the sender reports an event");
    cc.on_congestion(&congestion(Cause::Ecn, 0));
    for ms in [2, 3] {
        lost(&mut cc, ms, ms);
        assert_eq!(packets(&cc), 50.0);
    }
    cc.on_congestion(&Congestion { now: Time::from_millis(2), ..congestion(Cause::Loss, 0) });
    assert_eq!(packets(&cc), 50.0, "the same loss");
    cc.on_congestion(&Congestion { now: Time::from_millis(9), ..congestion(Cause::Loss, 0) });
    assert_eq!(packets(&cc), 25.0, "another loss");
    cc.on_spurious();
    assert_eq!((packets(&cc), cc.inner.rule.in_loss), (50.0, false));
    cc.on_congestion(&congestion(Cause::Timeout, 0));
    assert_eq!((packets(&cc), cc.inner.frame.window.ssthresh), (1.0, 25.0));
}

/// The window over the RTT, twice that early in slow start, in bursts of 250 us or a packet.
#[test]
fn pacing() {
    let mut cc = with(Params::default());
    assert_eq!(cc.control().pacing_rate, None, "no RTT yet");
    for (cwnd, ssthresh, rate, quantum) in
        [(100.0, 100.0, 8_000_000, 1000), (10_000.0, f64::INFINITY, 1_600_000_000, 50_000)]
    {
        cc.inner.rule.srtt = Duration::from_millis(100);
        (cc.inner.frame.window.cwnd, cc.inner.frame.window.ssthresh) = (cwnd, ssthresh);
        let control = cc.control();
        assert_eq!((control.pacing_rate, control.send_quantum), (Some(Rate(rate)), Some(quantum)));
    }
}

/// An update adds half of the logarithms of mdev / 750 us and of the queue / 2 ms, the latter only
/// if positive.
#[test]
fn evidence() {
    for (mdev, depth, added) in [
        (750.0, 2000.0, 0.0),
        (3000.0, 0.0, 1.0),
        (750.0, 8000.0, 1.0),
        (187.5, 500.0, -1.0),
        (0.1, 0.0, -4.775),
    ] {
        let mut classic = classic::Classic::default();
        (classic.srtt, classic.mdev, classic.evidence) = (Some(10_000.0 + depth), mdev, 5.0);
        classic.update(Duration::from_millis(10));
        // log2(750) / 2 to three digits.
        assert!((classic.evidence - 5.0 - added).abs() < 1e-3, "{mdev} {depth}: {}", classic.evidence);
        (0..40).for_each(|_| classic.update(Duration::from_millis(10)));
        assert!((0.0..=17.0).contains(&classic.evidence));
    }
    for (evidence, least) in [(0.0, 0.0), (8.0, 0.0), (8.5, 0.3125), (9.0, 0.625), (17.0, 0.625)] {
        let classic = classic::Classic { evidence, ..classic::Classic::default() };
        assert_eq!(classic.least_alpha(), least);
    }
}

/// Gains of 2^-10 and 2^-11 at 64 to 127 packets: floor(log2) + floor(log2) / 2 + 1, at most 18.
#[test]
fn gains() {
    for (ssthresh, bits) in [(127.0, 10), (1.0, 1), (f64::INFINITY, 18)] {
        let mut classic = classic::Classic::default();
        classic.sample(Duration::from_millis(10));
        classic.adapt(ssthresh);
        classic.sample(Duration::from_millis(11));
        let share = libm::ldexp(1.0, -bits);
        assert!((classic.srtt.unwrap_or(0.0) - 10_000.0 - 1000.0 * share).abs() < 1e-6, "{ssthresh}");
        assert!((classic.mdev - 1.0 - 999.0 * share / 2.0).abs() < 1e-6, "{ssthresh}");
    }
}

/// With evidence of a classic queue, a mark takes up to 0.3125 of the window.
#[test]
fn fallback() {
    for (ecn_fallback, left) in [(true, 68.75), (false, 100.0)] {
        let params = Params { alpha_on_init: 0.0, ecn_fallback, ..Params::default() };
        let mut cc = avoiding(100.0, params);
        let deep = Duration::from_millis(60);
        for i in 0..3000 {
            let (round_start, ce) = (i % 10 == 0, u64::from(i == 0));
            let latest_rtt = Some(if i % 2 == 0 { deep } else { Duration::from_millis(20) });
            let (min_rtt, now) = (Duration::from_millis(20), Time::from_millis(10 * i));
            let packets = &[stamped(i, now, 0)];
            cc.on_ack(&Ack { now, packets, latest_rtt, min_rtt, round_start, ce, ..acked(0) });
            cc.inner.rule.classic.adapt(64.0);
        }
        cc.inner.rule.alpha = 0.0;
        cc.on_congestion(&Congestion { now: Time::from_millis(99_000), ..congestion(Cause::Ecn, 0) });
        assert_eq!(packets(&cc), left);
    }
}

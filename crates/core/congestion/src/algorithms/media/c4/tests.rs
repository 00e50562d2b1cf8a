use super::*;
use crate::testing::closed_loop::{Flow, Loop};
use crate::testing::fixtures::{MDS, acked, congestion, path, stamped};
use crate::{AckedPacket, LostPacket, RateSample};
use units::{Duration, Time};

fn with(params: Params) -> C4 {
    C4::new(params, path(MDS))
}

/// A controller in Cruising at 1 MB/s, 100 ms.
fn cruising() -> C4 {
    let mut cc = with(Params::default());
    (cc.rate, cc.max_rtt, cc.min_rtt, cc.alpha) = (1e6, 0.1, 0.1, 1.0);
    (cc.state, cc.alpha_previous) = (State::Cruising, 1.0);
    cc
}

fn sent(cc: &mut C4, packets: u64) {
    for _ in 0..packets {
        let (now, pn, bytes_in_flight) = (Time::ZERO, cc.next_pn, MDS);
        cc.on_sent(&Sent { now, pn, bytes: MDS, bytes_in_flight, app_limited: false });
    }
}

fn rate_sample(bytes_per_sec: f64) -> RateSample {
    RateSample {
        prior_delivered: 0,
        delivered: MDS,
        interval: Duration::from_millis(100),
        delivery_rate: Some(Rate::from_bytes_per_sec(bytes_per_sec)),
        app_limited: false,
        tx_in_flight: 0,
        lost: 0,
    }
}

/// Ends an era with this RTT in ms, delivery rate in bytes/s, and marks among 16 packets.
fn era(cc: &mut C4, ms: u64, rate: f64, ce: u64) {
    sent(cc, 16);
    let first = cc.next_pn - 16;
    let packets: Vec<_> = (0..16).map(|i| stamped(first + i, Time::ZERO, 0)).collect();
    let (latest_rtt, rate) = (Some(Duration::from_millis(ms)), Some(rate_sample(rate)));
    cc.on_ack(&Ack { packets: &packets, latest_rtt, rate, ce, ..acked(16 * MDS) });
}

fn lose(cc: &mut C4, packets: u64, detection: Detection) {
    let lost = LostPacket {
        pn: 0,
        bytes: MDS,
        sent: Time::ZERO,
        detection,
        tx_in_flight: 0,
        lost_at_send: 0,
        app_limited: false,
    };
    for _ in 0..packets {
        let (now, packets) = (Time::ZERO, &[lost]);
        cc.on_lost(&Lost { now, packets, total_lost: MDS, delivered: 0, bytes_in_flight: 0 });
    }
}

/// Mbit/s; sensitivity; thresholds of delay (ms at 100 ms), losses and marks; losses in a row until
/// a signal. Fact sheet A15 and `vectors/c4.py`.
const THRESHOLDS: [(f64, f64, f64, f64, f64, u64); 9] = [
    (0.4, 0.0, 25.0, 0.52, 0.1875, 12),
    (1.0, 0.0726, 23.638, 0.4837, 0.1807, 11),
    (2.0, 0.1937, 21.368, 0.4232, 0.1693, 9),
    (5.0, 0.5568, 14.559, 0.2416, 0.1353, 5),
    (8.0, 0.92, 7.75, 0.06, 0.1012, 1),
    (10.0, 0.9222, 7.708, 0.0589, 0.101, 1),
    (20.0, 0.9333, 7.5, 0.0533, 0.1, 1),
    (50.0, 0.9667, 6.875, 0.0367, 0.0969, 1),
    (80.0, 1.0, 6.25, 0.02, 0.0938, 1),
];

#[test]
fn thresholds() {
    for (mbit, s, delay, loss, marks, losses) in THRESHOLDS {
        let mut cc = cruising();
        cc.rate = mbit * 125e3;
        let thresholds = cc.thresholds();
        let limit = cc.params.delay_threshold_max;
        // The table has four digits.
        assert!((thresholds.sensitivity() - s).abs() < 5.1e-5, "{mbit}");
        assert!((thresholds.delay(limit) * 1e3 - delay).abs() < 5.1e-4, "{mbit}");
        assert!((thresholds.loss() - loss).abs() < 5.1e-5, "{mbit}");
        assert!((thresholds.marks() - marks).abs() < 5.1e-5, "{mbit}");
        lose(&mut cc, losses - 1, Detection::PacketThreshold);
        assert_eq!(cc.state, State::Cruising, "{mbit}");
        lose(&mut cc, 1, Detection::TimeThreshold);
        assert_eq!(cc.state, State::Recovery, "{mbit}");
        assert!((cc.rate / (mbit * 125e3) - 0.75).abs() < 1e-9 && (cc.max_rtt - 0.075).abs() < 1e-9);
    }
}

/// Smallest and largest RTT of eras, in ms, and the gain of the era before. `vectors/c4.py`.
#[test]
fn rtts() {
    let mut cc = with(Params::default());
    (cc.state, cc.max_rtt) = (State::Cruising, 0.045);
    let eras = [
        (1.0, 40.0, 60.0),
        (1.0, 44.0, 50.0),
        (1.25, 10.0, 900.0),
        (0.9375, 36.0, 500.0),
        (1.0, 52.0, 52.0),
        (1.0, 50.0, 290.0),
        (1.0, 50.0, 50.0),
    ];
    for ((gain, min, max), (low, high)) in eras.into_iter().zip(RTTS) {
        cc.alpha_previous = gain;
        cc.era.rtts = Some((min * 1e-3, max * 1e-3));
        cc.update_rtts();
        // The script prints four digits.
        assert!((cc.min_rtt * 1e3 - low).abs() < 1e-4, "{}", cc.min_rtt);
        assert!((cc.max_rtt * 1e3 - high).abs() < 1e-4, "{}", cc.max_rtt);
    }
}

/// Output of `vectors/c4.py`, in ms.
const RTTS: [(f64, f64); 7] = [
    (40.0, 60.0),
    (40.5, 58.75),
    (40.5, 58.75),
    (36.0, 286.0),
    (38.0, 256.75),
    (39.5, 289.5),
    (40.8125, 259.5625),
];

/// States and rates on a path without a queue, whose capacity rises twice. `vectors/c4.py`.
#[test]
fn eras() {
    let mut cc = with(Params { jitter_restart: 0.0, ..Params::default() });
    let capacities = (0..50).map(|i| [1000.0, 1100.0, 4000.0, 4000.0, 4000.0][i / 12]);
    (cc.rate, cc.max_rtt) = (100.0, 0.1);
    let mut delivered: f64 = 100.0;
    for (i, (capacity, (state, rate))) in capacities.zip(ERAS).enumerate() {
        let next = cc.alpha * cc.rate.max(delivered.min(capacity));
        era(&mut cc, 100, delivered.min(capacity), 0);
        delivered = next;
        let named = ["I", "R", "C", "P"][cc.state as usize];
        // A rate is a whole number of bits per second, an eighth of a byte.
        assert!(named == state && (cc.rate - rate).abs() < 0.2, "{i}: {named} {}", cc.rate);
    }
}

/// Output of `vectors/c4.py`: state and rate after each era.
const ERAS: [(&str, f64); 50] = [
    ("I", 100.0),
    ("I", 200.0),
    ("I", 400.0),
    ("I", 800.0),
    ("I", 1000.0),
    ("I", 1000.0),
    ("I", 1000.0),
    ("R", 1000.0),
    ("C", 1000.0),
    ("C", 1000.0),
    ("C", 1000.0),
    ("C", 1000.0),
    ("P", 1000.0),
    ("R", 1000.0),
    ("C", 1062.5),
    ("C", 1062.5),
    ("C", 1062.5),
    ("C", 1062.5),
    ("P", 1062.5),
    ("R", 1062.5),
    ("C", 1100.0),
    ("C", 1100.0),
    ("C", 1100.0),
    ("C", 1100.0),
    ("P", 1100.0),
    ("R", 1100.0),
    ("C", 1168.75),
    ("C", 1168.75),
    ("C", 1168.75),
    ("C", 1168.75),
    ("P", 1168.75),
    ("R", 1168.75),
    ("C", 1460.94),
    ("C", 1460.94),
    ("C", 1460.94),
    ("C", 1460.94),
    ("P", 1460.94),
    ("R", 1460.94),
    ("I", 1826.17),
    ("I", 1826.17),
    ("I", 3652.34),
    ("I", 4000.0),
    ("I", 4000.0),
    ("R", 4000.0),
    ("C", 4000.0),
    ("C", 4000.0),
    ("C", 4000.0),
    ("C", 4000.0),
    ("P", 4000.0),
    ("R", 4000.0),
];

/// At 1 MB/s and 100 ms the threshold is 7.75 ms: beta is the excess over it, at most 1/4.
#[test]
fn delay() {
    for (us, left, state) in [
        (107_750, 1.0, State::Cruising),
        (108_525, 0.9, State::Recovery),
        (109_300, 0.8, State::Recovery),
        (120_000, 0.75, State::Recovery),
    ] {
        let mut cc = cruising();
        cc.on_rtt(f64::from(us) * 1e-6);
        assert!((cc.rate - left * 1e6).abs() < 1.0, "{us}: {}", cc.rate);
        assert_eq!((cc.state, cc.max_rtt), (state, 0.1));
    }
}

/// The share of marks is smoothed, but half and more counts at once. The threshold at 1 MB/s is
/// 0.10125.
#[test]
fn marks() {
    for (ce, share, left) in [(8, 0.5, 0.75), (16, 1.0, 0.75), (4, 0.015_625, 1.0)] {
        let mut cc = cruising();
        era(&mut cc, 100, 1.0, ce);
        assert!((cc.ecn_alpha - share).abs() < 1e-9 && (cc.rate - left * 1e6).abs() < 1.0, "{ce}: {cc:?}");
    }
    let mut cc = cruising();
    cc.ecn_alpha = 0.1;
    cc.marks = (9, 4);
    cc.on_marks();
    // e = (15 * 0.1 + 4/9) / 16, and e exceeds the threshold by this share of it.
    let share: f64 = (1.5 + 4.0 / 9.0) / 16.0;
    assert!((cc.rate - 1e6 * (1.0 - (share / 0.10125 - 1.0))).abs() < 1.0, "{}", cc.rate);
    let mut cc = with(Params { ecn: false, ..Params::default() });
    era(&mut cc, 100, 1e6, 16);
    assert_eq!((cc.ecn_alpha, cc.needs().mark_counts), (0.0, false));
}

/// A signal in Pushing or Recovery lowers nothing, but the push has failed, and the rate is not
/// raised until Recovery ends.
#[test]
fn congested_push() {
    for (in_push, pushes) in [(true, 0), (false, 1)] {
        let mut cc = cruising();
        cc.rate_before = 1e6;
        cc.begin(State::Pushing, 17.0 / 16.0);
        era(&mut cc, if in_push { 300 } else { 100 }, 1.05e6, 0);
        // The signal came before the sample of the same ACK.
        assert_eq!((cc.state, cc.rate), (State::Recovery, if in_push { 1e6 } else { 1.05e6 }));
        assert_eq!(cc.congested, in_push);
        era(&mut cc, 100, 1.06e6, 0);
        assert_eq!((cc.state, cc.pushes), (State::Cruising, pushes));
        assert_eq!(cc.rate, if in_push { 1e6 } else { 1.06e6 });
    }
}

/// In Initial, losses count after 20 packets, delays and marks after two eras without growth.
/// Neither lowers the rate.
#[test]
fn initial() {
    for (eras, received, delayed, lossy) in
        [(0, 20, false, false), (1, 21, false, true), (2, 20, true, false)]
    {
        for (loss, ends) in [(false, delayed), (true, lossy)] {
            let mut cc = with(Params::default());
            (cc.rate, cc.max_rtt, cc.eras, cc.received) = (1e6, 0.1, eras, received);
            if loss {
                lose(&mut cc, 1, Detection::PacketThreshold);
            } else {
                cc.on_rtt(0.2);
            }
            assert_eq!(cc.state == State::Recovery, ends, "{eras} {received} {loss}");
            assert_eq!((cc.rate, cc.max_rtt), (1e6, 0.1));
        }
    }
}

/// Ten packets and 128 KiB/s at first. Then the gain times the nominal rate, over the largest RTT.
#[test]
fn outputs() {
    let cc = with(Params::default());
    let first = Control { pacing_rate: Some(Rate(1_048_576)), ..Control::window(10 * MDS) };
    assert_eq!(cc.control(), Control { send_quantum: Some(2500), ..first });
    for (state, alpha, rate, cwnd, quantum) in [
        (State::Initial, 2.0, 16_000_000, 200_000, 50_000),
        (State::Recovery, 0.9375, 7_500_000, 93_750, 23_437),
        (State::Cruising, 1.0, 8_000_000, 100_000, 25_000),
        (State::Pushing, 1.25, 10_000_000, 125_000, 31_250),
    ] {
        let mut cc = cruising();
        (cc.state, cc.alpha) = (state, alpha);
        cc.params.window_margin = Duration::ZERO;
        let expected = Control { pacing_rate: Some(Rate(rate)), ..Control::window(cwnd) };
        assert_eq!(cc.control(), Control { send_quantum: Some(quantum), ..expected });
    }
    // 1 MB/s for 100 ms and the margin of 15 ms.
    assert_eq!(cruising().control().cwnd, 115_000);
    let mut cc = cruising();
    (cc.rate, cc.max_rtt) = (1000.0, 0.001);
    assert_eq!((cc.control().cwnd, cc.control().send_quantum), (2 * MDS, Some(2 * MDS)));
}

/// High jitter restarts Initial once, at the end of a Recovery.
#[test]
fn jitter() {
    let mut cc = cruising();
    for restarts in [true, false] {
        cc.begin(State::Recovery, 15.0 / 16.0);
        (cc.min_rtt, cc.max_rtt, cc.alpha_previous) = (0.039, 0.1, 1.25);
        era(&mut cc, 100, 1.0, 0);
        assert_eq!(cc.state == State::Initial, restarts);
    }
}

/// An application-limited flow stays in Cruising, and its eras without growth do not end Initial.
/// The rate stays.
#[test]
fn application_limited() {
    let mut cc = cruising();
    let limited = |cc: &mut C4, app_limited: bool| {
        sent(cc, 1);
        let packets: &[AckedPacket] = &[stamped(cc.next_pn - 1, Time::ZERO, 0)];
        let rate = Some(rate_sample(1000.0));
        cc.on_ack(&Ack { packets, rate, app_limited, ..acked(MDS) });
    };
    (0..20).for_each(|_| limited(&mut cc, true));
    assert_eq!((cc.state, cc.rate), (State::Cruising, 1e6));
    limited(&mut cc, false);
    assert_eq!(cc.state, State::Pushing);
    cc.enter_initial();
    (0..20).for_each(|_| limited(&mut cc, true));
    assert_eq!(cc.state, State::Initial);
    (0..3).for_each(|_| limited(&mut cc, false));
    assert_eq!(cc.state, State::Recovery);
}

/// Two flows take their own queue for jitter. It grows slower than the threshold per era, so
/// nothing stops it before the end of the buffer of 310 ms.
#[test]
fn two_flows_fill_the_buffer() {
    let text = || Params { window_margin: Duration::ZERO, ..Params::default() };
    let flow = || Flow::new(Box::new(with(text())), Duration::from_millis(50), Time::ZERO);
    let mut path = Loop::new(vec![flow(), flow()], MDS, Rate(10_000_000));
    path.link.buffer = 390;
    let mut largest = 0.05;
    for second in 2..12 {
        path.run_to(Time::from_millis(1000 * second));
        let flow = path.flow();
        assert!(flow.cc.max_rtt > largest && flow.lost == 0, "{second}: {}", flow.cc.max_rtt);
        largest = flow.cc.max_rtt;
    }
    path.run_to(Time::from_millis(60_000));
    assert!(path.flow().cc.min_rtt > 0.2 && path.flow().lost > 0);
}

/// A timeout is no signal. Persistent congestion forgets the path.
#[test]
fn other_events() {
    let mut cc = cruising();
    lose(&mut cc, 16, Detection::Timeout);
    for cause in [Cause::Timeout, Cause::Loss, Cause::Ecn] {
        cc.on_congestion(&congestion(cause, 0));
    }
    assert_eq!((cc.state, cc.rate), (State::Cruising, 1e6));
    cc.on_congestion(&congestion(Cause::PersistentCongestion, 0));
    assert_eq!((cc.state, cc.rate, cc.max_rtt), (State::Initial, 0.0, 0.0));
    assert_eq!(cc.control().cwnd, 10 * MDS);
}

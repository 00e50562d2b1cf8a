use super::*;
use crate::testing::fixtures::{MDS, acked, congestion, path, stamped};
use crate::{AckedPacket, Detection, LostPacket};
use units::Bytes;

fn with(params: Params) -> ScreamV2 {
    ScreamV2::new(params, path(MDS))
}

fn marked(ms: u64, packets: u64, ce: u64) -> Ack<'static> {
    static PACKETS: [AckedPacket; 10] =
        [AckedPacket { pn: 0, bytes: MDS, sent: Time::ZERO, received: None, before_reduction: false }; 10];
    Ack { now: Time::from_millis(ms), packets: &PACKETS[..packets as usize], ce, ..acked(packets * MDS) }
}

/// The share of marks rises by an eighth of the difference and falls by 1/128, once per 10 ms.
/// `vectors/scream_v2.py`.
#[test]
fn l4s_alpha() {
    let (mut marks, params) = (Marks::default(), Params::default());
    let expected = [0.125, 0.23438, 0.26758, 0.26549, 0.26341, 0.26136, 0.26619, 0.26411];
    for (i, (ce, expected)) in [10, 10, 5, 0, 0, 1, 3, 0].into_iter().zip(expected).enumerate() {
        let rtt = Duration::from_millis(50);
        marks.on_ack(Time::from_millis(10 * i as u64), rtt, &marked(0, 10, ce), &params);
        // The script prints five digits.
        assert!((marks.alpha - expected).abs() < 5.1e-6, "{i}: {}", marks.alpha);
    }
    let before = marks.alpha;
    marks.on_ack(Time::from_millis(79), Duration::from_millis(50), &marked(0, 10, 10), &params);
    assert_eq!(marks.alpha, before, "after 9 ms");
    marks.on_ack(Time::from_millis(80), Duration::from_millis(50), &marked(0, 10, 0), &params);
    assert!((marks.alpha - before - (0.5 - before) / 8.0).abs() < 1e-12, "ten of twenty");
}

/// With a packet per update and p of them marked, the mean of the share is 16 p / (1 + 15 p).
#[test]
fn share_of_few_packets() {
    for every in [10, 20, 50] {
        let (mut marks, mut sum) = (Marks::default(), 0.0);
        for i in 0..20_000 {
            let (ce, rtt) = (u64::from(i % every == 0), Duration::from_millis(50));
            marks.on_ack(Time::from_millis(10 * i), rtt, &marked(0, 1, ce), &Params::default());
            sum += if i < 10_000 { 0.0 } else { marks.alpha * 1e-4 };
        }
        let p = 1.0 / every as f64;
        // A mark raises the share by up to an eighth, so its mean is not exactly the fixed point.
        assert!((sum - 16.0 * p / (1.0 + 15.0 * p)).abs() < 0.04, "{every}: {sum}");
    }
}

/// Queue delays in ms, one packet per update. `vectors/scream_v2.py`.
#[test]
fn queue_delay() {
    let params = Params { reduce_jitter: true, ..Params::default() };
    let (mut queue, interval) = (Queue::default(), Duration::from_millis(25));
    let delays = [0, 10, 50, 80, 20, 20, 0, 5, 30, 30, 30, 30];
    for (i, (ms, (avg, scale))) in delays.into_iter().zip(DELAYS).enumerate() {
        queue.sample(f64::from(ms) * 1e-3, 0.06, &params);
        queue.update(Time::from_millis(25 * i as u64), interval, &params);
        // The script prints four digits.
        assert!((queue.avg * 1e3 - avg).abs() < 1e-4, "{i}: {}", queue.avg);
        assert!((queue.scale - scale).abs() < 1e-4, "{i}: {}", queue.scale);
    }
    queue.sample(0.0, 0.06, &params);
    queue.update(Time::from_millis(299), interval, &params);
    assert!(queue.avg > 0.0, "after 24 ms");
    let mut plain = Queue::default();
    plain.sample(1.0, 0.06, &Params::default());
    plain.update(Time::ZERO, interval, &Params::default());
    assert_eq!(plain.scale, 1.0, "without reduce_jitter");
}

/// Output of `vectors/scream_v2.py`: qdelay_avg in ms, and ref_wnd_delay_scale.
const DELAYS: [(f64, f64); 12] = [
    (0.0, 0.8352),
    (2.5, 0.6962),
    (14.375, 0.5801),
    (30.7812, 0.4556),
    (20.0, 0.3539),
    (20.0, 0.2724),
    (0.0, 0.1594),
    (1.25, 0.0668),
    (8.4375, 0.0),
    (13.8281, 0.0),
    (17.8711, 0.0),
    (20.9033, 0.0),
];

/// The smallest delay of each RTT counts 1/256. Above a quarter of the target the base delay is
/// measured anew, and the rate halves for five RTTs.
#[test]
fn clock_drift() {
    let mut queue = Queue::default();
    queue.sample(0.03, 0.06, &Params::default());
    queue.sample(0.02, 0.06, &Params::default());
    assert!(!queue.drifts(0.06) && (queue.low - 0.02 / 256.0).abs() < 1e-12);
    assert!(!queue.drifts(0.06) && (queue.low - 0.02 / 256.0).abs() < 1e-12, "without a delay");
    queue = Queue::default();
    let rounds = (1..1000).find(|_| {
        queue.sample(0.03, 0.06, &Params::default());
        queue.drifts(0.06)
    });
    // (255 / 256)^n < 1 / 2.
    assert_eq!((rounds, queue.low), (Some(178), 0.0));
    for (clock_drift, share) in [(true, 0.5), (false, 1.0)] {
        let mut cc = with(Params { clock_drift, ..Params::default() });
        (cc.window.ref_wnd, cc.queue.low) = (30_000.0, 0.1);
        let at = |ms: u64| Ack { now: Time::from_millis(ms), round_start: ms == 0, ..acked(0) };
        cc.on_ack(&at(0));
        let slow = cc.target_bitrate;
        cc.on_ack(&at(500));
        assert!((slow / cc.target_bitrate - share).abs() < 1e-9, "{slow} {}", cc.target_bitrate);
    }
}

/// An event of the script.
#[derive(Clone, Copy)]
enum Event {
    Loss,
    /// Marked packets.
    Marks(u64),
    /// A queue delay in ms.
    Queue(f64),
}

fn event(step: u64) -> Option<Event> {
    Some(match step {
        20 | 21 | 120 => Event::Loss,
        40 | 41 => Event::Marks(4),
        42 => Event::Marks(8),
        60 => Event::Marks(1),
        90 | 91 => Event::Queue(0.04),
        92 => Event::Queue(0.07),
        150 => Event::Marks(2),
        _ => return None,
    })
}

/// Returns the window after every tenth update and after each event.
fn windows(is_l4s: bool, ms: u64) -> Vec<(u64, f64)> {
    let params = Params { is_l4s, ..Params::default() };
    let mut window = RefWindow::new(30_000.0);
    let mut rows = Vec::new();
    for step in 0..200 {
        let event = event(step);
        let (qdelay, ce) = match event {
            Some(Event::Queue(qdelay)) => (qdelay, 0),
            Some(Event::Marks(ce)) => (0.001, ce),
            _ => (0.001, 0),
        };
        window.loss_detected |= matches!(event, Some(Event::Loss));
        window.flight = [1.2 * window.ref_wnd; 2];
        window.on_ack(&marked(0, 8, ce));
        let path = Path {
            mss: MDS as f64,
            srtt: Duration::from_millis(ms),
            qdelay,
            qdelay_avg: qdelay,
            qdelay_target: 0.06,
            l4s_alpha: 0.2,
            delay_scale: 0.8,
            may_grow: true,
        };
        window.update(Time::from_millis(10 * step), &path, &params);
        if step % 10 == 9 || event.is_some() {
            rows.push((step, window.ref_wnd));
        }
    }
    rows
}

/// The window law on a fixed sequence of losses, marks and delays. `vectors/scream_v2.py`.
#[test]
fn reference_window() {
    for (is_l4s, ms, expected) in [(true, 50, &L4S), (false, 50, &CLASSIC), (true, 10, &SHORT)] {
        let rows = windows(is_l4s, ms);
        assert_eq!(rows.len(), expected.len());
        for (row, expected) in rows.iter().zip(expected) {
            // The script prints two digits.
            assert!(row.0 == expected.0 && (row.1 - expected.1).abs() < 0.01, "{is_l4s} {ms} {row:?}");
        }
    }
}

/// Output of `vectors/scream_v2.py`: update and window, with L4S at 50 ms.
const L4S: [(u64, f64); 31] = [
    (9, 33313.06),
    (19, 36436.95),
    (20, 25756.79),
    (21, 26005.27),
    (29, 20694.39),
    (39, 23554.7),
    (40, 23012.69),
    (41, 23047.46),
    (42, 23047.46),
    (49, 23303.53),
    (59, 23981.98),
    (60, 23801.13),
    (69, 24399.75),
    (79, 25048.68),
    (89, 25704.45),
    (90, 23652.93),
    (91, 23764.55),
    (92, 23863.81),
    (99, 24372.14),
    (109, 25024.19),
    (119, 25659.84),
    (120, 18050.96),
    (129, 21035.36),
    (139, 23518.89),
    (149, 24347.27),
    (150, 24153.58),
    (159, 24743.65),
    (169, 25383.77),
    (179, 26018.42),
    (189, 27233.09),
    (199, 29584.67),
];
/// Likewise, without L4S.
const CLASSIC: [(u64, f64); 31] = [
    (9, 33313.06),
    (19, 36436.95),
    (20, 25756.79),
    (21, 26005.27),
    (29, 20694.39),
    (39, 23554.7),
    (40, 18958.45),
    (41, 19127.24),
    (42, 19127.24),
    (49, 17646.72),
    (59, 18608.19),
    (60, 14980.59),
    (69, 17489.74),
    (79, 18385.12),
    (89, 19239.14),
    (90, 17726.79),
    (91, 17870.81),
    (92, 17987.61),
    (99, 18611.22),
    (109, 19456.55),
    (119, 20267.6),
    (120, 14300.1),
    (129, 17931.68),
    (139, 19334.74),
    (149, 20148.51),
    (150, 16193.26),
    (159, 18765.0),
    (169, 19622.1),
    (179, 20424.35),
    (189, 21197.03),
    (199, 22248.95),
];
/// Likewise, with L4S at 10 ms.
const SHORT: [(u64, f64); 31] = [
    (9, 31348.47),
    (19, 32662.02),
    (20, 22975.39),
    (21, 16241.95),
    (29, 17469.96),
    (39, 18910.69),
    (40, 17471.41),
    (41, 16981.23),
    (42, 16641.6),
    (49, 16909.11),
    (59, 17284.5),
    (60, 16971.87),
    (69, 17308.52),
    (79, 17675.53),
    (89, 18035.59),
    (90, 15072.43),
    (91, 12770.52),
    (92, 6792.74),
    (99, 9142.81),
    (109, 11618.25),
    (119, 12290.52),
    (120, 8677.75),
    (129, 11035.54),
    (139, 11815.37),
    (149, 12347.53),
    (150, 12140.25),
    (159, 12606.96),
    (169, 13106.74),
    (179, 14102.78),
    (189, 15890.99),
    (199, 17522.2),
];

/// The window grows up to MSS and 1.5 flights, and not at the largest bitrate.
#[test]
fn limits_of_growth() {
    for (flight, may_grow, left) in
        [(19_000.0, true, 30_000.0), (20_000.0, true, 30_500.0), (20_000.0, false, 30_000.0)]
    {
        let mut window = RefWindow::new(30_000.0);
        window.flight = [0.0, flight];
        window.on_ack(&Ack { acked: 9375, ..marked(0, 0, 0) });
        let path = Path {
            mss: MDS as f64,
            srtt: Duration::from_millis(50),
            qdelay: 0.0,
            qdelay_avg: 0.0,
            qdelay_target: 0.06,
            l4s_alpha: 0.0,
            delay_scale: 1.0,
            may_grow,
        };
        // 9375 bytes are 312.5 bytes of growth, and 0.02 * 30 of that more.
        window.update(Time::ZERO, &path, &Params::default());
        assert!((window.ref_wnd - left).abs() < 1e-9, "{flight} {may_grow}: {}", window.ref_wnd);
    }
}

/// A window that has grown for 100 RTTs without congestion falls to the flight first.
#[test]
fn long_without_congestion() {
    for (ms, left) in [(5000, 100_000.0), (5001, 60_000.0)] {
        let mut window = RefWindow::new(100_000.0);
        (window.flight, window.reduced, window.marked) = ([1.0, 60_000.0], Some(Time::ZERO), true);
        let path = Path {
            mss: MDS as f64,
            srtt: Duration::from_millis(50),
            qdelay: 0.0,
            qdelay_avg: 0.0,
            qdelay_target: 0.06,
            l4s_alpha: 0.5,
            delay_scale: 1.0,
            may_grow: false,
        };
        let params = Params { is_l4s: true, ..Params::default() };
        window.update(Time::from_millis(ms), &path, &params);
        // Half of alpha, and half of that at two virtual RTTs.
        assert!((window.ref_wnd - left * 0.875).abs() < 1e-6, "{ms}: {}", window.ref_wnd);
        assert_eq!(window.inflection, Some(100_000.0));
    }
}

/// Phases of samples: number, delay in ms, share of RTTs with losses. `vectors/scream_v2.py`.
#[test]
fn delay_target() {
    let params = Params::default();
    let mut target = Target::new(&params);
    let phases =
        [(100, 5, 0.0), (100, 150, 0.0), (200, 150, 0.01), (200, 300, 0.01), (30, 0, 0.0), (200, 0, 0.0)];
    for ((count, ms, lossy), expected) in phases.into_iter().zip(TARGETS) {
        target.lossy_rtts = lossy;
        (0..count).for_each(|_| target.adjust(f64::from(ms) * 1e-3, &params));
        // The script prints three digits.
        assert!((target.seconds * 1e3 - expected).abs() < 1e-3, "{ms}: {}", target.seconds);
    }
    for (lost, share) in [(true, 0.02), (false, 0.0196)] {
        if lost {
            target.on_loss();
        }
        target.lossy_rtts = if lost { 0.0 } else { target.lossy_rtts };
        target.update(&Ack { round_start: true, ..acked(0) }, 0.0, &params);
        assert!((target.lossy_rtts - share).abs() < 1e-12);
    }
}

/// Output of `vectors/scream_v2.py`, in ms.
const TARGETS: [f64; 6] = [60.0, 60.0, 225.0, 400.0, 60.0, 60.0];

/// Target bitrates of windows, in kbit/s. `vectors/scream_v2.py`.
#[test]
fn target_bitrate() {
    for (ref_wnd, ms, expected) in RATES {
        let mut cc = with(Params::default());
        (cc.window.ref_wnd, cc.srtt) = (ref_wnd, Duration::from_millis(ms));
        cc.update_rate(Time::ZERO);
        // The script prints three digits.
        assert!((cc.target_bitrate * 1e-3 - expected).abs() < 1e-3, "{ref_wnd}: {}", cc.target_bitrate);
        let control = cc.control();
        assert_eq!(control.cwnd, 3 * ref_wnd as u64);
        assert_eq!(control.pacing_rate, Some(Rate(cc.target_bitrate as u64)));
    }
    let mut cc = with(Params { pacing_headroom: 1.5, min_ref_wnd: Bytes(1), ..Params::default() });
    assert_eq!(cc.control().pacing_rate, Some(Rate(225_000)), "the smallest rate");
    cc.queue.scale = 0.0;
    cc.window.ref_wnd = 100_000.0;
    assert_eq!(cc.control().cwnd, 150_000);
    (cc.srtt, cc.params.pacing_headroom) = (Duration(1), 1.0);
    cc.update_rate(Time::ZERO);
    assert_eq!(cc.control().pacing_rate, Some(Rate(50_000_000)), "the largest rate");
}

/// Window in bytes, RTT in ms, and the output of `vectors/scream_v2.py` in kbit/s.
const RATES: [(f64, u64, f64); 4] =
    [(3000.0, 50, 313.725), (4000.0, 50, 444.444), (20000.0, 50, 2614.379), (100000.0, 20, 32679.739)];

fn lose(cc: &mut ScreamV2) {
    let packet = LostPacket {
        pn: 0,
        bytes: MDS,
        sent: Time::ZERO,
        detection: Detection::PacketThreshold,
        tx_in_flight: 0,
        lost_at_send: 0,
        app_limited: false,
    };
    let (now, packets) = (Time::ZERO, &[packet]);
    cc.on_lost(&Lost { now, packets, total_lost: MDS, delivered: 0, bytes_in_flight: 0 });
}

/// With a threshold, a loss counts only if many packets are lost or the queue is long.
#[test]
fn losses_of_a_link() {
    for (loss_rate_threshold, losses, avg, counts) in [
        (None, 1, 0.0, true),
        (Some(0.01), 4, 0.0, false),
        (Some(0.01), 5, 0.0, true),
        (Some(0.01), 1, 0.016, true),
    ] {
        let mut cc = with(Params { loss_rate_threshold, ..Params::default() });
        cc.queue.avg = avg;
        (0..losses).for_each(|_| lose(&mut cc));
        assert_eq!(cc.window.loss_detected, counts, "{losses} {avg}");
    }
}

/// The queue delay comes from the receive times; an update follows every 10 ms, and every loss and
/// mark.
#[test]
fn updates() {
    let mut cc = with(Params::default());
    cc.window.flight = [1e6; 2];
    let mut ack = |pn: u64, ms: u64, queue: i64, ce: u64| {
        let sent = Time::from_millis(ms - 50);
        let packets = &[stamped(pn, sent, (sent.0 as i64) + (25 + queue) * 1_000_000)];
        let smoothed_rtt = Duration::from_millis(50);
        cc.on_ack(&Ack { now: Time::from_millis(ms), packets, ce, smoothed_rtt, ..acked(MDS) });
        (cc.window.ref_wnd, cc.queue.qdelay)
    };
    let (first, _) = ack(0, 100, 0, 0);
    // A packet grows 3000 bytes by a third of itself, times 1.06.
    assert!((first - 3000.0 - 1000.0 / 3.0 * 1.06).abs() < 1e-9, "{first}");
    assert_eq!(ack(1, 109, 7, 0), (first, 0.007), "after 9 ms");
    let (second, _) = ack(2, 110, 9, 0);
    assert!(second > first, "after 10 ms");
    assert!((ack(3, 111, 9, 1).0 - 0.8 * second).abs() < 1e-9, "a classic mark takes a fifth");
    cc.on_congestion(&congestion(Cause::Ecn, 0));
    assert!(cc.window.is_congested());
    cc.window.ref_wnd = 9000.0;
    cc.on_congestion(&congestion(Cause::Loss, 0));
    assert_eq!(cc.window.ref_wnd, 9000.0);
    cc.on_congestion(&congestion(Cause::PersistentCongestion, 0));
    assert_eq!(cc.window.ref_wnd, 3000.0);
}

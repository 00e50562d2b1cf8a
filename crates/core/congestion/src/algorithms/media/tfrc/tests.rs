use super::*;
use crate::algorithms::reno::tcp_reno;
use crate::testing::closed_loop::{Flow, Loop};
use crate::testing::fixtures::{acked, path};
use crate::{AckedPacket, Detection, LostPacket, RateSample};
use units::Rate;

const S: u64 = 1460;

fn cc() -> Tfrc {
    Tfrc::new(Params::default(), path(S))
}

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn close(found: f64, expected: f64) -> bool {
    (found / expected - 1.0).abs() < 1e-5
}

/// Reports the ACK of packet `pn`, with this RTT and receive rate (bytes/s).
fn ack(cc: &mut Tfrc, now: Time, rtt: Duration, x_recv: u64, pn: u64, app_limited: bool) {
    let packet = AckedPacket { pn, bytes: S, sent: now - rtt, received: None, before_reduction: false };
    let rate = RateSample {
        prior_delivered: 0,
        delivered: S,
        interval: rtt,
        delivery_rate: Some(Rate(8 * x_recv)),
        app_limited,
        tx_in_flight: S,
        lost: 0,
    };
    let (packets, rate, latest_rtt) = (&[packet][..], Some(rate), Some(rtt));
    cc.on_ack(&Ack { now, packets, rate, latest_rtt, min_rtt: rtt, smoothed_rtt: rtt, ..acked(S) });
}

fn lose(cc: &mut Tfrc, pn: u64, sent: Time) {
    let packet = LostPacket {
        pn,
        bytes: S,
        sent,
        detection: Detection::PacketThreshold,
        tx_in_flight: S,
        lost_at_send: 0,
        app_limited: false,
    };
    cc.on_lost(&Lost { now: sent, packets: &[packet], total_lost: S, delivered: 0, bytes_in_flight: 0 });
}

/// A flow with R = 100 ms that has just had its first feedback, at 1 s.
fn started(x_recv: u64) -> Tfrc {
    let mut cc = cc();
    ack(&mut cc, Time::from_millis(1000), ms(100), x_recv, 0, false);
    cc
}

/// Section 3.1, computed by the script.
#[test]
fn throughput_equation() {
    for (r, p, expected) in [
        (100, 0.001, 560_412.0),
        (100, 0.01, 164_005.0),
        (100, 0.1, 25_843.5),
        (50, 0.02, 213_887.0),
        (600, 0.01, 27_334.0),
    ] {
        let mut cc = cc();
        cc.rule.rtt = Some(ms(r));
        assert!(
            (cc.rule.throughput(p) / expected - 1.0).abs() < 2e-5,
            "{r} ms, {p}: {}",
            cc.rule.throughput(p)
        );
    }
}

/// Section 6.3.1, computed by the script.
#[test]
fn first_interval() {
    for (x_recv, packets) in [(14_600, 6.8554), (146_000, 82.1509), (1_460_000, 6684.6304)] {
        let cc = started(x_recv);
        assert!(close(cc.rule.first_interval(), packets), "{x_recv}: {}", cc.rule.first_interval());
    }
}

/// Losses within an RTT of the first one are one event, at its 100 ms too. The intervals are 60 and
/// 40 packets.
#[test]
fn one_event_per_round_trip() {
    let mut cc = started(146_000);
    let at = |ms: u64| Time::from_millis(1000 + ms);
    for (pn, sent, begins) in [
        (10, 0, true),
        (12, 50, false),
        (20, 100, false),
        (70, 101, true),
        (71, 201, false),
        (110, 202, true),
    ] {
        cc.events.fresh = false;
        lose(&mut cc, pn, at(sent));
        assert_eq!(cc.events.fresh, begins, "{pn}");
    }
    let mut expected = crate::components::loss_intervals::LossIntervals::default();
    [cc.rule.first_interval(), 60.0, 40.0].into_iter().for_each(|packets| expected.push(packets));
    assert!(close(1.0 / cc.events.rate(), expected.mean(0.0).expect("three")));
}

/// Section 4.2 and 4.3: W_init / R, then double, at most twice the receive rate.
#[test]
fn slow_start() {
    let mut cc = started(1_000_000);
    assert!(close(cc.rule.x, 4380.0 / 0.1), "{}", cc.rule.x);
    for (n, expected) in [(1, 87_600.0), (2, 175_200.0), (3, 200_000.0), (4, 200_000.0)] {
        let now = Time::from_millis(1000 + 100 * n);
        ack(&mut cc, now - ms(1), ms(100), 100_000, n, false);
        ack(&mut cc, now, ms(100), 100_000, n, false);
        assert!(close(cc.rule.x, expected), "{n}: {}", cc.rule.x);
    }
}

/// p and X_Bps after each of four events.
const RATES: [(f64, f64); 4] = [
    (0.012172716, 146_000.0),
    (0.01513421, 127_814.283),
    (0.016469858, 121_210.092),
    (0.017230169, 117_785.351),
];

/// Sections 4.3 and 5.4: X_Bps of the mean interval, computed by the script.
#[test]
fn rate_after_each_event() {
    let mut cc = started(146_000);
    for (k, (p, x)) in RATES.into_iter().enumerate() {
        let (pn, sent) = (100 + 50 * k as u64, Time::from_millis(2000 + 500 * k as u64));
        lose(&mut cc, pn, sent);
        ack(&mut cc, sent + ms(100), ms(100), 146_000_000, pn + 3, false);
        assert!(close(cc.rule.p, p) && close(cc.rule.x, x), "{k}: {} {}", cc.rule.p, cc.rule.x);
    }
}

/// Section 4.3, step 4: while the application limits the sender, the largest rate so far counts. A
/// new event leaves half of it, or 0.85 of the new rate.
#[test]
fn data_limited() {
    let mut cc = started(100_000);
    for (x_recv, worse, limit) in
        [(20e3, false, 200e3), (20e3, false, 200e3), (20e3, true, 50e3), (80e3, true, 68e3)]
    {
        cc.rule.x_recv = x_recv;
        let found = cc.rule.recv_limit(Time::from_millis(2000), true, worse);
        assert!(close(found, limit), "{found}, {limit}");
    }
}

/// Section 4.4: half of the rate each time, down to a packet per 64 s. Not while idle at a low
/// rate.
#[test]
fn no_feedback() {
    let mut cc = cc();
    assert_eq!(cc.control().wake, Time::NEVER);
    let send = |cc: &mut Tfrc, now| {
        cc.on_sent(&Sent { now, pn: 0, bytes: S, bytes_in_flight: S, app_limited: false });
    };
    send(&mut cc, Time::ZERO);
    assert_eq!(cc.control().wake, Time::from_millis(2000));
    let mut before = cc.rule.x;
    for _ in 0..40 {
        let now = cc.control().wake;
        cc.on_timer(now);
        send(&mut cc, now);
        assert!(close(cc.rule.x, (before / 2.0).max(S as f64 / 64.0)));
        before = cc.rule.x;
    }
    assert!(close(before, 1460.0 / 64.0));
    let mut idle = started(1_000_000);
    let (x, wake) = (idle.rule.x, idle.control().wake);
    assert_eq!(wake, Time::from_millis(1400));
    idle.on_timer(wake);
    assert!(close(idle.rule.x, x), "idle");
    send(&mut idle, wake);
    idle.on_timer(idle.control().wake);
    assert!(close(idle.rule.x, x / 2.0), "sent in vain");
}

/// Section 4.4 with losses: X_Bps / 2, or half of twice the receive rate if that limits.
#[test]
fn no_feedback_after_losses() {
    for (x_recv, halved) in [(1_000_000, true), (10_000, false)] {
        let mut cc = started(1_000_000);
        lose(&mut cc, 50, Time::from_millis(1000));
        ack(&mut cc, Time::from_millis(1300), ms(100), x_recv, 53, false);
        let x_bps = cc.rule.x_bps;
        cc.rule.idle = false;
        cc.on_timer(cc.control().wake);
        let expected = if halved { 0.5 * x_bps } else { x_recv as f64 };
        assert!(close(cc.rule.x, expected), "{x_recv}: {} {x_bps}", cc.rule.x);
    }
}

/// Section 4.5: an RTT of 144 ms after 100 ms lowers the rate by sqrt: 0.9 * 10 + 0.1 * 12 over 12.
#[test]
fn damping() {
    let mut cc = Tfrc::new(Params { damping: true, ..Params::default() }, path(S));
    ack(&mut cc, Time::from_millis(1000), ms(100), 1_000_000, 0, false);
    assert!(close(cc.rule.x_inst(), cc.rule.x));
    ack(&mut cc, Time::from_millis(1200), ms(144), 1_000_000, 1, false);
    assert!(close(cc.rule.x_inst(), cc.rule.x * 10.2 / 12.0), "{} {}", cc.rule.x_inst(), cc.rule.x);
}

/// A mark begins an event too.
#[test]
fn marks() {
    let mut cc = started(146_000);
    let now = Time::from_millis(2000);
    let packet =
        AckedPacket { pn: 90, bytes: S, sent: now - ms(100), received: None, before_reduction: false };
    cc.on_ack(&Ack { now, packets: &[packet], ce: 1, ..acked(S) });
    assert!(cc.events.rate() > 0.0);
}

fn run(cc: Box<dyn Controller>, mbit: u64, lose_every: Option<u64>) -> Loop<dyn Controller> {
    let mut path = Loop::new(vec![Flow::new(cc, ms(100), Time::ZERO)], S, Rate(mbit * 1_000_000));
    path.link.lose_every = lose_every;
    path
}

/// One packet in a hundred lost, and 100 ms: the equation's 164 kB/s.
#[test]
fn steady_loss() {
    let mut path = run(Box::new(cc()), 1000, Some(100));
    path.run_to(Time::from_millis(60_000));
    let rates: Vec<f64> = (0..60)
        .map(|_| {
            path.run_secs(1);
            path.flow().get("x")
        })
        .collect();
    let mean = rates.iter().sum::<f64>() / 60.0;
    assert!((mean / 164_005.0 - 1.0).abs() < 0.03, "{mean}");
}

/// Second by second, the goodput varies less than Reno's on the same link.
#[test]
fn smoother_than_reno() {
    let variation = |cc: Box<dyn Controller>| {
        let mut path = run(cc, 4, Some(200));
        path.run_to(Time::from_millis(30_000));
        let rates: Vec<f64> = (0..90)
            .map(|_| {
                let before = path.flow().delivered;
                path.run_secs(1);
                (path.flow().delivered - before) as f64
            })
            .collect();
        let mean = rates.iter().sum::<f64>() / 90.0;
        libm::sqrt(rates.iter().map(|rate| (rate - mean) * (rate - mean)).sum::<f64>() / 90.0) / mean
    };
    let reno = tcp_reno::TcpReno::new(tcp_reno::Params::default(), path(S));
    let (tfrc, reno) = (variation(Box::new(cc())), variation(Box::new(reno)));
    assert!(tfrc < 0.5 * reno, "{tfrc} {reno}");
}

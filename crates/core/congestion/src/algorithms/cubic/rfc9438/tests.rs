use super::curve::*;
use super::*;
use crate::components::count::Count;
use crate::components::slow_start::Kind;
use crate::testing::fixtures::{acked, congestion, path};
use crate::{Ack, Cause, Controller, Idle, Sent};
use units::Duration;
use units::Time;

const RTT: Duration = Duration::from_millis(100);
const MDS: u64 = 1200;

fn near(a: f64, b: f64, tolerance: f64) {
    assert!((a - b).abs() <= tolerance, "{a} is not {b}");
}

fn ack(now: Time, growth: u64) -> Ack<'static> {
    Ack { now, growth, ..acked(MDS) }
}

/// Plays a round: the whole window is acknowledged, segment by segment, at `now`.
fn round(cc: &mut Cubic, now: Time) {
    for _ in 0..cc.control().cwnd / MDS {
        cc.on_ack(&ack(now, MDS));
    }
}

fn event(cc: &mut Cubic, cause: Cause) {
    let prior = cc.control().cwnd;
    cc.on_congestion(&congestion(cause, prior));
}

fn with(params: Params, cwnd: f64) -> Cubic {
    let mut cc = Cubic::new(params, path(MDS));
    cc.frame.window.cwnd = cwnd;
    cc
}

/// A controller just reduced from `w_max` segments.
fn avoiding(w_max: f64) -> Cubic {
    let mut cc = with(Params::default(), w_max);
    event(&mut cc, Cause::Loss);
    cc
}

/// Section 4.2: K for both usual values of beta.
#[test]
fn k_table() {
    let windows = [10.0, 50.0, 100.0, 1000.0, 10000.0];
    let tables = [(0.7, [1.957, 3.347, 4.217, 9.086, 19.574]), (0.875, [1.462, 2.5, 3.15, 6.786, 14.62])];
    for (beta, ks) in tables {
        for (w, expected) in windows.into_iter().zip(ks) {
            near(k(0.4, w, w * beta), expected, 5e-4);
        }
    }
}

/// Section 4.2: the curve from a maximum of 100 segments.
#[test]
fn w_cubic_table() {
    let times = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0];
    let tables = [
        (0.7, [70.0, 86.68, 95.64, 99.28, 100.0, 100.19, 102.27, 121.65, 177.35]),
        (0.875, [87.5, 96.03, 99.39, 100.0, 100.25, 102.53, 109.26, 145.64, 228.58]),
    ];
    for (beta, windows) in tables {
        for (t, expected) in times.into_iter().zip(windows) {
            near(w_cubic(0.4, 100.0, k(0.4, 100.0, 100.0 * beta), t), expected, 6e-3);
        }
    }
}

/// Section 4.3.
#[test]
fn alpha_table() {
    for (beta, expected) in [(0.7, 0.5294), (0.875, 0.2), (0.5, 1.0)] {
        near(alpha(beta), expected, 5e-5);
    }
}

/// RFC 8312 section 4.1: the same K if only `beta` was applied. After fast convergence the curve
/// begins at 0.7 x 0.85 of the window. The window is constant until the curve has risen to the
/// remaining 0.7, at `t` with `C (t - K)^3 = (0.7 - 0.85) P`.
#[test]
fn the_curve_of_rfc8312_stands_after_fast_convergence() {
    near(k_rfc8312(0.4, 100.0, 0.7), k(0.4, 100.0, 70.0), 1e-9);
    near(w_est_rfc8312(100.0, 0.7, alpha(0.7), 10.0), 70.0 + 10.0 * alpha(0.7), 1e-9);
    let stands = |curve: Curve| {
        let mut cc = with(Params { curve, ..Params::default() }, 1000.0);
        cc.frame.window.memory.w_max = 1200.0;
        event(&mut cc, Cause::Loss);
        near(cc.frame.window.memory.w_max, 850.0, 1e-9);
        let (mut now, begin) = (Time::ZERO, cc.frame.window.cwnd);
        while cc.frame.window.cwnd < 1.001 * begin {
            cc.on_ack(&ack(now, MDS));
            now += Duration::from_millis(1);
        }
        now.as_secs_f64()
    };
    let end = k_rfc8312(0.4, 850.0, 0.7) - libm::cbrt(150.0 / 0.4);
    near(stands(Curve::Rfc8312), end, 0.15);
    assert!(end > 1.0 && stands(Curve::Rfc9438) < 0.1);
}

/// Section 4.2: the window follows the curve and returns to W_max after K seconds.
#[test]
fn returns_to_w_max_after_k() {
    let mut cc = avoiding(1000.0);
    let mut now = Time::ZERO;
    while now.as_secs_f64() < k(0.4, 1000.0, 700.0) {
        assert!(cc.frame.window.cwnd <= 1001.0, "{} at {now:?}", cc.frame.window.cwnd);
        round(&mut cc, now);
        now += RTT;
    }
    near(cc.frame.window.cwnd, 1000.0, 5.0);
}

/// Section 4.2: the window grows by at most half in one round trip, whatever the curve says.
#[test]
fn target_is_clamped() {
    let mut cc = avoiding(100.0);
    cc.on_ack(&ack(Time::ZERO, MDS));
    let before = cc.frame.window.cwnd;
    round(&mut cc, Time::from_millis(60_000));
    assert!(
        cc.frame.window.cwnd > 1.3 * before && cc.frame.window.cwnd <= before * libm::exp(0.5),
        "{}",
        cc.frame.window.cwnd
    );
}

/// Linux: 5 % per round trip until a loss shows a maximum, and again after a timeout. There the
/// RFC's curve is flat.
#[test]
fn initial_growth_ends_with_the_first_loss() {
    let grown = |initial_growth: f64, causes: &[Cause]| {
        let mut cc = with(Params { initial_growth, ..Params::default() }, 100.0);
        cc.frame.window.ssthresh = 100.0;
        causes.iter().for_each(|cause| event(&mut cc, *cause));
        // After a timeout the window is too small for such a share to be visible.
        cc.frame.window.cwnd = cc.frame.window.cwnd.max(50.0);
        cc.frame.window.ssthresh = cc.frame.window.cwnd;
        cc.on_ack(&ack(Time::ZERO, MDS));
        let before = cc.frame.window.cwnd;
        for _ in 0..before as u64 {
            cc.on_ack(&ack(Time::from_millis(1), MDS));
        }
        cc.frame.window.cwnd / before - 1.0
    };
    assert!(grown(0.0, &[]) < 0.011, "W_est alone: a segment");
    near(grown(0.05, &[]), 0.05, 1e-3);
    assert_eq!(grown(0.05, &[Cause::Loss]), grown(0.0, &[Cause::Loss]), "the curve back to W_max");
    near(grown(0.05, &[Cause::Timeout]), 0.05, 2e-3);
}

/// Section 4.3: Reno-friendly with slope alpha up to the window before the event, then slope 1.
#[test]
fn w_est_changes_slope() {
    slopes(avoiding(10.0), 9.0 / 17.0);
    // Another loss, before the window has returned.
    let mut cc = avoiding(10.0);
    cc.rule.alpha = with(Params { alpha: Some(0.8), ..Params::default() }, 10.0).rule.alpha;
    slopes(cc, 0.8);
}

fn slopes(mut cc: Cubic, first: f64) {
    // The round trip is so short that the curve lies below.
    let slope = |cc: &mut Cubic| {
        let before = cc.frame.window.memory.epoch.as_ref().map_or(0.0, |e| e.w_est);
        let cwnd = cc.frame.window.cwnd;
        cc.on_ack(&Ack { smoothed_rtt: Duration::from_millis(1), ..ack(Time::ZERO, MDS) });
        (cc.frame.window.memory.epoch.as_ref().map_or(0.0, |e| e.w_est) - before) * cwnd
    };
    slope(&mut cc);
    near(slope(&mut cc), first, 1e-9);
    while cc.frame.window.cwnd < 10.0 {
        slope(&mut cc);
    }
    near(slope(&mut cc), 1.0, 1e-9);
}

/// Section 4.7: a second loss below W_max lowers the maximum further.
#[test]
fn fast_convergence() {
    for (beta, w_max, cwnd) in [(0.7, 68.0, 56.0), (0.875, 75.0, 70.0)] {
        let mut cc = with(Params { beta, ..Params::default() }, 80.0);
        cc.frame.window.memory.w_max = 100.0;
        event(&mut cc, Cause::Loss);
        near(cc.frame.window.memory.w_max, w_max, 1e-9);
        near(cc.frame.window.cwnd, cwnd, 1e-9);
    }
    let mut cc = with(Params { fast_convergence: false, ..Params::default() }, 80.0);
    cc.frame.window.memory.w_max = 100.0;
    event(&mut cc, Cause::Loss);
    near(cc.frame.window.memory.w_max, 80.0, 1e-9);
}

/// Section 4.6: smallest windows after a loss and after a mark. `ssthresh` is never below 2.
#[test]
fn floors() {
    for (cause, cwnd) in [(Cause::Loss, 2.0), (Cause::Ecn, 1.4)] {
        let mut cc = with(Params { min_window_ecn: 1, ..Params::default() }, 2.0);
        event(&mut cc, cause);
        near(cc.frame.window.cwnd, cwnd, 1e-9);
        near(cc.frame.window.ssthresh, 2.0, 1e-9);
    }
}

/// Sections 4.8 and 4.10: the plateau is where congestion avoidance starts.
#[test]
fn k_is_zero_without_a_maximum() {
    let mut restarted = avoiding(1000.0);
    event(&mut restarted, Cause::PersistentCongestion);
    near(restarted.frame.window.cwnd, 2.0, 1e-9);
    restarted.frame.window.cwnd = 700.0;
    let mut left = with(Params { slow_start: Kind::HystartPlusPlus, ..Params::default() }, 50.0);
    left.frame.window.ssthresh = 50.0;
    for cc in [&mut restarted, &mut left] {
        let cwnd = cc.frame.window.cwnd;
        cc.on_ack(&ack(Time::ZERO, MDS));
        near(cc.frame.window.memory.epoch.as_ref().map_or(9.0, |e| e.k), 0.0, 0.0);
        near(cc.frame.window.memory.w_max, cwnd, 0.0);
    }
}

/// Section 4.8 and RFC 5681 section 3.1: one segment. A repeated timeout keeps `ssthresh`.
#[test]
fn timeouts() {
    let mut cc = with(Params::default(), 100.0);
    for _ in 0..3 {
        event(&mut cc, Cause::Timeout);
        assert_eq!(cc.control().cwnd, MDS);
        near(cc.frame.window.ssthresh, 70.0, 1e-9);
    }
    cc.on_spurious();
    near(cc.frame.window.cwnd, 100.0, 0.0);
}

/// Sections 4.2, 5.8: neither idle nor application-limited time moves the curve.
#[test]
fn unused_time_does_not_count() {
    let mut busy = avoiding(1000.0);
    let mut idle = avoiding(1000.0);
    let mut now = Time::ZERO;
    for _ in 0..10 {
        round(&mut busy, now);
        round(&mut idle, now);
        now += RTT;
    }
    let shift = Duration::from_secs(20);
    for s in 1..=10 {
        idle.on_ack(&Ack { app_limited: true, ..ack(now + Duration::from_secs(s), 0) });
    }
    let sent = Sent { now: now + shift, pn: 0, bytes: MDS, bytes_in_flight: MDS, app_limited: false };
    idle.on_sent(&sent);
    near(idle.frame.window.cwnd, busy.frame.window.cwnd, 0.0);
    // The curve has paused since the last ACK, one round trip before `now`.
    for _ in 0..30 {
        round(&mut busy, now);
        round(&mut idle, now + shift + RTT);
        now += RTT;
    }
    near(idle.frame.window.cwnd, busy.frame.window.cwnd, 2.0);
}

/// Section 4.9.2: an undo of a loss, of a timeout, and of a timeout after a loss restores the state
/// before the first event.
#[test]
fn spurious_event_is_undone() {
    for causes in [&[Cause::Loss][..], &[Cause::Timeout], &[Cause::Loss, Cause::Timeout]] {
        let mut cc = avoiding(1000.0);
        round(&mut cc, Time::ZERO);
        let before = format!("{:?}", cc.frame.window);
        causes.iter().for_each(|cause| event(&mut cc, *cause));
        cc.on_spurious();
        assert_eq!(format!("{:?}", cc.frame.window), before, "{causes:?}");
    }
}

/// ns-3, htsim: an ACK of two packets counts as one in slow start and in W_est. It does not affect
/// the curve.
#[test]
fn growth_per_ack() {
    for (count, grown) in [(Count::Bytes, 2.0), (Count::Acks, 1.0)] {
        let mut cc = with(Params { count, ..Params::default() }, 10.0);
        cc.on_ack(&ack(Time::ZERO, 2 * MDS));
        near(cc.frame.window.cwnd, 10.0 + grown, 1e-9);
        let mut cc = with(Params { count, ..Params::default() }, 10.0);
        event(&mut cc, Cause::Loss);
        cc.on_ack(&Ack { smoothed_rtt: Duration::from_millis(1), ..ack(Time::ZERO, 2 * MDS) });
        near(cc.frame.window.cwnd, 7.0 + 9.0 / 17.0 * grown / 7.0, 1e-9);
        let mut cc = with(Params { count, ..Params::default() }, 1000.0);
        event(&mut cc, Cause::Loss);
        cc.on_ack(&ack(Time::ZERO, MDS));
        let before = cc.frame.window.cwnd;
        cc.on_ack(&ack(Time::from_millis(1000), 2 * MDS));
        let target = w_cubic(0.4, 1000.0, k(0.4, 1000.0, 700.0), 1.1);
        near(cc.frame.window.cwnd, before + (target - before) / before * 2.0, 1e-6);
    }
}

#[test]
fn limited_per_ack() {
    let mut cc = with(Params { abc_limit: Some(10), ..Params::default() }, 100.0);
    cc.on_ack(&ack(Time::ZERO, 60 * MDS));
    near(cc.frame.window.cwnd, 110.0, 1e-9);
}

/// The new threshold is three quarters of the previous window. From there a new curve leads to the
/// old maximum.
#[test]
fn idle_time() {
    let mut cc = avoiding(1000.0);
    round(&mut cc, Time::ZERO);
    let cwnd = cc.frame.window.cwnd;
    let (idle, rto) = (Duration::from_secs(10), Duration::from_secs(1));
    cc.on_idle(&Idle { now: Time::from_millis(10_000), idle, rto });
    near(cc.frame.window.cwnd, 10.0, 0.0);
    near(cc.frame.window.ssthresh, (0.75 * cwnd).max(700.0), 0.0);
    cc.frame.window.cwnd = cc.frame.window.ssthresh;
    cc.on_ack(&ack(Time::from_millis(11_000), MDS));
    let expected = k(0.4, 1000.0, cc.frame.window.ssthresh);
    near(cc.frame.window.memory.epoch.as_ref().map_or(0.0, |e| e.k), expected, 1e-9);
    assert!(cc.frame.window.cwnd < cc.frame.window.ssthresh + 1.0, "{}", cc.frame.window.cwnd);
}

/// Late packets alone do not pause the curve.
#[test]
fn late_packets_stop_nothing() {
    let mut cc = avoiding(1000.0);
    round(&mut cc, Time::ZERO);
    let before = format!("{:?}", cc.frame.window);
    cc.on_ack(&Ack { late: MDS, acked: 0, ..ack(Time::from_millis(50), 0) });
    assert_eq!(format!("{:?}", cc.frame.window), before);
    assert_eq!(cc.rule.last_ack, Time::ZERO);
}

/// Section 5.1, table 1: mean window 187 with one loss per 10 000 packets and an RTT of 100 ms. The
/// maximum of that sawtooth is 4 / (3 + beta) times the mean. Started there, it stays, because
/// W_max changes with the cube of a small time. Fast convergence is off, because a single flow
/// should not use it (section 4.7).
#[test]
fn response_function() {
    let mut cc = with(Params { fast_convergence: false, ..Params::default() }, 187.0 * 4.0 / 3.7);
    event(&mut cc, Cause::Loss);
    let (mut now, mut packets, mut rounds, mut sum) = (Time::ZERO, 0, 0.0, 0.0);
    for _ in 0..4000 {
        let cwnd = cc.control().cwnd / MDS;
        packets += cwnd;
        sum += cc.frame.window.cwnd;
        rounds += 1.0;
        if packets >= 10_000 {
            packets -= 10_000;
            event(&mut cc, Cause::Loss);
        }
        round(&mut cc, now);
        now += RTT;
    }
    near(sum / rounds, 187.0, 0.02 * 187.0);
}

/// The curve continues in place: the same window in bytes, and a plateau of the same bytes.
#[test]
fn larger_datagrams() {
    let mut cc = Cubic::new(Params::default(), path(1200));
    cc.frame.window.cwnd = 100.0;
    cc.on_congestion(&congestion(Cause::Loss, 0));
    let ack = |ms: u64| Ack { now: Time::from_millis(ms), ..acked(1200) };
    (0..2000).for_each(|i| _ = cc.on_ack(&ack(i)));
    let before = cc.control().cwnd;
    let curve = |cc: &Cubic| {
        let epoch = cc.frame.window.memory.epoch.as_ref().expect("on a curve");
        let t = (cc.rule.last_ack - epoch.start).as_secs_f64();
        [w_cubic(0.4, cc.frame.window.memory.w_max, epoch.k, t), cc.frame.window.memory.w_max, epoch.w_est]
            .map(|w| w * cc.frame.mds() as f64)
    };
    let bytes = curve(&cc);
    cc.on_path_change(path(1400));
    assert_eq!(cc.control().cwnd, before);
    for (before, after) in bytes.into_iter().zip(curve(&cc)) {
        assert!((before - after).abs() < 1e-6, "{before}: {after}");
    }
    (2000..8000).for_each(|i| _ = cc.on_ack(&ack(i)));
    assert!(cc.control().cwnd > 120_000, "past the plateau");
}

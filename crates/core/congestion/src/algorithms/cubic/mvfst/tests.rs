use super::*;
use crate::AckedPacket;
use crate::testing::fixtures::{acked, congestion, path};
use crate::{Ack, Cause, Congestion, Controller, Sent};
use units::{Duration, Time};

const MDS: u64 = 1200;

fn with(cwnd: u64) -> CubicMvfst {
    let mut cc = CubicMvfst::new(Params::default(), path(MDS));
    cc.cwnd = cwnd * MDS;
    cc
}

fn at(s: f64) -> Time {
    Time::ZERO + Duration::from_secs_f64(s)
}

fn packet(sent: Time, before_reduction: bool) -> AckedPacket {
    AckedPacket { pn: 0, bytes: MDS, sent, received: None, before_reduction }
}

/// Plays an ACK for one packet sent after the last reduction.
fn ack(cc: &mut CubicMvfst, now: Time) {
    cc.on_ack(&Ack { now, packets: &[packet(now, false)], ..acked(MDS) });
}

fn lose(cc: &mut CubicMvfst, now: Time) {
    cc.on_congestion(&Congestion { now, ..congestion(Cause::Loss, 0) });
}

/// A controller after a loss at time 0 with immediate recovery.
fn steady(cwnd: u64) -> CubicMvfst {
    let mut cc = with(cwnd);
    lose(&mut cc, Time::ZERO);
    ack(&mut cc, Time::ZERO);
    assert_eq!(cc.state, State::Steady);
    cc
}

fn rate(cc: &CubicMvfst) -> f64 {
    cc.control().pacing_rate.map_or(0.0, |rate| rate.0 as f64)
}

/// K = cbrt(0.3 W / 0.4), as in RFC 9438's table for beta = 0.7. W(0) is the window after the loss,
/// W(K) the maximum.
#[test]
fn curve() {
    for (w, k) in [(10, 1.957), (50, 3.347), (100, 4.217), (1000, 9.086)] {
        let mut cc = steady(w);
        assert!((cc.curve.unwrap().k - k).abs() < 5e-4);
        assert!(cc.cwnd.abs_diff(w * MDS * 7 / 10) <= 1, "{}", cc.cwnd);
        // Switches off the Reno-friendly window.
        cc.w_est = f64::NEG_INFINITY;
        ack(&mut cc, at(k));
        assert!(cc.cwnd.abs_diff(w * MDS) <= 2, "{} is not {w}", cc.cwnd);
    }
}

/// 100 packets at a loss at 0, K = 4.2172 s. W(1) = 100 - 0.4 * 3.2172^3 = 86.681,
/// W(8) = 100 + 0.4 * 3.7828^3 = 121.653 packets. t is rounded up to whole ms: 999.001 ms give the
/// window of 1 s, 999 ms a smaller one.
#[test]
fn time_is_in_ms_rounded_up() {
    for (ns, expected) in [(1_000_000_000u64, 86.681), (999_000_001, 86.681), (8_000_000_000, 121.653)] {
        let mut cc = steady(100);
        ack(&mut cc, Time(ns));
        assert!((cc.cwnd as f64 / MDS as f64 - expected).abs() < 2e-3, "{} is not {expected}", cc.cwnd);
    }
    let windows = [999_000_000, 999_000_001, 1_000_000_000].map(|ns| {
        let mut cc = steady(100);
        ack(&mut cc, Time(ns));
        cc.cwnd
    });
    assert!(windows[0] < windows[1] && windows[1] == windows[2], "{windows:?}");
}

/// One ACK moves the window to the curve, however far: no look-ahead, no limit per round trip.
#[test]
fn at_once() {
    let mut cc = steady(100);
    // 100 + 0.4 * (20 - 4.2172)^3 = 1672.6 packets.
    ack(&mut cc, at(20.0));
    assert!((cc.cwnd as f64 / MDS as f64 - 1672.6).abs() < 0.5, "{}", cc.cwnd);
}

/// Fast convergence is always on: 80 packets after a maximum of 100 give W_max 68 and 56 packets.
/// After a maximum of 80 or less, W_max is 80.
#[test]
fn reductions() {
    for (w_max, kept) in [(None, 80), (Some(100), 68), (Some(80), 80), (Some(60), 80)] {
        let mut cc = with(80);
        cc.curve = w_max.map(|w: u64| Curve { w_max: w * MDS, k: 0.0, epoch: Time::ZERO });
        lose(&mut cc, at(1.0));
        assert_eq!((cc.curve.unwrap().w_max, cc.cwnd, cc.ssthresh), (kept * MDS, 56 * MDS, 56 * MDS));
        assert_eq!(cc.w_est, 56.0 * MDS as f64);
    }
    let mut cc = with(2);
    lose(&mut cc, Time::ZERO);
    assert_eq!(cc.cwnd, 2 * MDS, "never below two packets");
}

/// alpha = 3 * 0.3 / 1.7 = 0.52941: 70 packets and 70 acknowledged are 70.527 (each adds 0.52941 /
/// W_est).
#[test]
fn reno_friendly() {
    let mut cc = steady(100);
    for _ in 0..70 {
        ack(&mut cc, Time::ZERO);
    }
    assert!((cc.w_est / MDS as f64 - 70.527).abs() < 1e-3, "{}", cc.w_est);
    assert_eq!(cc.cwnd, cc.w_est as u64, "more than the curve at its beginning");
}

/// An ACK of a packet sent before the epoch has no effect, nor has an ACK of late packets alone.
/// The first ACK of a later packet jumps to W(0.1) = 100 - 0.4 * 4.1172^3 = 72.083 packets without
/// growth of W_est.
#[test]
fn recovery() {
    let mut cc = with(100);
    lose(&mut cc, Time::ZERO);
    let before = format!("{cc:?}");
    let (now, packets) = (at(0.05), [packet(Time::ZERO, true)]);
    cc.on_ack(&Ack { now, packets: &packets, ..acked(MDS) });
    cc.on_ack(&Ack { now, late: MDS, ..acked(0) });
    assert_eq!(format!("{cc:?}"), before);
    // The newest packet of an ACK decides, not the oldest ones, and all bytes count.
    let packets = [packet(Time::ZERO, true), packet(at(0.01), false)];
    cc.on_ack(&Ack { now: at(0.1), packets: &packets, ..acked(2 * MDS) });
    assert!((cc.cwnd as f64 / MDS as f64 - 72.083).abs() < 2e-3, "{}", cc.cwnd);
    assert_eq!((cc.state, cc.w_est), (State::Steady, 70.0 * MDS as f64));
}

/// A window that its minimum raised above the maximum falls to the maximum in recovery, where K is
/// 0.
#[test]
fn recovery_may_take_more() {
    let mut cc = with(100);
    lose(&mut cc, Time::ZERO);
    cc.curve.as_mut().unwrap().w_max = 60 * MDS;
    ack(&mut cc, Time::ZERO);
    assert_eq!((cc.cwnd, cc.curve.unwrap().k), (60 * MDS, 0.0));
    // In Steady it never falls.
    cc.cwnd = 90 * MDS;
    ack(&mut cc, at(0.1));
    assert_eq!(cc.cwnd, 90 * MDS);
}

/// Slow start that ends at ssthresh: the plateau is there, and growth is convex from the next ACK.
/// 0.4 * 5^3 = 50 packets in 5 s.
#[test]
fn slow_start_without_loss() {
    let mut cc = with(99);
    cc.ssthresh = 100 * MDS;
    ack(&mut cc, at(1.0));
    assert_eq!((cc.state, cc.cwnd), (State::Steady, 100 * MDS));
    ack(&mut cc, at(2.0));
    ack(&mut cc, at(7.0));
    assert_eq!(cc.cwnd, 150 * MDS);
}

/// A rising RTT ends slow start: 8 ACKs of 50 ms, then 8 of 54 ms, from 16 packets on.
#[test]
fn hystart() {
    let mut cc = with(10);
    for i in 0..16 {
        let now = Time::from_millis(100 + i);
        let rtt = Duration::from_millis(if i < 8 { 50 } else { 54 });
        // The eighth ACK is for a packet sent after the first.
        let sent = Time::from_millis(if i < 7 { 50 } else { 100 });
        assert_eq!(cc.state, State::Hystart, "{i}");
        cc.on_ack(&Ack { now, packets: &[packet(sent, false)], latest_rtt: Some(rtt), ..acked(MDS) });
    }
    assert_eq!((cc.state, cc.cwnd, cc.ssthresh), (State::Steady, 26 * MDS, 26 * MDS));
}

/// Two packets, half of the window as ssthresh, and slow start with HyStart. The next plateau is
/// where it ends.
#[test]
fn persistent_congestion() {
    for cause in [Cause::PersistentCongestion, Cause::Timeout] {
        let mut cc = with(70);
        cc.state = State::Steady;
        cc.on_congestion(&congestion(cause, 0));
        assert_eq!((cc.cwnd, cc.ssthresh, cc.state), (2 * MDS, 35 * MDS, State::Hystart));
        assert!(cc.control().in_slow_start());
        (0..33).for_each(|_| ack(&mut cc, Time::ZERO));
        assert_eq!((cc.cwnd, cc.state), (35 * MDS, State::Steady));
        ack(&mut cc, Time::ZERO);
        assert_eq!(cc.curve.unwrap().w_max, 35 * MDS);
    }
}

/// srtt 100 ms: 2 * 10 packets in Hystart are 1.92 Mbit/s, plus a packet from the first ACK on. The
/// gain is 1.25 in recovery, then 1.
#[test]
fn pacing() {
    let mut cc = with(10);
    assert_eq!(cc.control().pacing_rate, None, "the initial window leaves at once");
    let mbit = |packets: u64, gain: f64| gain * (packets * MDS * 8) as f64 / 0.1;
    ack(&mut cc, Time::ZERO);
    assert!((rate(&cc) - mbit(11, 2.0)).abs() < 8.0);
    cc.cwnd = 100 * MDS;
    lose(&mut cc, Time::ZERO);
    assert!((rate(&cc) - mbit(70, 1.25)).abs() < 8.0);
    // A skipped ACK does not update the rate.
    let (packets, smoothed_rtt) = ([packet(Time::ZERO, true)], Duration::from_millis(200));
    cc.on_ack(&Ack { packets: &packets, smoothed_rtt, ..acked(MDS) });
    assert!((rate(&cc) - mbit(70, 1.25)).abs() < 8.0);
    ack(&mut cc, Time::ZERO);
    assert!((rate(&cc) - mbit(70, 1.0)).abs() < 100.0);
    assert_eq!(cc.control().send_quantum, Some(5 * MDS));
}

/// 3 s without data, detected at the next packet or by application-limited ACKs: t continues where
/// it stopped.
#[test]
fn idle_time_does_not_count() {
    let mut expected = steady(100);
    ack(&mut expected, at(2.0));
    for by_packet in [true, false] {
        let mut cc = steady(100);
        ack(&mut cc, at(1.0));
        let now = at(4.0);
        if by_packet {
            cc.on_sent(&Sent { now, pn: 1, bytes: MDS, bytes_in_flight: MDS, app_limited: true });
        } else {
            let packets = [packet(now, false)];
            let before = cc.cwnd;
            cc.on_ack(&Ack { now, packets: &packets, app_limited: true, cwnd_limited: false, ..acked(MDS) });
            assert_eq!(cc.cwnd, before);
        }
        ack(&mut cc, at(5.0));
        assert_eq!(cc.cwnd, expected.cwnd, "{by_packet}");
    }
}

/// Marks and spurious losses have no effect.
#[test]
fn no_answer() {
    let mut cc = steady(100);
    let before = format!("{cc:?}");
    cc.on_congestion(&congestion(Cause::Ecn, 0));
    cc.on_spurious();
    assert_eq!(format!("{cc:?}"), before);
}

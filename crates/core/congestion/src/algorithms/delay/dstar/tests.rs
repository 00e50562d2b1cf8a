use super::*;
use crate::testing::closed_loop::{Flow, Loop};
use crate::testing::fixtures::MDS;
use crate::testing::fixtures::{acked, congestion, path};
use crate::{Ack, Cause, Congestion, Controller, Idle, Sent};
use alloc::format;
use units::Rate;
use units::{Duration, Time};

/// One packet per millisecond.
const LINK: Rate = Rate(8_000_000);

const T: Duration = Duration::from_millis(100);

fn dstar() -> Dstar {
    Dstar::new(Params::default(), path(MDS))
}

/// 1000 packets per second, 100 ms: 100 packets fill the pipe.
fn alone() -> Loop<Dstar> {
    Loop::new(vec![Flow::new(Box::new(dstar()), T, Time::ZERO)], MDS, LINK)
}

fn cc(link: &Loop<Dstar>) -> &Dstar {
    &link.flows[0].cc
}

/// Runs until a measurement is done. Returns the window during it and the resulting bdp.
fn measurement(link: &mut Loop<Dstar>) -> (u64, u64) {
    loop {
        let (mode, cwnd) = (cc(link).mode, cc(link).model.cwnd);
        link.step(Time::NEVER);
        if mode == Mode::Gain2 && cc(link).mode != Mode::Gain2 {
            return (cwnd, cc(link).model.bdp);
        }
    }
}

/// Returns the window after each of the next measurements.
fn windows<const N: usize>(link: &mut Loop<Dstar>) -> [u64; N] {
    core::array::from_fn(|_| {
        measurement(link);
        cc(link).model.cwnd
    })
}

/// Values of (cwnd, bdp) at each measurement in slow start, and the time of its end.
#[test]
fn slow_start_sequence() {
    let mut link = alone();
    for expected in [(4, 5), (7, 8), (12, 13), (19, 20), (30, 31), (46, 47), (70, 71), (106, 101), (151, 101)]
    {
        assert!(cc(&link).model.slow_start);
        assert_eq!(measurement(&mut link), expected);
    }
    assert!(!cc(&link).model.slow_start);
    assert_eq!(link.now, Time::from_millis(2910));
    assert_eq!((cc(&link).mode, cc(&link).model.cwnd), (Mode::Drain, 4));
}

/// Steady state: cwnd 105, RTT 105 ms, gain 4, constant between two drains.
#[test]
fn steady_state() {
    let mut link = alone();
    link.run_to(Time::from_millis(4000));
    while link.now < Time::from_millis(9500) {
        measurement(&mut link);
        let d = cc(&link);
        assert_eq!((d.model.bdp, d.model.gain_cwnd, d.model.cwnd), (101, 4, 105), "{:?}", link.now);
        assert_eq!(d.last_rtt, Duration::from_millis(105));
    }
}

/// Slow start queues at most 51 packets, 151 in flight, although 100 fill the pipe.
#[test]
fn queue_of_slow_start() {
    let mut link = alone();
    let mut longest = Duration::ZERO;
    while cc(&link).model.slow_start {
        link.step(Time::NEVER);
        longest = longest.max(link.flows[0].latest_rtt);
    }
    assert_eq!(longest, Duration::from_millis(151));
}

/// Share of the link that a drain costs, every 10 s.
#[test]
fn cost_of_draining() {
    for (rtt, range) in [(30, 0.0..0.01), (200, 0.03..0.06)] {
        let flow = Flow::new(Box::new(dstar()), Duration::from_millis(rtt), Time::ZERO);
        let mut link = Loop::new(vec![flow], MDS, LINK);
        link.run_to(Time::from_millis(10_000));
        let before = link.flows[0].delivered;
        link.run_to(Time::from_millis(110_000));
        let lost = 1.0 - ((link.flows[0].delivered - before) / MDS) as f64 / 100_000.0;
        assert!(range.contains(&lost), "{rtt} ms: {lost}");
    }
}

/// Section 3.2.1: RTTmin is measured every 10 s, with 4 packets for slightly more than 2 RTT.
#[test]
fn drains_every_ten_seconds() {
    let (mut link, mut drains) = (alone(), Vec::new());
    let mut draining = false;
    while link.now < Time::from_millis(60_000) {
        link.step(Time::NEVER);
        let now_draining = cc(&link).mode == Mode::Drain;
        if draining != now_draining {
            drains.push(link.now.as_secs_f64());
        }
        draining = now_draining;
    }
    // The first drain ends slow start.
    let starts: Vec<_> = drains.iter().copied().step_by(2).collect();
    assert!(starts.windows(2).skip(1).all(|s| (10.0..10.7).contains(&(s[1] - s[0]))), "{starts:?}");
    assert!(drains.chunks_exact(2).all(|d| (0.2..0.45).contains(&(d[1] - d[0]))), "{drains:?}");
    assert_eq!(cc(&link).model.min_rtt, Duration::from_millis(101));
}

/// Decreases count in |d|, so the window overshoots for one cycle.
#[test]
fn capacity_halves() {
    let mut link = alone();
    link.run_to(Time::from_millis(4000));
    measurement(&mut link);
    link.link.rate = Rate(4_000_000);
    assert_eq!(measurement(&mut link), (105, 51));
    assert_eq!((cc(&link).model.gain_cwnd, cc(&link).model.cwnd), (55, 106));
    assert_eq!(windows(&mut link), [55, 55]);
}

/// The gain doubles each cycle, with one overshoot.
#[test]
fn capacity_doubles() {
    let mut link = alone();
    link.run_to(Time::from_millis(4000));
    measurement(&mut link);
    link.link.rate = Rate(16_000_000);
    assert_eq!(windows(&mut link), [117, 148, 215, 309, 205, 205]);
}

fn two(propagation: [u64; 2], starts: [u64; 2]) -> Loop<Dstar> {
    let flow = |i: usize| {
        Flow::new(Box::new(dstar()), Duration::from_millis(propagation[i]), Time::from_millis(starts[i]))
    };
    Loop::new(vec![flow(0), flow(1)], MDS, LINK)
}

/// From 20 s on: throughput of the second flow relative to the first, and the RTTs of the first in
/// ascending order.
fn shares(link: &mut Loop<Dstar>) -> (f64, Vec<Duration>) {
    link.run_to(Time::from_millis(20_000));
    let before = [link.flows[0].delivered, link.flows[1].delivered];
    let mut rtts = Vec::new();
    while link.now < Time::from_millis(120_000) {
        if link.step(Time::NEVER) == Some(0) {
            rtts.push(link.flows[0].latest_rtt);
        }
    }
    rtts.sort();
    let got = |i: usize| ((link.flows[i].delivered - before[i]) / MDS) as f64;
    (got(1) / got(0), rtts)
}

/// A late flow gets the same share within 2 %. In steady state the RTT is 111 ms: 4 packets of
/// queue per flow plus rounding. Each drain disturbs it for some seconds, so the mean is 120 ms.
#[test]
fn equal_flows_share_equally() {
    let (ratio, rtts) = shares(&mut two([100, 100], [0, 5000]));
    assert!((ratio - 1.0).abs() < 0.02, "{ratio}");
    let quartile = rtts[rtts.len() / 4];
    assert_eq!(quartile, Duration::from_millis(111));
}

/// Noise in the estimates favours the longer path.
#[test]
fn longer_path_gets_more() {
    let (ratio, _) = shares(&mut two([30, 90], [0, 0]));
    assert!((1.6..1.8).contains(&ratio), "{ratio}");
}

/// Section 3.3: a loss or mark ends slow start, once. Later neither changes the window.
#[test]
fn only_slow_start_minds_losses() {
    for cause in [Cause::Loss, Cause::Ecn] {
        let mut link = alone();
        link.run_to(Time::from_millis(1500));
        let d = &mut link.flows[0].cc;
        assert!(d.model.slow_start && d.model.cwnd > 4);
        d.on_congestion(&Congestion { now: link.now, ..congestion(cause, 0) });
        assert_eq!((d.model.slow_start, d.mode, d.model.cwnd), (false, Mode::Drain, 4));
        link.run_to(Time::from_millis(4000));
        let d = &mut link.flows[0].cc;
        let state = |d: &Dstar| format!("{:?} {:?} {:?}", d.mode, d.trans_time, d.model);
        let before = state(d);
        d.on_congestion(&Congestion { now: link.now, ..congestion(cause, 0) });
        assert_eq!(state(d), before);
    }
}

/// The three responses to a timeout or persistent congestion, and the estimate afterwards.
#[test]
fn collapse() {
    let answers = [
        (Restart::Window, false, Mode::Gain2, 101),
        (Restart::Drain, false, Mode::Drain, 101),
        (Restart::SlowStart, true, Mode::Gain1, 4),
    ];
    for (answer, slow_start, mode, bdp) in answers {
        let mut link = alone();
        link.run_to(Time::from_millis(4000));
        while cc(&link).mode != Mode::Gain2 {
            link.step(Time::NEVER);
        }
        let d = &mut link.flows[0].cc;
        d.params.timeout = answer;
        d.on_congestion(&Congestion { now: link.now, ..congestion(Cause::Timeout, 0) });
        assert_eq!(
            (d.model.slow_start, d.mode, d.model.bdp, d.model.cwnd),
            (slow_start, mode, bdp, 4),
            "{answer:?}"
        );
        link.run_to(Time::from_millis(9000));
        assert_eq!(cc(&link).model.cwnd, 105, "{answer:?}");
    }
}

/// Section 3.3: only if enabled.
#[test]
fn idle_restart() {
    let second = |s| IdleRestart::After(Duration::from_secs(s));
    for (limit, slow_start) in
        [(IdleRestart::Off, false), (second(1), true), (second(4), false), (IdleRestart::Rto, false)]
    {
        let mut link = alone();
        link.run_to(Time::from_millis(4000));
        let d = &mut link.flows[0].cc;
        d.params.idle_restart = limit;
        let now = link.now + Duration::from_secs(3);
        d.on_sent(&Sent { now, pn: 0, bytes: MDS, bytes_in_flight: MDS, app_limited: false });
        assert_eq!(d.model.slow_start, slow_start, "{limit:?}");
    }
    for (limit, slow_start) in [(IdleRestart::Off, false), (second(1), false), (IdleRestart::Rto, true)] {
        let mut link = alone();
        link.run_to(Time::from_millis(4000));
        let d = &mut link.flows[0].cc;
        d.params.idle_restart = limit;
        let (idle, rto) = (Duration::from_secs(3), Duration::from_millis(300));
        d.on_idle(&Idle { now: link.now + idle, idle, rto });
        assert_eq!(d.model.slow_start, slow_start, "{limit:?}");
        assert_eq!(d.model.bdp, if slow_start { 4 } else { 101 });
    }
    for text in ["off", "rto", "1.5 s"] {
        assert_eq!(text.parse::<IdleRestart>().map(|i| i.to_string()), Ok(text.to_owned()));
    }
    assert!("never".parse::<IdleRestart>().is_err_and(|e| e.contains("rto")));
}

/// tcp_davis.c limits the window, not the estimate.
#[test]
fn largest_window() {
    let params = Params { max_cwnd: 103, ..Params::default() };
    let mut link =
        Loop::new(vec![Flow::new(Box::new(Dstar::new(params, path(MDS))), T, Time::ZERO)], MDS, LINK);
    let mut largest = 0;
    while link.now < Time::from_millis(9000) {
        link.step(Time::NEVER);
        largest = largest.max(cc(&link).model.cwnd);
    }
    assert_eq!((largest, cc(&link).model.bdp), (103, 101));
}

/// An undo restores what a timeout or the end of slow start reset, in GAIN 1. A loss without effect
/// restores nothing.
#[test]
fn undone() {
    for (answer, cause, ms) in [
        (Restart::Window, Cause::Timeout, 4000),
        (Restart::SlowStart, Cause::Timeout, 4000),
        (Restart::Drain, Cause::Timeout, 4000),
        (Restart::Window, Cause::Loss, 1500),
    ] {
        let mut link = alone();
        link.run_to(Time::from_millis(ms));
        let d = &mut link.flows[0].cc;
        d.params.timeout = answer;
        let before = format!("{:?}", d.model);
        d.on_congestion(&Congestion { now: link.now, ..congestion(cause, 0) });
        assert_eq!(d.model.cwnd, 4);
        d.on_spurious();
        assert_eq!((format!("{:?}", d.model), d.mode), (before, Mode::Gain1), "{answer:?}");
        d.on_congestion(&congestion(Cause::Loss, 0));
        d.model.slow_start = false;
        d.on_congestion(&congestion(Cause::Loss, 0));
        d.model.cwnd = 7;
        d.on_spurious();
        assert_eq!(d.model.cwnd, 7);
    }
}

/// The application uses a tenth of the capacity: bdp follows, unless told to ignore it.
#[test]
fn application_limited() {
    for (ignore, bdp) in [(false, 10), (true, 101)] {
        let mut link = alone();
        link.run_to(Time::from_millis(4000));
        measurement(&mut link);
        let mut delivered = link.flows[0].delivered * MDS;
        let d = &mut link.flows[0].cc;
        d.params.ignore_app_limited = ignore;
        for i in 0..100 {
            delivered += MDS;
            let now = link.now + Duration::from_millis(10) * i;
            d.on_ack(&Ack { now, delivered, app_limited: true, ..acked(MDS) });
        }
        assert_eq!(d.model.bdp, bdp, "ignored: {ignore}");
    }
}

/// 400 Gbit/s over 10 s: bytes times nanoseconds overflow 32 and 64 bits.
#[test]
fn no_overflow() {
    let mut d = dstar();
    let rtt = Duration::from_secs(10);
    d.start = Start { delivered: 0, time: Time::ZERO, app_limited: false };
    d.take_rtt(Time::ZERO, rtt);
    let ack = Ack { now: Time::ZERO + rtt, delivered: 500_000_000_000, ..acked(MDS) };
    assert_eq!(d.measure(&ack), 500_000_000);
}

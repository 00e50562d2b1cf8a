//! The test cases of draft-ietf-ccwg-bbr's appendix (working copy of August 2026), applied to
//! `bbr3` in a closed loop. There is one test per case. The names are those of the table in
//! `suites/bbr-draft-appendix.csv`.

use super::path::{Alone, MDS, RTT, alone};
use crate::testing::closed_loop::Policer;
use units::{Duration, Rate};

const STARTUP: f64 = 0.0;
const DRAIN: f64 = 1.0;
const DOWN: f64 = 2.0;
const CRUISE: f64 = 3.0;
const REFILL: f64 = 4.0;
const UP: f64 = 5.0;
const PROBE_RTT: f64 = 6.0;

const BBR3: &str = "name = 'bbr3'";
/// Parameters without ProbeRTT, so that nothing interrupts a test case.
const NO_PROBE_RTT: &str = "name = 'bbr3'\nprobe-rtt-interval = '1000 s'\nmin-rtt-filter-len = '1000 s'";
/// Time long enough for everything that happens in each cycle.
const CYCLE: Duration = Duration::from_secs(10);

fn is(state: f64) -> impl Fn(&mut Alone) -> bool {
    move |path| path.get("state") == state
}

fn is_not(state: f64) -> impl Fn(&mut Alone) -> bool {
    move |path| path.get("state") != state
}

/// Runs until the flow enters a state by itself.
fn reach(path: &mut Alone, state: f64) {
    assert!(path.run_until(CYCLE, is(state)), "never in state {state}: {:?}", path.flow().cc);
}

/// Runs until the flow has left this state, if it is in it, and entered it again.
fn reach_anew(path: &mut Alone, state: f64) {
    path.run_until(CYCLE, is_not(state));
    reach(path, state);
}

/// Runs a flow with unlimited data into a state, after three seconds in which Startup ends.
fn settled(text: &str, mbit: u64, buffer_bdp: f64, state: f64) -> Alone {
    let mut path = alone(text, mbit, buffer_bdp);
    path.run_secs(3);
    reach_anew(&mut path, state);
    path
}

/// Runs into the next state and returns it.
fn next(path: &mut Alone, most: Duration) -> f64 {
    let state = path.get("state");
    assert!(path.run_until(most, is_not(state)), "stays in {state}: {:?}", path.flow().cc);
    path.get("state")
}

/// Returns `Inflight(1.0)` by the model.
fn inflight(path: &Alone) -> f64 {
    path.get("bw") / 8.0 * path.get("min_rtt")
}

#[test]
fn startup_plateau() {
    for mbit in [2, 10, 100, 1000] {
        let mut path = alone(BBR3, mbit, 4.0);
        let mut counts = Vec::new();
        path.run_until(CYCLE, |path| {
            counts.push(path.get("full_bw_count"));
            path.get("state") != STARTUP
        });
        counts.dedup();
        assert_eq!(path.get("state"), DRAIN);
        assert_eq!(counts[counts.len() - 4..], [0.0, 1.0, 2.0, 3.0], "three rounds in a row");
        assert_eq!((path.get("full_bw_now"), path.get("full_bw_reached")), (1.0, 1.0));
        let off = path.get("max_bw") / path.link.rate.0 as f64 - 1.0;
        assert!(off.abs() < 0.02, "{mbit} Mbit/s: {off}");
        assert_eq!(path.flow().lost, 0);
    }
}

/// 50 of 100 Mbit/s are about 200 packets per round: at 5 % ten ranges.
#[test]
fn startup_loss_app_limited() {
    let mut path = alone(BBR3, 100, 2.0);
    path.set_app(Some(Rate(50_000_000)));
    path.run_secs(2);
    assert_eq!(path.get("state"), STARTUP);
    path.link.lose_every = Some(100);
    path.run_secs(2);
    assert_eq!(path.get("state"), STARTUP, "1 % is tolerated");
    path.link.lose_every = Some(20);
    // Inflight is below the BDP, so the ACK that begins Drain also ends it.
    assert!(path.run_until(RTT * 3, is_not(STARTUP)), "{:?}", path.flow().cc);
    assert_eq!((path.get("full_bw_now"), path.get("full_bw_reached")), (1.0, 1.0));
    // The BDP is more than half of the bytes that a round delivered.
    assert!((path.get("inflight_longterm") / inflight(&path) - 1.0).abs() < 0.01);
}

#[test]
fn drain_by_inflight() {
    let mut path = alone(BBR3, 100, 4.0);
    reach(&mut path, DRAIN);
    assert_eq!(path.get("pacing_gain"), 0.5);
    let mut before = f64::INFINITY;
    path.run_until(CYCLE, |path| {
        let left = path.get("state") != DRAIN;
        if !left {
            before = path.flow().in_flight() as f64;
        }
        left
    });
    assert!(path.get("state") >= DOWN, "in ProbeBW, and as inflight is low, maybe at CRUISE");
    assert!(path.flow().in_flight() as f64 <= inflight(&path), "{} in flight", path.flow().in_flight());
    assert!(before + MDS as f64 > inflight(&path), "not before: {before}");
}

/// At half the rate even a path of 90 % drains in two rounds. To prevent this, the gain is 0.95
/// here.
#[test]
fn drain_by_time() {
    let mut path = alone("name = 'bbr3'\ndrain-pacing-gain = 0.95", 100, 9.0);
    reach(&mut path, DRAIN);
    let rounds = path.get("round_count");
    path.link.rate = Rate(90_000_000);
    assert_eq!(next(&mut path, CYCLE), DOWN);
    assert_eq!(path.get("round_count"), rounds + 4.0, "after three whole rounds");
    assert!(path.flow().in_flight() as f64 > inflight(&path));
}

#[test]
fn probe_up_plateau() {
    let mut path = settled(BBR3, 100, 4.0, UP);
    let rounds = path.get("round_count");
    let mut count = 0.0;
    path.run_until(CYCLE, |path| {
        count = f64::max(count, path.get("full_bw_count"));
        path.get("state") != UP
    });
    assert_eq!((path.get("state"), count), (DOWN, 3.0));
    assert_eq!(path.get("round_count") - rounds, 3.0);
    assert_eq!(path.flow().lost, 0);
}

/// The pseudo-code does not change `inflight_longterm` for application-limited packets, but the
/// test case requires it.
#[test]
fn probe_up_loss_app_limited() {
    for (text, updated) in [("name = 'bbr3'\ncut-when-app-limited = true", true), (BBR3, false)] {
        let mut path = settled(text, 100, 4.0, CRUISE);
        path.set_app(Some(Rate(50_000_000)));
        path.run(RTT * 2);
        reach_anew(&mut path, UP);
        path.link.lose_every = Some(20);
        // The application keeps inflight below the BDP, so the ACK that begins DOWN also ends it.
        assert!([DOWN, CRUISE].contains(&next(&mut path, RTT * 2)), "{:?}", path.flow().cc);
        assert_eq!(path.get("inflight_longterm").is_finite(), updated);
        assert_eq!(path.get("prev_probe_too_high"), 1.0);
        if updated {
            // 0.7 of min(BDP, cwnd), which is more than the application had in flight.
            let expected = 0.7 * inflight(&path);
            assert!((path.get("inflight_longterm") / expected - 1.0).abs() < 0.02);
        }
    }
}

#[test]
fn probe_up_app_limited_stays() {
    for state in [STARTUP, UP] {
        let mut path = alone(NO_PROBE_RTT, 100, 4.0);
        if state == UP {
            path.run_secs(3);
            reach_anew(&mut path, UP);
        }
        path.set_app(Some(Rate(20_000_000)));
        assert!(!path.run_until(Duration::from_secs(60), is_not(state)), "{:?}", path.flow().cc);
    }
}

#[test]
fn probe_down_inflight() {
    for (buffer_bdp, bounded) in [(4.0, false), (0.3, true)] {
        let mut path = settled(NO_PROBE_RTT, 100, buffer_bdp, DOWN);
        // A precautionary probe returns to REFILL. The DOWN after the next probe is the one to
        // test.
        if path.get("prev_probe_too_high") == 0.0 && bounded {
            reach_anew(&mut path, DOWN);
        }
        assert_eq!((path.get("state"), path.get("pacing_gain")), (DOWN, 0.9));
        let mut before = f64::INFINITY;
        path.run_until(CYCLE, |path| {
            let left = path.get("state") != DOWN;
            before = if left { before } else { path.flow().in_flight() as f64 };
            left
        });
        assert_eq!(path.get("state"), CRUISE);
        assert_eq!(path.get("inflight_longterm").is_finite(), bounded);
        let target = inflight(&path).min(0.85 * path.get("inflight_longterm"));
        let now = path.flow().in_flight() as f64;
        assert!(now <= target && before + MDS as f64 > target, "{before} and {now} for {target}");
    }
}

/// DOWN paces at 89 % of the estimate, so a path of 90 % hardly drains.
#[test]
fn probe_down_time() {
    let mut path = settled(NO_PROBE_RTT, 100, 4.0, DOWN);
    let since = path.now;
    path.link.rate = Rate(90_000_000);
    let wait = Duration::from_secs_f64(path.get("bw_probe_wait"));
    assert_eq!(next(&mut path, CYCLE), REFILL, "not CRUISE");
    let waited = path.now - since;
    assert!(waited > wait && waited < wait + Duration::from_millis(10), "{waited} for {wait}");
}

#[test]
fn probe_rtt_cycle() {
    let mut path = settled(BBR3, 100, 4.0, CRUISE);
    reach(&mut path, PROBE_RTT);
    for _ in 0..3 {
        path.run_until(CYCLE, is_not(PROBE_RTT));
        let left = path.now;
        reach(&mut path, PROBE_RTT);
        let after = (path.now - left).as_secs_f64();
        assert!((5.0..5.1).contains(&after), "{after} s");
        assert_eq!(path.get("cwnd_gain"), 0.5);
        let entered = path.now;
        let half = inflight(&path) / 2.0;
        assert!(path.run_until(RTT * 3, |path| path.flow().in_flight() as f64 <= half));
        assert_eq!(next(&mut path, CYCLE), CRUISE, "back in ProbeBW");
        let lasted = path.now - entered;
        assert!(lasted > Duration::from_millis(200) && lasted < Duration::from_millis(300), "{lasted}");
    }
    assert!(path.run_secs(1).goodput > 0.95, "resumes sending");
}

#[test]
fn probe_rtt_skipped_idle() {
    let mut path = settled(BBR3, 100, 4.0, CRUISE);
    path.set_app(Some(Rate(0)));
    path.run_secs(7);
    assert_eq!(path.flow().in_flight(), 0);
    path.set_app(None);
    assert!(path.run_until(Duration::from_millis(1), |path| path.flow().in_flight() > 0));
    assert_eq!(path.get("idle_restart"), 1.0);
    assert!(!path.run_until(Duration::from_secs(1), is(PROBE_RTT)), "{:?}", path.flow().cc);
    assert_eq!(path.get("idle_restart"), 0.0);
}

/// ACKs arrive every 10 ms: 125 kB at 100 Mbit/s, a quarter of the BDP.
#[test]
fn startup_aggregation() {
    let mut path = alone(BBR3, 100, 4.0);
    path.link.aggregate = Duration::from_millis(10);
    reach(&mut path, DRAIN);
    assert!(path.get("extra_acked") > 100_000.0, "{}", path.get("extra_acked"));
    assert!(path.flow().cc.control().cwnd > 2 * path.bdp(), "{}", path.flow().cc.control().cwnd);
    let off = path.get("max_bw") / path.link.rate.0 as f64 - 1.0;
    assert!(off.abs() < 0.03, "{off}");
}

#[test]
fn cruise_aggregation() {
    let mut path = settled(BBR3, 100, 4.0, CRUISE);
    path.link.aggregate = Duration::from_millis(10);
    path.run(RTT * 10);
    let extra = path.get("extra_acked");
    assert!((100_000.0..300_000.0).contains(&extra), "{extra}");
    assert!(path.flow().cc.control().cwnd as f64 >= 2.0 * inflight(&path) + 0.9 * extra);
    let f = path.run_secs(4);
    assert!(f.goodput > 0.95 && f.lost == 0.0, "no stall: {f:?}");
    path.link.aggregate = Duration::ZERO;
    path.run_secs(4);
    assert!(path.get("extra_acked") < 50_000.0, "forgotten after ten rounds");
}

/// 1 Mbit/s and 1 ms are 125 bytes.
#[test]
fn sub_packet_bdp() {
    let mut path = alone(BBR3, 1, 0.0);
    path.flow_mut().rtt = Duration::from_millis(1);
    path.link.buffer = 20;
    path.run_secs(5);
    let f = path.run_secs(10);
    assert!(f.goodput > 0.95, "{f:?}");
    assert!(!path.run_until(CYCLE, |path| path.flow().cc.control().cwnd < 4 * MDS));
    reach(&mut path, CRUISE);
    let pacing = path.flow().cc.control().pacing_rate.map_or(0.0, Rate::mbit_s);
    assert!((pacing / 0.99 - 1.0).abs() < 0.02, "{pacing}");
}

/// The buffer was shallow, so that there is a long-term bound to exceed. The bound doubles its
/// steps while it limits the flow. In between the pacing rate limits it, which rises by a quarter
/// per round.
#[test]
fn x10_up() {
    let mut path = settled(NO_PROBE_RTT, 10, 0.3, CRUISE);
    assert!(path.get("inflight_longterm").is_finite());
    path.link.rate = Rate(100_000_000);
    path.link.buffer *= 10;
    reach(&mut path, UP);
    let mut steps = Vec::new();
    let (mut round, mut bound) = (path.get("round_count"), path.get("inflight_longterm"));
    let began = path.now;
    let full = path.run_until(CYCLE, |path| {
        if path.get("state") == UP && path.get("round_count") > round {
            let grown = path.get("inflight_longterm") - bound;
            steps.push((grown / MDS as f64 + 0.5) as u64);
            (round, bound) = (path.get("round_count"), path.get("inflight_longterm"));
        }
        path.get("max_bw") > 0.95 * path.link.rate.0 as f64
    });
    let doubles =
        |w: &[u64]| w.windows(2).all(|p| p[0] > 0 && (1.6..2.4).contains(&(p[1] as f64 / p[0] as f64)));
    // After four rounds the window exceeds the bytes of a round at the pacing rate.
    assert!(steps.windows(4).any(doubles), "{steps:?}");
    // Ten times the rate at a quarter per round takes ten rounds and a half. The first UP of a
    // cycle is precautionary.
    assert!(full && path.now - began < RTT * 30, "{} {steps:?}", path.now - began);
}

#[test]
fn x10_down() {
    let mut path = settled(BBR3, 100, 1.0, CRUISE);
    path.link.rate = Rate(10_000_000);
    path.link.buffer /= 10;
    path.run(Duration::from_millis(500));
    assert!(path.get("bw_shortterm") < 50e6, "{}", path.get("bw_shortterm"));
    assert!(path.get("max_bw") > 95e6);
    for _ in 0..2 {
        reach(&mut path, UP);
        reach(&mut path, DOWN);
    }
    path.run(RTT * 4);
    let off = path.get("max_bw") / path.link.rate.0 as f64 - 1.0;
    assert!(off.abs() < 0.03, "{off}");
}

#[test]
fn policer() {
    let mut path = settled(BBR3, 100, 4.0, CRUISE);
    path.link.policer = Some(Policer::new(Rate(10_000_000), 100_000, path.now));
    let reacted = path.run_until(Duration::from_secs(2), |path| {
        path.get("bw_shortterm").is_finite() && path.get("inflight_shortterm").is_finite()
    });
    assert!(reacted);
    path.run_secs(10);
    let (mut with_loss, mut bins, mut delivered) = (0, 0, 0.0);
    for _ in 0..200 {
        let f = path.run(Duration::from_millis(100));
        with_loss += u64::from(f.lost > 0.0);
        delivered += f.goodput * path.link.rate.mbit_s() / 200.0;
        bins += 1;
        let bw = path.get("bw") / 10e6;
        assert!((0.6..2.0).contains(&bw), "{bw} of the token rate");
    }
    assert!(delivered > 9.0, "{delivered} Mbit/s");
    assert!(with_loss * 4 < bins, "loss in {with_loss} of {bins} tenths of a second");
}

#[test]
fn spurious_fast_recovery() {
    let mut path = settled(BBR3, 100, 4.0, UP);
    path.run(RTT);
    assert_eq!(path.get("state"), UP);
    let cwnd = path.flow().cc.control().cwnd;
    // 60 of about 500 packets arrive 5 ms late.
    path.link.late = (60, Duration::from_millis(5));
    assert_eq!(next(&mut path, RTT * 3), DOWN);
    assert!(path.get("inflight_longterm").is_finite());
    assert!(path.run_until(RTT, |path| path.flow().undone > 0));
    assert!(path.get("inflight_longterm").is_infinite() && path.get("bw_shortterm").is_infinite());
    assert_eq!(path.get("state"), REFILL);
    // REFILL's gain is 2, UP's was 2.25.
    assert!(path.flow().cc.control().cwnd >= cwnd * 8 / 9, "{} {cwnd}", path.flow().cc.control().cwnd);
    assert_eq!(next(&mut path, RTT * 4), UP);
}

#[test]
fn spurious_rto() {
    let mut path = settled(BBR3, 100, 4.0, UP);
    let bw = path.get("bw");
    path.link.late = (u64::MAX, Duration::from_millis(1500));
    // All packets on their way arrive, then nothing for a second.
    assert!(path.run_until(CYCLE, |path| path.flow().cc.control().cwnd == MDS), "the timer fires");
    assert!(path.get("inflight_longterm").is_finite() && path.get("state") != UP);
    path.link.late = (0, Duration::ZERO);
    assert!(path.run_until(CYCLE, |path| path.flow().undone > 0));
    assert!(path.get("inflight_shortterm").is_infinite() && path.get("inflight_longterm").is_infinite());
    assert!(path.flow().cc.control().cwnd >= 2 * path.bdp());
    // The ACK that shows it may also end REFILL's round.
    assert!([REFILL, UP].contains(&path.get("state")), "{:?}", path.flow().cc);
    // The late packets arrive besides the new ones, which have the link to themselves.
    assert!((bw..=2.0 * bw).contains(&path.get("bw")), "{}", path.get("bw"));
    assert!(path.run_secs(4).goodput > 0.9);
}

/// An application at 5 Mbit/s keeps the flow in Startup. Five seconds later the minimum RTT
/// expires.
#[test]
fn probe_rtt_in_startup() {
    let mut path = alone(BBR3, 100, 4.0);
    path.set_app(Some(Rate(5_000_000)));
    reach(&mut path, PROBE_RTT);
    assert!(path.now.as_secs_f64() > 5.0);
    assert_eq!(path.get("full_bw_reached"), 0.0);
    assert_eq!(next(&mut path, CYCLE), STARTUP);
    path.set_app(None);
    reach(&mut path, DRAIN);
    assert!(path.get("max_bw") > 0.98 * path.link.rate.0 as f64);
}

#[test]
fn probe_up_loss_longterm() {
    let mut path = settled(BBR3, 100, 0.3, UP);
    // This UP only reaches the bound, the next one may stay.
    if path.get("prev_probe_too_high") == 1.0 {
        next(&mut path, CYCLE);
        reach(&mut path, UP);
    }
    let before = path.get("inflight_longterm");
    assert!(before.is_finite());
    path.link.lose_every = Some(10);
    assert_eq!(next(&mut path, RTT * 3), DOWN);
    let target = inflight(&path).min(path.flow().cc.control().cwnd as f64);
    let after = path.get("inflight_longterm");
    assert!(after >= 0.69 * target && after < before, "{before} {after} {target}");
    assert_eq!(path.get("prev_probe_too_high"), 1.0);
}

#[test]
fn refill_app_limited() {
    let mut path = settled(BBR3, 100, 4.0, REFILL);
    let max_bw = path.get("max_bw");
    path.set_app(Some(Rate(2_000_000)));
    assert_eq!(next(&mut path, RTT * 4), UP);
    path.run(RTT * 2);
    assert_eq!(path.get("max_bw"), max_bw);
    path.set_app(None);
    path.run_secs(3);
    assert!(path.run_secs(4).goodput > 0.95, "{:?}", path.flow().cc);
}

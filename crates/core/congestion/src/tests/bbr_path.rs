//! All versions of BBR in a closed loop, each as a single flow.

use super::path::alone;
use units::{Duration, Rate};

const BBR1: &str = "name = 'bbr1'";
const BBR2: &str = "name = 'bbr2'";
const BBR2_MVFST: &str = "name = 'bbr2-mvfst'";
const BBR3: &str = "name = 'bbr3'";
const ALL: &[&str] = &[BBR1, BBR2, BBR3];
/// First state of ProbeBW: Startup and Drain precede it.
const PROBE_BW: f64 = 2.0;

/// The estimate is the link's rate. The margin costs 1 % of the goodput, ProbeRTT 2 to 3 % (240 ms
/// at half rate per 5 s, or at almost no rate per 10 s). At 2 Mbit/s the BDP is 8 packets. BBRv1
/// keeps its quanta's 6 packets above it, BBRv3 probes every 8 rounds for three rounds.
#[test]
fn converges_to_the_link() {
    for name in ALL {
        for mbit in [2, 10, 100] {
            let mut path = alone(name, mbit, 4.0);
            path.run_secs(5);
            let f = path.run_secs(30);
            let bw = path.get("max_bw") / path.link.rate.0 as f64;
            assert!((bw - 1.0).abs() < 0.02, "{name} {mbit} Mbit/s: estimates {bw}");
            assert!(f.goodput > 0.95, "{name} {mbit} Mbit/s: {f:?}");
            let queue = match (*name, mbit) {
                (BBR1, 2) => 0.9,
                (BBR3, 2) => 0.4,
                _ => 0.2,
            };
            assert!(f.rtt < 1.0 + queue, "{name} {mbit} Mbit/s: {f:?}");
            assert_eq!(f.lost, 0.0, "{name} {mbit} Mbit/s");
        }
    }
}

#[test]
fn startup_is_short_and_its_queue_drained() {
    for name in ALL {
        let mut path = alone(name, 50, 4.0);
        let f = path.run_secs(1);
        assert!(path.get("state") >= PROBE_BW, "{name}: {:?}", path.flow().cc);
        assert_eq!(f.lost, 0.0, "{name}");
    }
}

/// Startup overflows the buffer. Later probes find its limit once and stay below it. BBRv1 ignores
/// losses.
#[test]
fn survives_a_shallow_buffer() {
    for name in &ALL[1..] {
        for (mbit, buffer_bdp) in [(10, 0.5), (100, 0.5), (10, 0.1), (100, 0.1)] {
            let mut path = alone(name, mbit, buffer_bdp);
            let startup = path.run_secs(3);
            assert!(startup.lost < 0.04, "{name} {mbit} Mbit/s, {buffer_bdp} BDP: Startup {startup:?}");
            let f = path.run_secs(30);
            assert!(f.goodput > 0.9, "{name} {mbit} Mbit/s, {buffer_bdp} BDP: {f:?}");
            assert!(f.lost < 0.005, "{name} {mbit} Mbit/s, {buffer_bdp} BDP: {f:?}");
            assert!(f.rtt < 1.1, "{name} {mbit} Mbit/s, {buffer_bdp} BDP: {f:?}");
        }
    }
}

/// mvfst probes for four rounds or more, every 2 to 3 s, and only losses shorten it. That gives a
/// queue in a deep buffer, losses in a shallow one, and the link's rate in both.
#[test]
fn mvfst_probes_longer() {
    for (buffer_bdp, queue, lost) in [(4.0, 1.1..1.3, 0.0..1e-9), (0.5, 1.0..1.2, 1e-4..0.02)] {
        let mut path = alone(BBR2_MVFST, 10, buffer_bdp);
        path.run_secs(5);
        let f = path.run_secs(60);
        assert!(
            f.goodput > 0.94 && queue.contains(&f.rtt) && lost.contains(&f.lost),
            "{buffer_bdp} BDP: {f:?}"
        );
    }
}

#[test]
fn finds_ten_times_the_rate() {
    for name in ALL.iter().chain(&[BBR2_MVFST]) {
        let mut path = alone(name, 10, 2.0);
        path.run_secs(10);
        path.link.rate = Rate(100_000_000);
        path.link.buffer *= 10;
        path.run_secs(4);
        let f = path.run_secs(10);
        assert!(f.goodput > 0.95 && f.lost == 0.0, "{name} {f:?}");
    }
}

/// The short-term bound halves the rate within half a second, the filter takes two cycles. The
/// bound's final value depends on how soon the window stops the losses.
#[test]
fn adapts_to_a_tenth_of_the_rate() {
    for name in &ALL[1..] {
        let mut path = alone(name, 100, 1.0);
        path.run_secs(11);
        path.link.rate = Rate(10_000_000);
        path.link.buffer /= 10;
        path.run(Duration::from_millis(500));
        assert!(path.get("bw") < 50e6, "{name}: the short-term bound at once: {}", path.get("bw"));
        assert!(path.get("max_bw") > 90e6, "{name}: the filter after two cycles");
        path.run(Duration::from_millis(11_500));
        let f = path.run_secs(10);
        assert!(f.goodput > 0.9 && f.lost < 0.001 && f.rtt < 1.1, "{name}: {f:?}");
        assert!(path.get("max_bw") < 1.05 * path.link.rate.0 as f64, "{name}");
    }
}

/// BBRv1 ignores losses. Its filter forgets after ten rounds, which a full queue makes long.
#[test]
fn bbr1_adapts_to_a_tenth_of_the_rate() {
    let mut path = alone(BBR1, 100, 1.0);
    path.run_secs(10);
    path.link.rate = Rate(10_000_000);
    path.link.buffer /= 10;
    path.run_secs(5);
    assert!(path.get("max_bw") < 1.05 * path.link.rate.0 as f64, "{:?}", path.flow().cc);
    assert!(path.run_secs(20).goodput > 0.9);
}

/// The last state of each version is ProbeRTT.
#[test]
fn probes_the_rtt() {
    for (name, probe_rtt, expected) in
        [(BBR1, 3.0, 5..=6), (BBR2, 6.0, 9..=12), (BBR2_MVFST, 6.0, 5..=6), (BBR3, 6.0, 9..=12)]
    {
        let mut path = alone(name, 10, 2.0);
        path.run_secs(3);
        let (mut entries, mut before) = (0, path.get("state"));
        path.run_until(Duration::from_secs(60), |path| {
            let state = path.get("state");
            entries += u64::from(state == probe_rtt && before != probe_rtt);
            before = state;
            false
        });
        assert!(expected.contains(&entries), "{name}: {entries} in 60 s");
    }
}

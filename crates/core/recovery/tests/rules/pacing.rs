//! The pacing rate of a controller without its own: `factor * cwnd / smoothed_rtt`.

use crate::common::*;
use std::num::NonZeroU64;

use ackclock_recovery::{Config, Offload, Paced, Pacing, SendDecision, Style};
use units::Time;

const RTT: f64 = 100.0;
const CWND: u64 = 20;

/// Returns the milliseconds between two packets, with this `ssthresh` in packets.
fn spacing(config: &Config, ssthresh: u64) -> f64 {
    let mut config = Config { paced: Paced::Always, ..config.clone() };
    config.pacing.burst = Some(1);
    let mut b = Bench::primed(config, RTT);
    b.set_window(CWND * SIZE);
    b.notes.lock().unwrap().ssthresh = ssthresh.saturating_mul(SIZE);
    let mut now = ms(RTT);
    let mut left = Vec::new();
    while left.len() < 3 {
        match b.sender.can_send(now, SIZE) {
            SendDecision::Now => {
                left.push(now.as_secs_f64() * 1e3);
                b.send(left[left.len() - 1]);
            }
            SendDecision::At(at) => now = at,
            SendDecision::WindowFull => panic!("the window has room"),
        }
    }
    left[2] - left[1]
}

/// Linux's `tcp_update_pacing_rate`: twice the window per RTT below half of `ssthresh`, 1.2 times
/// above. RFC 9002 section 7.7 has one factor, 1.25.
#[test]
fn slow_start_is_paced_faster() {
    let even = RTT / CWND as f64;
    for (config, ssthresh, factor) in [
        (Config::tcp(), u64::MAX, 2.0),
        (Config::tcp(), 41, 2.0),
        (Config::tcp(), 40, 1.2),
        (Config::tcp(), 21, 1.2),
        (Config::tcp(), 0, 1.2),
        (Config::quic(), u64::MAX, 1.25),
        (Config::quic(), 0, 1.25),
    ] {
        let got = spacing(&config, ssthresh);
        assert!((got - even / factor).abs() < 1e-3, "{ssthresh}: {got} ms");
    }
    let quic = |ssthresh| {
        let pacing = Pacing { slow_start_factor: 2.0, ..Pacing::default() };
        spacing(&Config { pacing, ..Config::quic() }, ssthresh)
    };
    assert!((quic(21) - even / 2.0).abs() < 1e-3, "below ssthresh, as its own words have it");
    assert!((quic(20) - even / 1.25).abs() < 1e-3);
}

/// Sends as much as the sender allows. Returns the send times.
fn sent(b: &mut Bench, from: f64, until: f64) -> Vec<Time> {
    let (mut now, mut left) = (ms(from), Vec::new());
    while now < ms(until) {
        match b.sender.can_send(now, SIZE) {
            SendDecision::Now => {
                left.push(now);
                b.send(now.as_secs_f64() * 1e3);
            }
            SendDecision::At(at) => now = at,
            SendDecision::WindowFull => break,
        }
    }
    left
}

/// 20 packets in 100 ms, five in a burst: five every 25 ms. An acknowledgement in between changes
/// nothing. After a full window, the next burst follows the acknowledgement that opens it.
#[test]
fn bursts_at_intervals() {
    let pacing = Pacing { style: Style::Bursts, factor: 1.0, slow_start_factor: 1.0, ..Pacing::default() };
    let mut b = Bench::primed(Config { pacing, ..Config::quic() }, RTT);
    b.set_window(CWND * SIZE);
    b.send(100.0);
    let bursts = |at: &[f64]| at.iter().flat_map(|at| [ms(*at); 5]).collect::<Vec<_>>();
    assert_eq!(sent(&mut b, 160.0, 190.0), bursts(&[160.0, 185.0]));
    assert_eq!(b.sender.can_send(ms(190.0), SIZE), SendDecision::At(ms(210.0)));
    b.ack(200.0, &[(0, 1)]);
    assert_eq!(sent(&mut b, 200.0, 300.0), bursts(&[210.0, 235.0]), "then the window is full");
    b.ack(260.0, &[(0, 6)]);
    assert_eq!(sent(&mut b, 260.0, 300.0), bursts(&[260.0]));
}

/// A window of 4.5 packets: four fit, a fifth exceeds it.
#[test]
fn overshoot() {
    for (overshoot, expected) in [(false, 4), (true, 5)] {
        let mut b = Bench::new(Config { overshoot, paced: Paced::Never, ..Config::quic() });
        b.set_window(9 * SIZE / 2);
        assert_eq!(b.fill(0.0, &mut Vec::new()), expected);
        b.set_window(4 * SIZE);
        b.ack(100.0, &[(0, 0)]);
        assert_eq!(b.fill(100.0, &mut Vec::new()), u64::from(!overshoot), "none into a full one");
    }
}

/// Returns a bench with groups of this size, a window in packets, one packet in flight, and an RTT
/// of `rtt` ms at time `rtt`.
fn groups(offload: Offload, paced: Paced, rtt: f64, window: u64) -> Bench {
    let pacing = Pacing { burst: Some(1), ..Pacing::default() };
    let config = Config { offload, paced, pacing, ..Config::quic() };
    let mut b = Bench::primed(config, rtt);
    b.set_window(window * SIZE);
    b.notes.lock().unwrap().ssthresh = u64::MAX;
    b.send(rtt);
    b.sender.set_waiting(u64::MAX);
    b
}

fn fixed(packets: u64) -> Offload {
    Offload::Packets(NonZeroU64::new(packets).unwrap())
}

/// Sends as much as the sender allows at this time. Returns the number of packets.
fn now(b: &mut Bench, at: f64) -> u64 {
    b.fill(at, &mut Vec::new())
}

/// 20 packets in 100 ms with N = 1.25 are a packet every 4 ms: groups of 4 leave every 16 ms.
#[test]
fn paced_groups() {
    let mut b = groups(fixed(4), Paced::Always, RTT, CWND);
    assert_eq!(now(&mut b, RTT), 4);
    for group in 1..4 {
        let at = RTT + 16.0 * f64::from(group);
        assert_eq!(now(&mut b, at - 0.01), 0, "{group}");
        assert_eq!(now(&mut b, at + 0.001), 4, "{group}");
    }
}

/// A window of 10 packets has room for two groups of 4 beside the packet in flight. The third group
/// waits until 4 packets fit.
#[test]
fn a_group_waits_for_the_window() {
    let mut b = groups(fixed(4), Paced::Never, RTT, 10);
    assert_eq!(now(&mut b, RTT), 8);
    for (acked, sent) in [(1, 0), (2, 0), (3, 4), (4, 0), (7, 4)] {
        b.ack(2.0 * RTT, &[(0, acked)]);
        assert_eq!(now(&mut b, 2.0 * RTT), sent, "{acked}");
    }
}

/// The last data, retransmissions and probes do not wait.
#[test]
fn what_does_not_wait_for_a_group() {
    let mut b = groups(fixed(4), Paced::Never, RTT, 10);
    assert_eq!(now(&mut b, RTT), 8);
    for (waiting, sent) in [(2 * SIZE, 0), (SIZE, 1), (0, 0)] {
        b.sender.set_waiting(waiting);
        assert_eq!(now(&mut b, RTT), sent, "{waiting}");
    }
    b.ack(2.0 * RTT, &[(0, 2)]);
    b.sender.set_waiting(0);
    assert_eq!(now(&mut b, 2.0 * RTT), 2, "retransmissions");
    b.sender.set_waiting(u64::MAX);
    let at = b.timer();
    assert_eq!(now(&mut b, at), 2, "probes");
}

/// A group larger than the window leaves when nothing is in flight, as far as the window allows.
#[test]
fn a_group_larger_than_the_window() {
    let mut b = groups(fixed(100), Paced::Never, RTT, 10);
    assert_eq!(now(&mut b, RTT), 0, "a packet is in flight");
    b.ack(2.0 * RTT, &[(0, 1)]);
    assert_eq!(now(&mut b, 2.0 * RTT), 10);
    b.ack(3.0 * RTT, &[(0, 10)]);
    assert_eq!(now(&mut b, 3.0 * RTT), 0);
    b.ack(3.0 * RTT, &[(0, 11)]);
    assert_eq!(now(&mut b, 3.0 * RTT), 10);
}

/// Linux: max(2, min(rate / 1024 + 65536 / 2^(RTT / 512 us), 65536) / 1000) packets, at most a
/// third of the window. The rate is 1.25 windows per RTT.
#[test]
fn groups_of_linux() {
    for (rtt, window, group) in [
        (100.0, 1000, 12), // 12.5 MB/s / 1024 = 12 207 bytes
        (100.0, 20, 2),    // 244 bytes
        (1.0, 1000, 65),   // more than 65 536 bytes
        (1.0, 10, 3),      // 12 207 + 32 768 bytes, but a third of the window
        (2.0, 30, 10),     // 18 310 + 8192 bytes, the same
        (2.0, 100, 33),    // 61 035 + 8192 bytes, the same
        (4.1, 300, 65),    // 89 324 bytes
        (50.0, 2000, 48),  // 48 828 bytes
    ] {
        let mut b = groups(Offload::LINUX, Paced::Always, rtt, window);
        let later = rtt + 1.25 * rtt / window as f64; // the packet in flight is paid for
        assert_eq!(now(&mut b, later), group, "{rtt} ms, {window}");
    }
}

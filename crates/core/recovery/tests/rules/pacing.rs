//! The pacing rate of a controller without its own: `factor * cwnd / smoothed_rtt`.

use crate::common::*;
use ackclock_recovery::{Config, Paced, Pacing, SendDecision, Style};
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

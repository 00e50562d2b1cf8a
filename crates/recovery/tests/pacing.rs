//! The rate of a sender whose controller has none: `factor * cwnd / smoothed_rtt`.

mod common;
use common::*;
use recovery::{Config, Gate, Paced, Pacing};

const RTT: f64 = 100.0;
const CWND: u64 = 20;

/// Milliseconds between two packets that leave one by one, with this `ssthresh` in packets.
fn spacing(config: &Config, ssthresh: u64) -> f64 {
    let mut config = Config { paced: Paced::Always, ..config.clone() };
    config.pacing.burst = Some(1);
    let mut b = Bench::primed(config, RTT);
    b.set_window(CWND * SIZE);
    b.notes.lock().unwrap().ssthresh = ssthresh.saturating_mul(SIZE);
    let mut now = ms(RTT);
    let mut left = Vec::new();
    while left.len() < 3 {
        match b.sender.gate(now, SIZE) {
            Gate::Open => {
                left.push(now.as_secs_f64() * 1e3);
                b.send(left[left.len() - 1]);
            }
            Gate::At(at) => now = at,
            Gate::Window => panic!("the window has room"),
        }
    }
    left[2] - left[1]
}

/// Linux' `tcp_update_pacing_rate`: twice the window per RTT below half of `ssthresh`, 1.2 times above. RFC 9002 section 7.7 knows
/// one factor, 1.25.
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

//! Probe timeouts (RFC 9002 section 6.2), tail loss probes (RFC 8985 section 7), retransmission timeouts (RFC 6298).

mod common;
use common::*;
use congestion::{Cause, Detection};
use recovery::{Config, Gate};

/// After one sample of 100 ms: smoothed_rtt + 4 * (100 / 2) + max_ack_delay.
const PTO: f64 = 325.0;

/// Doubles, and an ACK resets it.
#[test]
fn backs_off_and_resets() {
    let mut b = Bench::primed(Config::quic(), 100.0);
    b.send(100.0);
    let mut sent = 100.0;
    for factor in [1.0, 2.0, 4.0] {
        assert_ms(b.due().unwrap(), sent + factor * PTO);
        sent = b.timer();
        assert!(b.out.probe);
        let data = b.sender.probe_payload().unwrap();
        assert_eq!(data, piece(1), "the oldest in flight");
        b.resend(sent, data);
    }
    assert_eq!(b.sender.stats().timeouts, 3);
    b.ack(sent + 100.0, &[(4, 4)]);
    assert_eq!(b.lost_pns(), [1, 2, 3]);
    b.send(sent + 100.0);
    // rttvar is 37.5 ms after a second sample of 100 ms.
    assert_ms(b.due().unwrap(), sent + 100.0 + 100.0 + 150.0 + 25.0);
}

/// Fact sheet, appendix A: 225, 450, 900 ms.
#[test]
fn the_vector() {
    // rttvar is 25 ms after a first sample of 50 ms; the longer ACK delay makes up for the shorter RTT.
    let config = Config { max_ack_delay: congestion::Duration::from_millis(75), ..Config::quic() };
    let mut b = Bench::primed(config, 50.0);
    b.send(100.0);
    let mut at = 100.0;
    for pto in [225.0, 450.0, 900.0] {
        assert_ms(b.due().unwrap() - at, pto);
        at = b.timer();
        b.send(at);
    }
}

/// RFC 9002 section 6.2.2: 999 ms before the first sample, and the ACK delay.
#[test]
fn before_the_first_sample() {
    let mut b = Bench::quic();
    assert_eq!(b.due(), None);
    b.send(0.0);
    assert_ms(b.due().unwrap(), 999.0 + 25.0);
}

#[test]
fn loss_time_comes_first() {
    let mut b = Bench::primed(Config::quic(), 100.0);
    b.send_at([100.0, 100.0]);
    b.ack(200.0, &[(2, 2)]);
    b.send(200.0);
    assert_ms(b.timer(), 212.5);
    assert_eq!(b.lost_pns(), [1]);
    assert!(!b.out.probe);
    assert!(b.due().unwrap() > 400.0, "now the probe timeout");
}

/// RFC 9002 section 6.2.4: probes ignore the window, count in flight, and leave it alone.
#[test]
fn probes_and_the_window() {
    let mut b = Bench::primed(Config::quic(), 100.0);
    b.set_window(SIZE);
    b.send(100.0);
    b.signals();
    assert_eq!(b.sender.gate(ms(100.0), SIZE), Gate::Window);
    let at = b.timer();
    assert!(b.signals().is_empty(), "not a word to the controller");
    for probes in 1..=2 {
        assert_eq!(b.sender.gate(ms(at), SIZE), Gate::Open);
        b.send(at);
        assert_eq!(b.sender.bytes_in_flight(), (1 + probes) * SIZE);
    }
    assert_eq!(b.sender.gate(ms(at), SIZE), Gate::Window, "two probes");
    assert_eq!(b.out.lost, []);
}

#[test]
fn nothing_in_flight_nothing_armed() {
    let mut b = Bench::primed(Config::quic(), 100.0);
    assert_eq!(b.due(), None);
    b.sender.on_timer(ms(9e9), &mut b.out);
    assert!(!b.out.probe);
    b.send(100.0);
    assert!(b.due().is_some());
    b.ack(200.0, &[(1, 1)]);
    assert_eq!(b.due(), None);
}

#[test]
fn early_call_does_nothing() {
    let mut b = Bench::primed(Config::quic(), 100.0);
    b.send(100.0);
    b.sender.on_timer(ms(101.0), &mut b.out);
    assert!(!b.out.probe && b.sender.stats().timeouts == 0);
}

/// RFC 8985 section 7.2: two RTTs after the last packet; the newest packet is repeated.
#[test]
fn tail_loss_probe_then_timeout() {
    let mut b = Bench::primed(Config::tcp(), 100.0);
    b.send_at([100.0, 110.0]);
    assert_ms(b.timer(), 310.0);
    assert!(b.out.probe && b.out.lost.is_empty());
    let data = b.sender.probe_payload().unwrap();
    assert_eq!(data, piece(2), "the newest in flight");
    b.resend(310.0, data);
    assert!(b.verdicts().is_empty());
    // Section 7.3: the probe re-arms the RTO, 100 + 4 * 50 ms.
    assert_ms(b.timer(), 310.0 + 300.0);
    let timeout = Detection::Timeout;
    assert_eq!(b.lost(), [(1, timeout), (2, timeout), (3, timeout)]);
    assert_eq!((b.out.probe, b.sender.bytes_in_flight(), b.due()), (false, 0, None));
    assert_eq!(b.verdicts(), [Signal::Reduce(Cause::Timeout)]);
    assert_eq!(b.sender.stats().lost_by_timeout, 3);
}

/// RFC 8985 section 7.2: an ACK restarts it; a packet that flies alone waits for a delayed ACK, too.
#[test]
fn tail_loss_probe_restarts() {
    let mut b = Bench::primed(Config::tcp(), 100.0);
    b.send_at([100.0, 100.0, 100.0]);
    b.tcp_ack(200.0, 2, &[], 1);
    assert_ms(b.due().unwrap(), 200.0 + 200.0);
    b.tcp_ack(201.0, 3, &[], 2);
    // Alone: 2 * srtt + 200 ms, but not after the RTO. rttvar fell with every sample.
    let rtt = b.sender.rtt();
    let rto = rtt.smoothed().as_millis_f64() + 4.0 * rtt.variation().as_millis_f64();
    assert!(rto < 2.0 * rtt.smoothed().as_millis_f64() + 200.0);
    assert_ms(b.due().unwrap(), 201.0 + rto);
}

/// RFC 6298 section 5.5: doubles; Linux: never under 200 ms, never over 120 s.
#[test]
fn retransmission_timeout_backs_off() {
    let mut b = Bench::primed(Config::tcp(), 10.0); // srtt + 4 * rttvar = 30 ms
    b.send(100.0);
    let mut at = 100.0;
    for n in 0..14 {
        let expected = (200.0 * f64::from(1 << n)).min(120_000.0);
        assert_ms(b.due().unwrap() - at, expected);
        at = b.timer();
        assert_eq!(b.out.lost.len(), 1);
        assert_eq!(b.verdicts(), [Signal::Reduce(Cause::Timeout)], "each timeout collapses the window");
        let data = b.out.lost[0].2;
        b.resend(at, data);
    }
    let repeat = b.sender.stats().sent - 1;
    b.tcp_ack(at + 10.0, 2, &[], repeat);
    b.send(at + 10.0);
    b.send(at + 10.0);
    let due = b.due().unwrap() - at - 10.0;
    assert!(due < 201.0, "an ACK ends the backoff: {due}");
}

//! Probe timeouts (RFC 9002 section 6.2), tail loss probes (RFC 8985 section 7), retransmission
//! timeouts (RFC 6298).

use crate::common::*;
use ackclock_recovery::{AckFrame, Config, Pto, Role, Rto, SendDecision, SpaceId, TcpAck, TimeThreshold};
use congestion::{Cause, Detection};
use units::Duration;

/// After one sample of 100 ms: smoothed_rtt + 4 * (100 / 2) + max_ack_delay.
const PTO: f64 = 325.0;

/// The timeout doubles, and an ACK resets it.
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

/// `max-pto`: min(PTO * 2^n, max(bound, PTO)). A bound below the PTO stops the doubling and no more.
#[test]
fn a_bound_of_the_doublings() {
    for (bound, expected) in [(1000, [PTO, 650.0, 1000.0, 1000.0]), (100, [PTO; 4])] {
        let mut b =
            Bench::primed(Config { max_pto: Some(Duration::from_millis(bound)), ..Config::quic() }, 100.0);
        b.send(100.0);
        let mut sent = 100.0;
        for pto in expected {
            assert_ms(b.due().unwrap() - sent, pto);
            sent = b.timer();
            b.send(sent);
        }
    }
}

/// The bound holds in each space, and against the deadlock of a client: before the first sample 999
/// ms, then 1998, then the bound.
#[test]
fn a_bound_in_every_space() {
    let config = Config { max_pto: Some(Duration::from_millis(2500)), ..Config::quic() };
    let mut b = Bench::endpoint(config, Role::Client);
    let mut sent = 0.0;
    for pto in [999.0, 1998.0, 2500.0, 2500.0] {
        b.send_in(sent, SpaceId::Initial);
        assert_ms(b.due().unwrap() - sent, pto);
        sent = b.timer();
    }
    b.sender.discard(ms(sent), SpaceId::Initial);
    b.sender.on_handshake_keys();
    for pto in [999.0, 1998.0, 2500.0, 2500.0] {
        assert_ms(b.due().unwrap() - sent, pto);
        sent = b.timer();
    }
}

/// Test vector: 225, 450, 900 ms.
#[test]
fn the_vector() {
    // rttvar is 25 ms after a first sample of 50 ms; the longer ACK delay compensates for the
    // shorter RTT.
    let config = Config { max_ack_delay: Duration::from_millis(75), ..Config::quic() };
    let mut b = Bench::primed(config, 50.0);
    b.send(100.0);
    let mut at = 100.0;
    for pto in [225.0, 450.0, 900.0] {
        assert_ms(b.due().unwrap() - at, pto);
        at = b.timer();
        b.send(at);
    }
}

/// RFC 9002 section 6.2.2: 999 ms before the first sample, plus the ACK delay.
#[test]
fn before_the_first_sample() {
    let mut b = Bench::quic();
    assert_eq!(b.due(), None);
    b.send(0.0);
    assert_ms(b.due().unwrap(), 999.0 + 25.0);
}

/// `pto = "mvfst"`: smoothed_rtt + 4 * rttvar + the longest ACK delay so far, and nothing else; 2
/// initial RTTs before the first sample.
#[test]
fn the_longest_ack_delay_so_far() {
    let config = Config { pto: Pto::Mvfst, initial_rtt: ms(50.0) - ms(0.0), ..Config::quic() };
    let mut b = Bench::new(config);
    b.send(0.0);
    assert_ms(b.due().unwrap(), 100.0);
    b.ack(100.0, &[(0, 0)]);
    let (mut at, mut rttvar, mut pn) = (100.0, 50.0, 1);
    for (delay, longest) in [(0, 0.0), (13, 13.0), (7, 13.0), (20, 20.0)] {
        b.send(at);
        let ack_delay = Duration::from_millis(delay);
        let frame = AckFrame { ranges: vec![(pn, pn)], ack_delay, ..AckFrame::default() };
        b.ack_frame(at + 100.0 + delay as f64, &frame);
        (at, rttvar, pn) = (at + 100.0 + delay as f64, rttvar * 0.75, pn + 1);
        b.send(at);
        assert_ms(b.due().unwrap() - at, 100.0 + 4.0 * rttvar + longest);
        b.ack(at + 100.0, &[(pn, pn)]);
        (at, rttvar, pn) = (at + 100.0, rttvar * 0.75, pn + 1);
    }
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

/// RFC 9002 section 6.2.4: probes ignore the window, count as in flight, and do not change it.
#[test]
fn probes_and_the_window() {
    let mut b = Bench::primed(Config::quic(), 100.0);
    b.set_window(SIZE);
    b.send(100.0);
    b.signals();
    assert_eq!(b.sender.can_send(ms(100.0), SIZE), SendDecision::WindowFull);
    let at = b.timer();
    assert!(b.signals().is_empty(), "not a word to the controller");
    for probes in 1..=2 {
        assert_eq!(b.sender.can_send(ms(at), SIZE), SendDecision::Now);
        b.send(at);
        assert_eq!(b.sender.bytes_in_flight(), (1 + probes) * SIZE);
    }
    assert_eq!(b.sender.can_send(ms(at), SIZE), SendDecision::WindowFull, "two probes");
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
    assert_ms(b.timer(), 110.0 + 2.0 * 100.0 + 2.0);
    assert!(b.out.probe && b.out.lost.is_empty());
    let data = b.sender.probe_payload().unwrap();
    assert_eq!(data, piece(2), "the newest in flight");
    b.resend(312.0, data);
    assert!(b.verdicts().is_empty());
    // Section 7.3: the probe re-arms the RTO, 100 + 200 ms.
    assert_ms(b.timer(), 312.0 + 300.0);
    assert_eq!(
        b.lost(),
        [(1, Detection::Timeout)],
        "the oldest; the rest waits for the next acknowledgement"
    );
    assert_eq!((b.out.probe, b.sender.bytes_in_flight()), (false, 2 * SIZE));
    assert_eq!(b.verdicts(), [Signal::Reduce(Cause::Timeout)]);
    b.set_window(SIZE);
    assert_eq!(
        b.sender.can_send(ms(612.0), SIZE),
        SendDecision::Now,
        "for the repeat, whatever the window says"
    );
    let repeat = b.resend(612.0, piece(1));
    assert_eq!(b.sender.can_send(ms(612.0), SIZE), SendDecision::WindowFull);
    b.tcp_ack(712.0, 2, &[], repeat);
    assert_eq!(b.lost(), [(2, Detection::Timeout), (3, Detection::Timeout)]);
    assert!(b.verdicts().is_empty(), "one collapse");
    assert_eq!(b.sender.stats().lost_by_timeout, 3);
}

/// RFC 8985 section 7.2: an ACK restarts it. A packet alone in flight also waits for a delayed ACK.
#[test]
fn tail_loss_probe_restarts() {
    let mut b = Bench::primed(Config::tcp(), 50.0);
    b.send_at([100.0, 100.0, 100.0]);
    b.tcp_ack(150.0, 3, &[], 2);
    assert_ms(b.due().unwrap(), 150.0 + (50.0 + 200.0)); // 2 * 50 + 200 ms would be later than the RTO
    b.tcp_ack(151.0, 4, &[], 3);
    b.send_at([200.0, 200.0]);
    let rtt = b.sender.rtt().smoothed().as_millis_f64();
    assert_ms(b.due().unwrap(), 200.0 + 2.0 * rtt + 2.0);
}

/// Section 7.2: if the RTO would expire first, the probe replaces it. At rest the RTO is srtt + 200
/// ms, so otherwise no tail would be probed from an RTT of 200 ms on.
#[test]
fn a_settled_timer_probes_first() {
    for rtt in [1.0, 20.0, 50.0, 100.0, 150.0, 190.0, 250.0, 300.0, 600.0] {
        let mut b = settled(Config::tcp(), rtt);
        let now = 1e5;
        b.send_at([now; 5]);
        let due = (2.0 * rtt + 2.0).min(rtt + 200.0);
        assert!((b.due().unwrap() - now - due).abs() < 0.1, "{rtt}: {}", b.due().unwrap() - now);
        let at = b.timer();
        assert!(b.out.probe && b.out.lost.is_empty(), "{rtt} ms: a probe");
        let data = b.sender.probe_payload().unwrap();
        b.resend(at, data);
        assert!((b.due().unwrap() - at - rtt - 200.0).abs() < 0.1, "then the whole RTO");
        b.timer();
        assert_eq!(b.verdicts(), [Signal::Reduce(Cause::Timeout)]);
    }
}

/// A flow of 20 packets a round for a hundred rounds, until shortly before 10^5 ms.
fn settled(config: Config, rtt: f64) -> Bench {
    let mut b = Bench::primed(config, rtt);
    let start = 1e5 - 100.0 * rtt - 1.0;
    for round in 0..100 {
        let now = start + f64::from(round) * rtt;
        b.send_at([now; 20]);
        for _ in 0..10 {
            let acked = b.sender.stats().acked + 2;
            b.tcp_ack(now + rtt, acked, &[], acked - 1);
        }
    }
    assert_eq!(b.sender.bytes_in_flight(), 0);
    b.signals();
    b
}

/// At rest Linux's timeout is srtt + 200 ms, for any number of packets per round. RFC 6298's, at
/// least 1 s, is the RTT and a tick.
#[test]
fn settled_timeouts() {
    let seconds = Duration::from_secs(1);
    for rtt in [1.0, 50.0, 150.0, 300.0, 600.0, 1500.0] {
        let linux = settled(Config::tcp(), rtt);
        let rfc = settled(Config { rto: Rto::Rfc6298, min_rto: seconds, ..Config::tcp() }, rtt);
        for (mut b, expected) in [(linux, rtt + 200.0), (rfc, 1000.0_f64.max(rtt + 1.0))] {
            b.send(1e5);
            let probe = b.timer(); // which re-arms it
            let rto = b.due().unwrap() - probe;
            assert!((rto - expected).abs() < 1.5, "{rtt}: {rto} ms for {expected}");
        }
    }
}

/// RFC 6298 section 5.5: the timeout doubles, up to 120 s (Linux). RFC 5681 section 3.1: one
/// collapse, however often.
#[test]
fn retransmission_timeout_backs_off() {
    backs_off(Config::tcp(), 120_000.0);
    backs_off(Config { max_rto: Duration::from_secs(60), ..Config::tcp() }, 60_000.0);
    backs_off(Config { max_rto: Duration::from_millis(1), ..Config::tcp() }, 210.0);
}

fn backs_off(config: Config, bound: f64) {
    let mut b = Bench::primed(config, 10.0); // 10 + 200 ms
    b.send(100.0);
    let mut at = b.timer(); // the probe
    for n in 0..14 {
        let expected = (210.0 * f64::from(1 << n)).min(bound);
        assert_ms(b.due().unwrap() - at, expected);
        at = b.timer();
        assert_eq!(b.out.lost.len(), 1);
        let cuts: &[Signal] = if n == 0 { &[Signal::Reduce(Cause::Timeout)] } else { &[] };
        assert_eq!(b.verdicts(), cuts);
        let data = b.out.lost[0].2;
        b.resend(at, data);
    }
    let repeat = b.sender.stats().sent - 1;
    b.tcp_ack(at + 10.0, 2, &[], repeat);
    b.send(at + 10.0);
    b.send(at + 10.0);
    let due = b.due().unwrap() - at - 10.0;
    assert!(due < 210.1, "an ACK ends the backoff: {due}");
}

/// RFC 6298 section 5.3: SACKs of later packets do not delay the timeout of the oldest packet.
#[test]
fn the_oldest_packet_times_out() {
    let off = TimeThreshold::Off;
    let mut b = Bench::primed(Config { time_threshold: off, ..Config::tcp() }, 100.0);
    b.send(100.0); // 1, lost
    for n in 0..4 {
        let at = 110.0 + 50.0 * f64::from(n);
        b.send(at);
        b.tcp_ack(at + 100.0, 1, &[(2, 3 + n as u64)], 2 + n as u64);
    }
    b.timer(); // the probe
    assert_ms(b.due().unwrap(), 100.0 + 300.0 + 300.0);
    b.timer();
    assert_eq!(b.lost(), [(1, Detection::Timeout)]);
}

/// Ten packets, an RTO at 201 ms after the last progress, and all ten originals acknowledged 9 ms
/// later. The first acknowledgement of an original undoes the timeout (Eifel detection, RFC 3522),
/// and nothing else is sent again.
#[test]
fn a_spurious_timeout_is_undone() {
    for undo in [true, false] {
        let mut b = settled(Config { undo, ..Config::tcp() }, 100.0);
        let first = b.sender.stats().sent;
        b.send_at([1e5; 10]);
        b.timer(); // the probe, not sent
        let at = b.timer();
        assert_eq!((b.verdicts(), b.lost_pns()), (vec![Signal::Reduce(Cause::Timeout)], vec![first]));
        let data = b.out.lost[0].2;
        b.resend(at, data);
        b.tcp_ack(at + 9.0, first + 2, &[], first + 1);
        let (late, lost) = (b.out.late.clone(), b.out.lost.clone());
        assert_eq!((late, lost.len()), (vec![(first, piece(first))], 0), "undo: {undo}");
        assert_eq!(b.verdicts(), if undo { vec![Signal::Undo] } else { vec![] });
        for acked in [4, 6, 8, 10] {
            b.tcp_ack(at + 9.0, first + acked, &[], first + acked - 1);
            assert!(b.out.lost.is_empty());
        }
        assert_eq!(b.sender.bytes_in_flight(), 0, "the repeat is off the books");
        let stats = b.sender.stats();
        assert_eq!((stats.lost_by_timeout, stats.spurious, stats.undone), (1, 1, u64::from(undo)));
        assert_eq!(b.sender.delivered(), (first + 10) * SIZE);
    }
}

/// The path is silent for three timeouts, longer than lost packets are usually remembered. Nothing
/// was lost nevertheless.
#[test]
fn a_long_silence_is_undone() {
    let mut b = settled(Config::tcp(), 100.0);
    let first = b.sender.stats().sent;
    b.send_at([1e5; 10]);
    b.timer();
    let mut at = 0.0;
    for _ in 0..3 {
        at = b.timer();
        let data = b.out.lost[0].2;
        b.resend(at, data);
    }
    b.signals();
    b.tcp_ack(at + 9.0, first + 2, &[], first + 1);
    assert_eq!(b.verdicts(), [Signal::Undo]);
}

/// RFC 8985 section 7.3: one probe at a time, until everything sent before it has arrived.
#[test]
fn one_probe_for_one_tail() {
    let mut b = settled(Config::tcp(), 100.0);
    let first = b.sender.stats().sent;
    b.send_at([1e5; 5]);
    let at = b.timer();
    let data = b.sender.probe_payload().unwrap();
    b.resend(at, data);
    b.tcp_ack(at + 10.0, first + 2, &[], first + 1);
    assert_ms(b.due().unwrap(), at + 10.0 + b.sender.timers().rto.unwrap().as_millis_f64());
    b.tcp_ack(at + 20.0, first + 5, &[], first + 4);
    b.send_at([at + 20.0; 2]);
    assert_ms(b.due().unwrap(), at + 20.0 + b.sender.timers().pto.as_millis_f64());
}

/// RFC 8985 section 7.4: the probe repairs a loss only if its bytes were missing; a DSACK says that
/// both arrived.
#[test]
fn an_unneeded_probe_repairs_nothing() {
    for duplicate in [true, false] {
        let mut b = settled(Config::tcp(), 100.0);
        let first = b.sender.stats().sent;
        b.send_at([1e5; 3]);
        let at = b.timer();
        let data = b.sender.probe_payload().unwrap();
        let probe = b.resend(at, data);
        b.signals();
        let ack = TcpAck { cumulative: (first + 3) * SIZE, echo: probe, duplicate, ..TcpAck::default() };
        b.sender.on_tcp_ack(ms(at + 100.0), &ack, &mut b.out);
        let expected = if duplicate { vec![] } else { vec![Signal::Reduce(Cause::Loss)] };
        assert_eq!(b.verdicts(), expected, "duplicate: {duplicate}");
    }
}

/// Step 3b of F-RTO (RFC 5682): the oldest packet was lost but the others were only slow. A loss,
/// no collapse.
#[test]
fn a_timeout_that_was_a_loss() {
    let mut b = settled(Config::tcp(), 100.0);
    let first = b.sender.stats().sent;
    b.send_at([1e5; 10]);
    b.timer();
    let at = b.timer();
    let data = b.out.lost[0].2;
    let repeat = b.resend(at, data);
    b.signals();
    b.tcp_ack(at + 9.0, first, &[(first + 1, first + 2)], first + 1);
    assert_eq!(b.verdicts(), [Signal::Undo, Signal::Reduce(Cause::Loss)]);
    assert!(b.out.lost.is_empty());
    b.tcp_ack(at + 10.0, first, &[(first + 1, first + 10)], first + 9);
    b.tcp_ack(at + 100.0, first + 10, &[], repeat);
    assert!(b.verdicts().is_empty());
    assert_eq!((b.sender.stats().lost(), b.sender.bytes_in_flight()), (1, 0));
}

/// RFC 8985 section 6.3: packets sent within an RTT (and the reordering window) of the timeout may
/// still be in transit.
#[test]
fn the_young_are_not_overdue() {
    let mut b = settled(Config { time_threshold: TimeThreshold::Off, ..Config::tcp() }, 100.0);
    let first = b.sender.stats().sent;
    b.send_at([1e5; 4]);
    b.timer();
    b.send_at([1e5 + 480.0; 3]); // within 125 ms of the timeout
    let at = b.timer();
    let data = b.out.lost[0].2;
    let repeat = b.resend(at, data);
    b.signals();
    b.tcp_ack(at + 50.0, first + 1, &[], repeat);
    assert_eq!(b.lost_pns(), [first + 1, first + 2, first + 3]);
    assert_eq!(b.sender.bytes_in_flight(), 3 * SIZE);
}

/// RFC 5681 section 4.1, if configured: once, after more than an RTO of silence.
#[test]
fn idle_restart() {
    for (restart_after_idle, idle, told) in [(true, 301.0, 1), (true, 299.0, 0), (false, 301.0, 0)] {
        let mut b = settled(Config { restart_after_idle, ..Config::tcp() }, 100.0);
        let last = 1e5 - 100.0 - 1.0;
        for _ in 0..3 {
            assert_eq!(b.sender.can_send(ms(last + idle), SIZE), SendDecision::Now);
        }
        let idles = b.signals().into_iter().filter(|s| *s == Signal::Idle).count();
        assert_eq!(idles, told, "{restart_after_idle} {idle}");
    }
}

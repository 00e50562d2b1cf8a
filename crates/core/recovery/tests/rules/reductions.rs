//! One reduction per round trip, persistent congestion, undo: RFC 9002 section 7.

use crate::common::*;
use ackclock_recovery::{AckFrame, Config, EcnCounts, Exit, Paced, SendDecision, TimeThreshold};
use congestion::Cause::{self, Delay, Ecn as Mark, Loss, PersistentCongestion, Timeout};
use congestion::Detection;
use units::Duration;
use units::Ecn;

fn reduce(causes: &[Cause]) -> Vec<Signal> {
    causes.iter().map(|c| Signal::Reduce(*c)).collect()
}

fn growth(bench: &mut Bench) -> Vec<u64> {
    let growth = |s| match s {
        Signal::Ack { growth, .. } => Some(growth),
        _ => None,
    };
    bench.signals().into_iter().filter_map(growth).collect()
}

/// RTT 100 ms, packets 1..=20, one per millisecond from 101 ms on.
fn flight(config: Config) -> Bench {
    let mut b = Bench::primed(config, 100.0);
    b.send_at((1..=20).map(|n| 100.0 + f64::from(n)));
    b
}

#[test]
fn two_losses_in_a_flight() {
    let mut b = flight(Config::quic());
    b.ack(205.0, &[(2, 5)]);
    assert_eq!(b.lost_pns(), [1]);
    assert_eq!(b.out.congestion, Some(Loss));
    assert!(b.sender.in_recovery());
    b.ack(212.0, &[(2, 5), (7, 12)]);
    assert_eq!(b.lost_pns(), [6]);
    assert_eq!(b.out.congestion, None);
    assert_eq!(b.verdicts(), reduce(&[Loss]));
    assert_eq!(b.sender.stats().loss_events, 1);
}

/// RFC 9002 section 7.3.2: the ACK of a packet sent since ends the period; its loss starts another.
#[test]
fn loss_of_a_packet_sent_after() {
    let mut b = flight(Config::quic());
    b.ack(205.0, &[(2, 5)]);
    b.send_at((1..=6).map(|n| 205.0 + f64::from(n))); // 21..=26
    b.ack(307.0, &[(2, 20), (22, 22)]);
    assert!(!b.sender.in_recovery());
    assert_eq!(b.verdicts(), reduce(&[Loss]));
    b.ack(310.0, &[(2, 20), (22, 25)]);
    assert_eq!(b.lost_pns(), [21]);
    assert_eq!(b.verdicts(), reduce(&[Loss]));
}

/// RFC 9002 appendix B.6: packets with `sent_time <= congestion_recovery_start_time` are covered.
/// The packet sent at once to speed up recovery meets the queue that has just overflowed: its loss
/// is the same event.
#[test]
fn loss_of_the_packet_that_leaves_at_once() {
    let mut b = flight(Config::quic());
    b.ack(205.0, &[(2, 5)]);
    let first = b.resend(205.0, piece(1));
    b.send_at((1..=6).map(|n| 205.0 + f64::from(n)));
    b.ack(308.0, &[(2, 20), (first + 1, first + 3)]);
    assert_eq!(b.lost_pns(), [first]);
    b.ack(309.0, &[(2, 20), (first + 1, first + 4)]);
    assert_eq!(b.verdicts(), reduce(&[Loss]));
    b.ack(320.0, &[(2, 20), (first + 1, first + 1), (first + 3, first + 6)]);
    assert_eq!(b.verdicts(), [], "known already");
}

/// A packet sent before the reduction but declared lost after the end of the period belongs to it.
#[test]
fn late_declared_loss() {
    let mut b = flight(Config { time_threshold: TimeThreshold::Off, ..Config::quic() });
    b.ack(205.0, &[(2, 5)]);
    b.send_at((0..3).map(|n| 205.0 + f64::from(n))); // 21..=23
    b.ack(305.0, &[(2, 19), (21, 21)]);
    assert!(!b.sender.in_recovery());
    b.ack(307.0, &[(2, 19), (21, 23)]);
    assert_eq!(b.lost_pns(), [20]);
    assert_eq!(b.verdicts(), reduce(&[Loss]));
}

#[test]
fn growth_stops_for_the_round() {
    let mut b = flight(Config::quic());
    b.ack(202.0, &[(1, 1)]);
    assert_eq!(growth(&mut b), [SIZE]);
    b.ack(206.0, &[(1, 1), (3, 6)]);
    assert_eq!(growth(&mut b), [0], "the ACK that reduces");
    b.send(206.5); // 21
    b.ack(220.0, &[(1, 1), (3, 20)]);
    assert_eq!(growth(&mut b), [0], "sent before");
    b.ack(306.5, &[(1, 1), (3, 21)]);
    assert_eq!(growth(&mut b), [SIZE], "sent after");
}

/// RFC 9002 section 7.8.
#[test]
fn no_growth_while_application_limited() {
    let mut b = Bench::primed(Config::quic(), 100.0);
    b.send(100.0);
    b.sender.mark_app_limited();
    b.send(101.0);
    b.ack(201.0, &[(1, 1)]);
    assert_eq!(growth(&mut b), [SIZE], "sent before the application ran dry");
    b.ack(202.0, &[(1, 2)]);
    assert_eq!(growth(&mut b), [0]);
    b.set_window(SIZE);
    b.send(203.0);
    b.sender.mark_app_limited();
    b.send(204.0);
    b.ack(304.0, &[(3, 4)]);
    assert_eq!(growth(&mut b), [2 * SIZE], "a full window limits the sender, not the application");
}

/// RFC 9002 section 7.8: after an idle time, a flight that fills the window has used it, although
/// the application paused before.
#[test]
fn a_full_window_after_an_idle_time_grows() {
    for (count, expected) in [(10, 10 * SIZE), (9, 0)] {
        let mut b = Bench::primed(Config { paced: Paced::Never, ..Config::quic() }, 100.0);
        b.set_window(10 * SIZE);
        b.sender.mark_app_limited();
        for _ in 0..count {
            assert_eq!(b.sender.can_send(ms(1000.0), SIZE), SendDecision::Now);
            b.send(1000.0);
        }
        // Nine leave room for a tenth, which the application does not have.
        let gate = b.sender.can_send(ms(1000.0), SIZE);
        assert_eq!(gate, if count == 10 { SendDecision::WindowFull } else { SendDecision::Now });
        b.sender.mark_app_limited();
        for ack in 0..5 {
            b.ack(1100.0, &[(1, (2 * ack + 2).min(count))]);
        }
        assert_eq!(growth(&mut b).iter().sum::<u64>(), expected, "{count} packets");
        assert_eq!(b.notes.lock().unwrap().cwnd_limited, count == 10);
        b.sender.mark_app_limited();
        // A packet sent while the window is not full is not part of it.
        b.send(1200.0);
        b.ack(1300.0, &[(1, count + 1)]);
        assert_eq!(growth(&mut b), [0]);
    }
}

fn marking() -> Config {
    Config { ecn: Ecn::Ect0, ..Config::quic() }
}

fn counts(ect0: u64, ce: u64) -> EcnCounts {
    EcnCounts { ect0, ect1: 0, ce }
}

/// Marks and losses of one flight are one event, whichever comes first.
#[test]
fn mark_and_loss_in_one_round() {
    let mut b = Bench::new(marking());
    b.send_at((0..10).map(f64::from));
    b.ack_ecn(100.0, &[(0, 0)], counts(0, 1));
    assert_eq!(b.verdicts(), reduce(&[Mark]));
    b.ack_ecn(105.0, &[(0, 0), (2, 5)], counts(3, 2));
    assert_eq!(b.lost_pns(), [1]);
    assert!(b.verdicts().is_empty());

    let mut b = Bench::new(marking());
    b.send_at((0..10).map(f64::from));
    b.ack_ecn(105.0, &[(1, 4)], counts(3, 1));
    assert_eq!(b.verdicts(), reduce(&[Loss]), "losses first, in the order of appendix A.7");
    b.ack_ecn(106.0, &[(1, 5)], counts(3, 2));
    assert!(b.verdicts().is_empty());
}

/// One reduction however many marks an ACK reports, and another in the next round.
#[test]
fn marks_once_per_round() {
    let mut b = Bench::new(marking());
    b.send_at((0..10).map(f64::from));
    b.ack_ecn(105.0, &[(0, 4)], counts(0, 5));
    b.send(106.0); // 10
    b.ack_ecn(110.0, &[(0, 9)], counts(0, 10));
    assert_eq!(b.verdicts(), reduce(&[Mark]));
    b.ack_ecn(206.0, &[(0, 10)], counts(0, 11));
    assert_eq!(b.verdicts(), reduce(&[Mark]));
    assert_eq!(b.sender.stats().ecn_events, 2);
}

/// A controller's own event starts a period like a loss. Asking again within the round changes
/// nothing.
#[test]
fn delay_event() {
    let mut b = flight(Config::quic());
    b.ask(Delay);
    b.ack(202.0, &[(1, 2)]);
    assert!(b.sender.in_recovery());
    b.send(202.5); // 21
    b.ask(Delay);
    b.ack(203.0, &[(1, 3)]);
    b.ack(210.0, &[(1, 5), (7, 10)]);
    assert_eq!(b.lost_pns(), [6]);
    assert_eq!(b.verdicts(), reduce(&[Delay]));
    b.ask(Delay);
    b.ack(302.0, &[(1, 5), (7, 21)]);
    assert_eq!(b.verdicts(), reduce(&[Delay]));
    assert_eq!((b.sender.stats().delay_events, b.sender.stats().loss_events), (2, 0));
}

/// RFC 9002 section 7.3.2: one packet can be sent at once to speed up recovery.
#[test]
fn one_packet_on_entry() {
    let mut b = flight(Config::quic());
    b.set_window(0);
    b.ack(205.0, &[(2, 5)]);
    assert_eq!(b.sender.can_send(ms(205.0), SIZE), ackclock_recovery::SendDecision::Now);
    b.resend(205.0, piece(1));
    assert_eq!(b.sender.can_send(ms(205.0), SIZE), ackclock_recovery::SendDecision::WindowFull);
}

/// A sender whose probe timeout is 2 s, as in section 7.6.3: 0.5 s + 4 * 0.25 s + 0.5 s. Sample at
/// 0.5 s.
fn two_seconds() -> Bench {
    let config = Config { max_ack_delay: Duration::from_millis(500), ..Config::quic() };
    Bench::primed(config, 500.0)
}

/// The worked example of section 7.6.3, whose first packet gives the RTT: packets at 1..=6 s,
/// probes at 8 s and 12 s, an ACK of the last only.
#[test]
fn persistent_congestion() {
    // The ACK after 0.5 s is the estimator's second sample: the PTO falls to 0.5 + 4 * 0.1875 + 0.5
    // s.
    let duration = 3.0 * 1750.0;
    for (span, persistent) in [(7000.0, true), (duration + 0.001, true), (duration, false)] {
        let mut b = two_seconds();
        b.send_at((1..=6).map(|n| 1000.0 * f64::from(n)));
        b.send_at([1000.0 + span, 12_000.0]); // 7, 8
        b.ack(12_500.0, &[(0, 0), (8, 8)]);
        assert_eq!(b.lost_pns(), [1, 2, 3, 4, 5, 6, 7]);
        let expected: &[Cause] = if persistent { &[Loss, PersistentCongestion] } else { &[Loss] };
        assert_eq!(b.verdicts(), reduce(expected), "{span} ms");
        assert_eq!(b.sender.stats().collapses, u64::from(persistent));
    }
}

/// A packet between them was acknowledged: no persistent congestion.
#[test]
fn acknowledged_in_between() {
    let mut b = two_seconds();
    b.send_at((1..=6).map(|n| 1000.0 * f64::from(n)));
    b.send_at([8000.0, 12_000.0]);
    b.ack(12_500.0, &[(0, 0), (4, 4), (8, 8)]);
    assert_eq!(b.lost_pns(), [1, 2, 3, 5, 6, 7]);
    assert_eq!(b.verdicts(), reduce(&[Loss]));
}

/// Packets sent before the first RTT sample do not count.
#[test]
fn before_the_first_sample() {
    let mut b = Bench::quic();
    b.send_at([0.0, 5000.0, 9000.0, 9000.0, 9000.0, 9000.0, 9100.0]);
    b.ack(9200.0, &[(6, 6)]);
    assert_eq!(b.lost_pns(), [0, 1, 2, 3, 4, 5]);
    assert_eq!(b.verdicts(), reduce(&[Loss]));
}

/// Section 7.6.2: the recovery period ends, and the minimum RTT starts over (section 5.2).
#[test]
fn after_persistent_congestion() {
    let mut b = two_seconds();
    b.send_at([1000.0, 8000.0, 9000.0, 12_000.0, 12_001.0, 12_001.0]);
    b.ack(12_700.0, &[(0, 0), (4, 4)]);
    assert_eq!(b.sender.stats().collapses, 1);
    assert!(!b.sender.in_recovery());
    assert_eq!(b.sender.rtt().min(), Duration::from_millis(700));
    b.signals();
    b.ack(12_701.0, &[(0, 0), (4, 5)]);
    assert_eq!(growth(&mut b), [SIZE], "slow start begins with what still flies");
}

/// All lost packets of the period arrived: undone, once.
#[test]
fn undo() {
    let mut b = flight(Config::quic());
    b.ack(206.0, &[(3, 6)]);
    assert_eq!(b.lost_pns(), [1, 2]);
    assert_eq!(b.verdicts(), reduce(&[Loss]));
    b.ack(207.0, &[(2, 6)]);
    assert!(b.verdicts().is_empty(), "1 is still missing");
    b.ack(208.0, &[(1, 6)]);
    assert_eq!(b.verdicts(), [Signal::Undo]);
    assert!(!b.sender.in_recovery());
    b.ack(209.0, &[(1, 7)]);
    b.ack(209.0, &[(1, 6)]);
    b.ack(209.0, &[(1, 7)]);
    assert!(b.verdicts().is_empty());
    let stats = b.sender.stats();
    assert_eq!((stats.spurious, stats.undone, stats.loss_events), (2, 1, 1));
}

/// Two losses declared one after the other belong to one period. One packet that never arrives
/// prevents the undo.
#[test]
fn no_undo_with_one_missing() {
    let mut b = flight(Config::quic());
    b.ack(205.0, &[(2, 5)]);
    b.ack(212.0, &[(2, 5), (7, 12)]);
    b.ack(213.0, &[(1, 5), (7, 12)]);
    assert_eq!(b.sender.stats().spurious, 1);
    assert_eq!(b.verdicts(), reduce(&[Loss]));
}

#[test]
fn no_undo_after_a_mark() {
    let mut b = Bench::new(marking());
    b.send_at((0..10).map(f64::from));
    b.ack_ecn(105.0, &[(1, 4)], counts(4, 0));
    b.ack_ecn(106.0, &[(1, 5)], counts(4, 1));
    b.ack_ecn(107.0, &[(0, 6)], counts(6, 1));
    assert_eq!(b.sender.stats().spurious, 1);
    assert_eq!(b.verdicts(), reduce(&[Loss]));
}

/// A packet that arrives with the ACK that starts another period does not excuse that one.
#[test]
fn no_undo_of_the_next_period() {
    let mut b = flight(Config::quic());
    b.ack(205.0, &[(2, 5)]); // 1 is lost
    b.send_at((0..6).map(|n| 206.0 + f64::from(n))); // 21..=26
    b.ack(308.0, &[(2, 20)]);
    assert_eq!(b.verdicts(), reduce(&[Loss]));
    b.ack(312.0, &[(1, 20), (22, 26)]); // 1 is back, 21 is lost
    assert_eq!(b.lost_pns(), [21]);
    assert_eq!(b.verdicts(), reduce(&[Loss]), "no undo");
    assert!(b.sender.in_recovery());
}

/// Without undo the period stays, and with it "one reduction per round trip".
#[test]
fn undo_switched_off() {
    let mut b = flight(Config { undo: false, ..Config::quic() });
    b.ack(205.0, &[(2, 5)]);
    b.ack(206.0, &[(1, 6)]);
    b.ack(211.0, &[(1, 6), (8, 11)]);
    assert_eq!(b.lost_pns(), [7]);
    assert_eq!(b.verdicts(), reduce(&[Loss]));
    assert_eq!((b.sender.stats().spurious, b.sender.stats().undone), (1, 0));
}

/// After three probe timeouts a lost packet is forgotten: it cannot arrive any more.
#[test]
fn memory_ends() {
    let mut b = flight(Config::quic());
    b.ack(205.0, &[(2, 20)]);
    assert_eq!(b.sender.least_unacked(), 1);
    let pto = b.sender.rtt().timeout(Duration::from_millis(1)).as_millis_f64() + 25.0;
    b.ack(205.0 + 3.0 * pto + 1.0, &[(1, 20)]);
    assert_eq!(b.sender.stats().spurious, 0);
    assert_eq!(b.sender.least_unacked(), 21);
}

/// The TCP rule on QUIC packets: no second reduction until everything sent before the first has
/// arrived. A loss not yet sent again has not.
#[test]
fn newreno_exit() {
    let mut b = flight(Config { exit: Exit::NewrenoTcp, ..Config::quic() });
    b.ack(205.0, &[(2, 5)]);
    b.send_at((0..6).map(|n| 205.0 + f64::from(n))); // 21..=26
    let frame = AckFrame { ranges: vec![(2, 20), (22, 25)], ..AckFrame::default() };
    b.sender.on_ack(ms(309.0), &frame, Some(SIZE), &mut b.out);
    assert_eq!(b.lost_pns(), [21]);
    assert!(b.sender.in_recovery());
    assert_eq!(b.verdicts(), reduce(&[Loss]));
    let (first, second) = (b.resend(309.0, piece(1)), b.resend(309.0, piece(21)));
    b.ack(409.0, &[(2, 20), (22, 26), (second, second)]);
    assert!(b.sender.in_recovery(), "piece 1 is missing");
    b.ack(409.5, &[(2, 20), (22, 26), (first, second)]);
    assert!(!b.sender.in_recovery());
}

/// A packet without stream data is no hole in the stream.
#[test]
fn newreno_exit_and_empty_packets() {
    let mut b = flight(Config { exit: Exit::NewrenoTcp, ..Config::quic() });
    b.ack(205.0, &[(2, 20)]);
    let repeat = b.resend(205.0, piece(1));
    b.sender.on_sent(ms(205.0), SIZE, Piece(0, 0), false);
    b.ack(305.0, &[(2, repeat)]);
    assert_eq!(b.sender.bytes_in_flight(), SIZE, "the empty one still flies");
    assert!(!b.sender.in_recovery());
}

/// An RTO collapses the window and starts a period in which the window may grow.
#[test]
fn timeout_period() {
    let mut b = Bench::primed(Config::tcp(), 10.0);
    b.send_at([100.0, 100.0]);
    b.timer(); // the tail loss probe, not sent
    let at = b.timer();
    assert_eq!(b.out.congestion, Some(Timeout));
    assert!(b.out.lost.iter().all(|l| l.1 == Detection::Timeout));
    let repeat = b.resend(at, piece(1));
    b.signals();
    b.tcp_ack(at + 10.0, 2, &[], repeat);
    assert!(b.sender.in_recovery());
    assert_eq!(growth(&mut b), [SIZE]);
}
